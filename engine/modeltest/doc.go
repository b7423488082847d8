// Package modeltest is a scripted stand-in for the models behind agents, as httptest is for web
// servers: one HTTP server on this machine that speaks OpenAI Responses and Chat Completions,
// Anthropic Messages and Gemini, streamed or not. A real agent that is pointed at it needs no
// network, no account and no key, and does what a test tells it.
//
// The last text of the user says what to answer, in lines that begin with "::", in the language of
// enginetest/script. The model can say, ask, be done, call a tool of the agent, fail, hang, drop
// the connection, or recall what the user said before, which proves that a resumed session really
// sent its history. A host may decide the answers with a function instead, Config.Answer. Calls
// that agents make beside the conversation (titles, routing) get something valid and harmless.
//
// A log keeps all requests. A test can wait for them and examine them. The log may also be a file,
// which outlives any process.
//
// It is for tests and demonstrations. It holds no secrets and checks no keys, and it creates the
// files that a script names. For that reason it listens on loopback only.
//
// Neighbours: enginetest proves engines with it; modelserver is the same as a program. It imports
// the standard library and the script language only.
package modeltest
