// Package front is the shared core of front ends for protocols of agents and chats, such as
// host/mcp. It is for authors of front ends.
//
// A protocol's task, thread, session or call is a run, and its answer is a reply with a key and a
// digest. A front end stores nothing itself: it reads the run, reports its state, and sends replies,
// all through a lifecycle.Client. The package has the parts in which protocols agree:
//
//   - [Caller.Load] reads a run and decides which of its open questions the caller may answer.
//     The others are reported as work in progress ([View.Status]), never asked. A deputy may answer for
//     an absent person ([View.Absent]), if the client has a directory.
//   - [Caller.Follow] reports the state first and events afterwards, so that a stream on a run that
//     already waits or has ended reports this immediately.
//   - [Caller.Send] answers a question. A repeated answer gets its first receipt and never
//     reaches the next question.
//   - [FormOf] projects a question to a flat form, as MCP and ACP define it, and reads the answer.
//   - [View.Message] is a question as text.
//   - [RunID] makes the id of a run from ids that the client chose, and [NewRunID] an id that
//     belongs to one caller.
//   - [FaultOf] describes an error without the text of a store.
//
// Dismissing a question, a client's timeout and a closed stream change no run. Package fronttest
// checks a front end for all of this.
package front
