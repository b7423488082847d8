// Package modeltest is a scripted substitute for the models behind agents, as httptest is for web
// servers: a local HTTP server that speaks OpenAI Responses and Chat Completions, Anthropic
// Messages and Gemini, streamed or not. A real agent pointed at it follows the test's script, and
// needs no network, account or key.
//
// The user's last text holds the script: lines that begin with "::", in the language of
// enginetest/script. The model can say, ask, be done, call a tool of the agent, fail, hang, drop
// the connection, or recall the user's earlier texts, which proves that a resumed session really
// sent its history. Config.Answer replaces the script with a function. Side calls of agents
// (titles, routing) get a valid, harmless answer.
//
// A log keeps all requests for tests to await and examine, optionally in a file.
//
// It is for tests and demonstrations: it checks no keys and creates the files that a script names.
// So it listens on loopback only.
//
// Neighbours: enginetest proves engines with it; modelserver is its program. It imports only the
// standard library and the script language.
package modeltest
