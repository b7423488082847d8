// Package schema is the only access to JSON Schema: everything that the library validates, its own
// event payloads as well as the output schemas of hosts and agents, goes through it.
//
// Schemas and documents may come from strangers, so the package is careful where a validator
// usually is not: it never loads anything by URL (neither files nor the network), bounds size and
// depth before it decodes, bounds numbers before they are computed with, bounds sub-schemas,
// patterns and memory before it compiles, and bounds how far a schema may multiply itself through
// references. Schemas are read as draft 2020-12 unless they name another published draft; formats
// are asserted; numbers keep their digits.
//
// It is used by contract and lifecycle, imports nothing of ours, and shows no type of the validator
// behind it, so that one can be changed.
package schema
