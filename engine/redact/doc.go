// Package redact takes secrets out of what a program writes, as it writes it.
//
// A Redactor knows the secrets' values: as they are, as they stand in JSON, once or twice escaped, and line by line when they have several, as keys do.
// Wherever one occurs Mask stands instead; secrets that overlap give one Mask. A secret that arrives in pieces is found as well: a
// stream holds back what may be the beginning of a secret and not a byte more, so that a line's end is seen at once.
//
// What a program encodes in another way, as base64 say, or spells out in pieces, is not found.
//
// Neighbours: engine/process and engine/exec redact the output of agents with it.
package redact
