// Package schema is the only access to JSON Schema: the library validates its own event payloads
// and the output schemas of hosts and agents with it.
//
// Schemas and documents may come from strangers, so the package never loads anything by URL, and
// bounds size and depth before it decodes, numbers before they are computed with, sub-schemas,
// patterns and memory before it compiles, and how far a schema may multiply itself through
// references. Schemas are read as draft 2020-12 unless they name another published draft; formats
// are asserted; numbers keep their digits.
//
// It shows no type of the validator behind it, so that one can be changed.
package schema
