// Package interlude documents durable human-in-the-loop runs for Go. It holds no code of its
// own: a host imports lifecycle, engine and a store.
//
// A host hands a job for an agent to lifecycle. The agent works in turns; when a turn ends with a
// question, the run parks in state waiting_user for minutes or weeks at no cost, its execution slot
// goes to others, and it goes on exactly once when a person replies, a deadline passes, or somebody
// cancels, whatever process died in between. Front ends follow it through an ordered event stream
// with a cursor.
//
// The folders are the architecture:
//
//	lifecycle    what a host calls: Submit, Serve, Reply, Cancel, Events; start here
//	engine       who executes a turn: a Go function, straight-line Go that waits (engine/flow),
//	             agents that are child processes (engine/exec, engine/agents, engine/acp), graphs
//	             (engine/eino, engine/adk), the suite that proves an engine, and a guard for
//	             clients of foreign addresses (engine/netguard)
//	store        who keeps the truth: the record, the one commit, and memory, SQLite, PostgreSQL
//	             and the suite that proves a store
//	interaction  questions, replies, receipts, history, and how an agent's text is read
//	slots        who may execute: pools, keys, fairness, priorities
//	fsm          the states and what leads from one to the next, generated
//	contract     the one machine-readable source of all behaviour, with the event protocol (fcmp)
//	             and the checker of event logs (audit)
//	host         parts for a host: the page and the HTTP API (host/web), links that answer
//	             (host/link), notices (host/notify) and telemetry (host/otel)
//	cmd          the programs: interlude and interlude-bench
//	examples     hosts to start from
//	proof        how the whole is checked from outside
//
// Packages with dependencies of their own stand in modules of their own: the README lists them.
//
// Every transition is one atomic commit of state, slot, question, deadline, session, history,
// receipt and events. There is no second truth: no timer in memory, no semaphore to leak, no event
// log that falls behind.
//
// What it is not: a workflow server for many languages, a queue for jobs that never ask anybody, or
// a model client. docs/compare.md says when to use something else.
package interlude
