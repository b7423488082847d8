// Package plainjson writes and reads JSON in one form: as encoding/json writes a struct, with the
// members in the order of the fields and without blanks.
//
// A Writer appends the members one after the other, byte for byte as json.Marshal does. A Scanner
// reads only what a Writer writes, with the same result as json.Unmarshal. It gives up at the first
// byte that it does not expect, and the caller then decodes everything with encoding/json. Both are
// called by generated code: package gen makes it from the structs, whose fields and tags are the
// only description.
//
// It is for values that every turn writes and reads: the records of package store, and the
// specifications of package lifecycle. Encoders that use reflection, and those of other generators,
// cost two to four times as much and allocate for each record (docs/internals/performance.md). Rare values
// are left to encoding/json. It imports the standard library only.
//
// It will be removed when encoding/json/v2 is Go's default and as quick here: the stored bytes must
// stay the same.
package plainjson
