// Package plainjson writes and reads JSON by hand in one form: as encoding/json writes a struct,
// with the members in the order of the fields and without blanks.
//
// A Writer appends the members one after the other, byte for byte as json.Marshal does. A Scanner
// reads just what a Writer writes, as json.Unmarshal does, and gives up at the first byte that it
// does not expect; the caller then leaves the whole to encoding/json. So a caller names its members
// twice, once to write and once to read them, always with what is written before the value: the
// bracket or the comma, the name and the colon. Its tests hold both against encoding/json, and
// against the fields that the struct has.
//
// It is for what is written and read in each turn: package store has its records in this form,
// package lifecycle its specifications. Whatever is rare stays with encoding/json. It imports
// nothing of ours.
package plainjson
