// Package redact removes secrets from a program's output as it is written.
//
// A Redactor knows the secrets' values: verbatim; in JSON, escaped once or twice; line by line if
// they have several, as keys do; and in base64 (both alphabets, also within longer encoded texts,
// except for a character at either end), in hexadecimal, and percent-encoded for URLs. Mask
// replaces each; overlapping secrets give one Mask. Secrets that arrive in pieces are found: a
// stream holds back exactly the bytes that may begin a secret, so that the end of a line is visible
// immediately.
//
// It prevents accidents only: other encodings (twice, compressed, reversed, base64 or hexadecimal
// broken into lines) and secrets in pieces are not found. It does not stop an agent that leaks a
// secret.
//
// The package is for authors of engines that run other programs. Hosts pass secrets to these engines
// and do not call this package.
//
// Neighbours: engine/process and engine/exec redact the output of agents with it.
package redact
