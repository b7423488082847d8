// Package plainjson writes and reads JSON in one form: as encoding/json writes a struct, with the
// members in the order of the fields and without white space.
//
// A Writer appends members byte for byte as json.Marshal does. A Scanner reads only that form, with
// the same result as json.Unmarshal. It gives up at the first unexpected byte, and the caller then
// decodes everything with encoding/json. Package gen generates the code that calls both from the
// structs, whose fields and tags are the only description.
//
// It is for values that every turn writes and reads: the records of package store, and the
// specifications of package lifecycle. Reflection-based encoders and other generators cost two to
// four times as much and allocate for each record (docs/internals/performance.md). Rare values go
// through encoding/json.
//
// It will be removed when encoding/json/v2 is Go's default and as fast here; the stored bytes must
// stay the same.
package plainjson
