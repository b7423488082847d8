// Package lifecycle runs agents that ask people: durably, for seconds or for weeks.
//
// A host uses this package, an engine, which executes an agent's turns ([engine.Func], engine/flow,
// engine/acp and others), and a store (store/sqlite or store/postgres; the default is memory).
//
//	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: agent, Forgiving: true})
//
// The five calls of every host, in the order of use:
//
//   - [Client.Submit] stores a run, described by its [Spec].
//   - [Lifecycle.Serve] executes runs until its context ends: turns, deadlines, and the recovery
//     from dead processes. Many processes can serve one store.
//   - [Client.Events] follows one run from any point, live or years later. [Client.Wait] waits for
//     its end; [Client.Get] returns its state.
//   - [Client.Inbox] lists the open questions of all runs, or of one person. [Client.WatchInbox]
//     follows the changes, and [Client.Pending] returns the question of one run.
//   - [Client.Reply] answers a question, exactly once. The run continues in any process that
//     serves.
//
// More calls, by task:
//
//   - People: [Client.As] is the client of one person, and [Config].Authorize decides what each
//     person may do. [AskPolicy] sets who may answer, how many must approve, and what happens
//     without an answer. [Client.Claim], [Client.Release], [Client.Reassign] and [Client.Extend]
//     change an open question; [Client.History] lists the settled ones.
//   - Operation: [Client.Runs] lists runs, [Client.Cancel] ends one, [Client.Resume] decides about
//     a held one, and [Client.Fork] starts another from one of its questions. [Client.Prune]
//     deletes ended runs. [Client.Stats], [Client.Nodes], [Client.Usage], [Lifecycle.Stuck] and
//     [Observer] are for monitoring.
//   - Integration: [Client.Feed] delivers the events of all runs, with a cursor in the store.
//     [Client.On] makes a call part of a transaction of your database.
//
// [Client] has all calls except Serve, for processes that execute nothing, such as web front ends:
// see [NewClient]. A [Lifecycle] contains a Client. Both are safe for concurrent use.
//
// For these calls a host imports no other package: types such as [Run], [Question] and [Event] have
// aliases here. Use errors.Is with the sentinel errors, such as [ErrSettled], and errors.As with
// the types that have details, such as [SettledError]; docs/errors.md explains each.
//
// The subpackage rehearsal tests a host: weeks pass in milliseconds, and the host crashes at every
// commit. Ready-made front ends are in host; host/all serves a whole host with one call.
//
// For maintainers: every change of a run is one commit to the store. A call loads the run, a pure
// function of internal/decide returns the commit, and the call stores it; memory is never a second
// source of truth. internal/node does the work of a serving process. The documentation of both names
// their parts in reading order.
package lifecycle
