// Package interlude documents durable human-in-the-loop runs for Go. It has no code: a host imports
// lifecycle, engine and a store.
//
// A host submits a job for an agent. The agent works in turns. When a turn ends with a question,
// the run waits for minutes or weeks at no cost, and its execution slot becomes free. The run
// continues exactly once: when a person replies, a deadline passes, or someone cancels it, even if
// processes die meanwhile. Front ends follow it through an ordered event stream with a cursor.
//
// The folders:
//
//	lifecycle    the calls of a host: Submit, Serve, Reply, Cancel, Events; start here
//	engine       what executes a turn: a Go function, a Go function that waits (engine/flow),
//	             child processes (engine/exec, engine/agents, engine/acp), graphs (engine/eino,
//	             engine/adk); a suite for engines, and a guard for clients of foreign addresses
//	             (engine/netguard)
//	store        what stores runs: in memory, in SQLite, in PostgreSQL; a suite for stores
//	interaction  questions, replies, receipts, history, and how an agent's text is read
//	slots        which run may execute: pools, keys, fairness, priorities
//	fsm          the states and transitions, generated
//	contract     the machine-readable source of all behaviour, with the event protocol (fcmp) and
//	             the checker of event logs (audit)
//	host         a whole host in one call (host/all), and its parts: the page and the HTTP API
//	             (host/web), links that answer (host/link), notices (host/notify), sign-in
//	             (host/signin), rules for approvals (host/policy), telemetry (host/otel), front ends
//	             for other protocols (host/mcp, host/ui, host/slack)
//	people       who people are, and who answers for them while they are away
//	cmd          the programs interlude and interlude-bench
//	examples     starter programs, one feature each
//	proof        tests of the whole
//
// Packages with other dependencies are separate modules; docs/README.md lists them.
//
// Every transition is one atomic commit of state, slot, question, deadline, session, history,
// receipt and events. Nothing else must agree with it: there is no timer or semaphore in memory, and
// no separate event log.
//
// Interlude is not a workflow server for many languages, a queue for jobs that never ask anyone, or
// a model client. docs/compare.md says when to use something else.
package interlude
