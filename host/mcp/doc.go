// Package mcp serves agents as tools of the Model Context Protocol. A tool is a flow or an agent
// that the host names; a call starts a run, and the person at the client answers the run's questions.
//
// [Server.Handler] serves Streamable HTTP, revision 2026-07-28 and the stateful revisions 2025-06-18
// and 2025-11-25 on one URL, and [Server.ServeStdio] a child process of one person. How a question
// reaches the person depends on the client:
//
//   - tasks (extension io.modelcontextprotocol/tasks): the call returns a task, which is the run.
//     The client polls it, answers its questions and may cancel it. Only for tools that ask for it.
//   - elicitation: the client shows a dialog. In revision 2026-07-28 the call is repeated with the
//     answers, in earlier ones the server asks during the call. When another front end has answered,
//     the dialog is withdrawn.
//   - neither: the call is held for a bounded time. Then it returns the run's id, its questions and the
//     address of the host's page, and the tool "wait" continues. No tool answers questions, because
//     a model would answer for the person.
//
// The client's timeout, a canceled call and a closed stream end the call and never the run. A run
// belongs to the principal who started it; other principals cannot see it. Nothing is stored outside
// the run, so every node can continue a call of revision 2026-07-28; a session of an earlier revision
// belongs to one process.
//
// docs/protocols.md is the page for users.
package mcp
