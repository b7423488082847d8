// Package interaction has the exchange of an agent and a person: the agent's question, the person's
// reply or the automatic decision in its place, the record of both, and the text in which an agent
// asks and says that it is done.
//
// Read turns an agent's final text into a Reading: whether it is done, its output, its question,
// and diagnostics. It never fails: a malformed question becomes a diagnostic, and the run asks a
// baseline question. A reply is free text for every kind of question, unless an engine
// asks with a schema, so that the reply has a value, or for an approval, which is decided;
// an automatic decision takes the same way as a reply. The instructions that teach an
// agent all this are the prompt patches of Patch (section H).
//
// An agent may repeat what others wrote. One that is given a nonce (ReadSigned, PromptParts.Nonce)
// puts it into its signals, and only these count. For others, Quoted turns a reply that would be a
// signal into a quotation. ReadPlain reads no signals at all, for engines that are Go code.
//
// Everything is pure: no I/O, no clock, no goroutine, with limits of size, depth and time, since
// agents write whatever they like.
//
// Neighbours: lifecycle turns readings and replies into commits; store stores questions and
// records; engine returns outcomes.
package interaction
