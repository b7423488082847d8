// Package modeltest is a scripted stand-in for the models behind agents, as httptest is for web
// servers: one HTTP server on this machine that speaks OpenAI Responses and Chat Completions,
// Anthropic Messages and Gemini, streamed or not. A real agent that is pointed at it needs no
// network, no account and no key, and does what a test tells it.
//
// What it answers stands in the last text of the user: lines that begin with "::", in the language
// of enginetest/script. It says, asks, is done, calls a tool of the agent, fails, hangs, drops the
// connection, or recalls what the user told before, which proves that a resumed session really sent
// its history. Or a host gives a function, Config.Answer. Calls that agents make beside the
// conversation (titles, routing) get something valid and harmless.
//
// All requests are kept in a log, for a test to wait for and to look at, also in a file, which
// outlives any process.
//
// It is for tests and demonstrations: it knows no secrets, checks no keys, makes files that a
// script names, and so listens on loopback only.
//
// Neighbours: enginetest proves engines with it; modelserver is the same as a program. It imports
// the standard library and the script language only.
package modeltest
