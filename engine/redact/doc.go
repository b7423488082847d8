// Package redact takes secrets out of what a program writes, as it writes it.
//
// A Redactor knows the secrets' values: as they are; as they stand in JSON, once or twice escaped;
// line by line when they have several, as keys do; and in base64 (of either alphabet, also as a
// part of a longer text that is encoded, but for a character at either end), in hexadecimal, and
// percent-encoded for URLs. Wherever one occurs Mask stands instead; secrets that overlap give one
// Mask. A secret that arrives in pieces is found as well: a stream holds back what may be the
// beginning of a secret and not a byte more, so that a line's end is seen at once.
//
// This is a net for accidents, not a wall: what a program encodes in another way (twice,
// compressed, reversed, base64 or hexadecimal broken into lines), or spells out in pieces, is not
// found. An agent that can read a secret can give it away.
//
// The package is for authors of engines that run other programs. Hosts give their secrets to those
// engines, and do not call it.
//
// Neighbours: engine/process and engine/exec redact the output of agents with it.
package redact
