// Package exec is an engine for agents with a command line: a child process for each turn, resumed
// by its session id, or one resident process that reads answers from standard input.
//
// A Config is data: argument templates, the permitted environment, and rules that interpret the
// agent's lines. There is no shell, and a value never leaves its argument. The rules find the
// session id (stored immediately), messages, the final text, structured output and failures.
//
// An agent's output cannot exhaust its host: lines, output, transcript, memory, wall-clock and idle
// time are limited, and invalid UTF-8 and JSON become diagnostics. An agent sees only the named
// environment variables, and the values of secrets are redacted from transcripts, events and errors.
// Each turn's processes are a process group, ended by TERM, a grace period, and KILL. Processes left
// by a turn are ended with it; processes left by a dead host are ended, on Linux, by the next host
// that calls Reap, never by process number only.
//
// A turn's output is stored in attempt-N.out and attempt-N.err, to which its messages refer. All
// rounds of an attempt share these files.
//
// Related packages: engine is the interface that it implements; engine/process starts and ends the
// processes; engine/redact removes secrets.
package exec
