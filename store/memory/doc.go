// Package memory keeps runs in the memory of one process: every guarantee of package store except
// durability. It is fit for production tests, and for hosts whose runs may end with the process.
//
// One mutex guards the store. Ordered sets (ordered.go) are its indexes, so that claims, replies and
// commits read only the runs that they return or change. index.go keeps the sets consistent with the
// records.
package memory
