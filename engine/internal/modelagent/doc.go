// Package modelagent is a tiny agent for tests: it keeps a session, asks a model in any of the
// protocols of package modeltest, and has one tool, a shell that only knows echo. It exists as a
// function, Ask, and as a program, Main.
package modelagent
