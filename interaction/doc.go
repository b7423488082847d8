// Package interaction defines the exchange between an agent and a person: questions, replies,
// automatic decisions, their records, and the text conventions with which an agent asks and reports
// completion.
//
// Read turns an agent's final text into a Reading: completion, output, question and diagnostics. It
// never fails: a malformed question becomes a diagnostic, and the run asks a baseline question. A
// reply is free text; a question with a schema takes a value, an approval a decision. Automatic
// decisions follow the same path. Patch writes the instructions that teach an agent these
// conventions.
//
// An agent may repeat text written by others. With a nonce (ReadSigned, PromptParts.Nonce), only
// signals marked with it count. Without one, Quoted turns a reply that would be a signal into a
// quotation. ReadPlain reads no signals, for engines of Go code.
//
// The package is pure: no I/O, no clock, no goroutine. It bounds size, depth and time, since
// agents' texts are untrusted.
//
// Neighbours: lifecycle turns readings and replies into commits; store stores questions and
// records; engine returns outcomes.
package interaction
