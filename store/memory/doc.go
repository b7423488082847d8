// Package memory keeps runs in the memory of one process: every guarantee of package store except
// durability. It is fit for production tests, and for hosts whose runs may end with the process.
//
// One mutex guards everything. Ordered sets (ordered.go) take the place of database indexes, so
// that no call on the hot path visits more runs than it returns; index.go keeps them consistent
// with the records.
package memory
