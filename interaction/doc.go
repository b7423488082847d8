// Package interaction is what passes between an agent and a person: the agent's question, the
// person's reply or the automatic decision in its place, the record of both, and the text in which
// an agent asks and says that it is done.
//
// An agent's final text is read once, by Read, into a Reading: done or not, the output it hands
// over, the question it asks, and what is odd about it. Reading never fails: what is malformed
// becomes a diagnostic, and the run a baseline question (C2). A reply is free text whatever the
// question's kind (C3); an automatic decision goes the same way as a reply (C6). The instructions
// that teach an agent all this are the prompt patches of Patch (section H).
//
// An agent may repeat what others wrote. One that is given a nonce (ReadSigned, PromptParts.Nonce)
// puts it into its signals, and nothing else counts; for others Quoted turns a reply that would be
// a signal into a quotation; and ReadPlain reads no signals at all, for plain code (J12).
//
// Everything is pure: no I/O, no clock, no goroutine, and bounded in size, depth and time, since
// agents write what they like.
//
// Neighbours: lifecycle turns readings and replies into commits; store keeps questions and records;
// engine hands over outcomes.
package interaction
