// Package ui streams runs to chat pages, in the two protocols that their libraries speak: the UI
// message stream of the AI SDK (useChat), and AG-UI 1.0 (HttpAgent). It needs no SDK.
//
// A chat is a sequence of runs of one person. A message starts a run, or answers the one open
// question of the current run. The stream shows the agent's messages and ends when it is the person's
// turn:
//
//   - [Server.Chat] serves the AI SDK. An approval is a tool call with an approval request; any other
//     question is a call of the client tool "ask_user". A lost stream is resumed.
//   - [Server.AGUI] serves AG-UI. Questions are interrupts, and the next request resumes them.
//
// Both read the same run with a front.Caller, so a chat can be continued in either. The client's
// ids for chats and messages are names within the principal's own space: no id reaches another
// person's run. A question that the person may not answer is never asked; the stream says what
// the run waits for. Closing a stream ends no run. Nothing is stored outside the run: every node can
// serve every request.
//
// docs/protocols.md is the page for users.
package ui
