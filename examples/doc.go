// Package examples has starter programs, one feature each. CI runs every example and compares its
// output.
//
// The calls of a host have their examples where they are documented, with the store in memory:
// packages lifecycle, engine/flow, lifecycle/rehearsal, host/link and others. The examples here need
// a database or another module:
//
//	Example_parkAndResume     one process parks a run, another resumes it (SQLite)
//	Example_engine            a custom engine
//	Example_trace             a turn is a span, linked to the previous turn in another process
//	Example_transaction       a run and the host's rows in one transaction (PostgreSQL)
//	Example_twoNodes          two nodes share a database; either accepts the reply (PostgreSQL)
//
// host_test.go has their helpers. rehearsal_test.go shows how a host is tested on each store: days
// without an answer, and a crash at every commit.
//
// The folders below are programs: hello is the README's, quickstart asks on the terminal, people
// asks three people at once and survives a kill between their answers, desk serves the page, the
// API, links and webhooks, tools is started by MCP clients, chat serves a page with useChat, and
// prometheus serves metrics and has a dashboard for them. anthropic and openai are
// separate modules: models with a tool that pays after an approval (package toolloop), with the
// providers' libraries. They use older releases, because the latest take minutes to compile.
package examples
