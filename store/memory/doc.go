// Package memory keeps runs in the memory of one process: every guarantee of package store except
// durability. It is fit for production tests, and for hosts whose runs may end with the process.
//
// One mutex guards everything. Ordered sets (ordered.go) serve as indexes: claims, replies and
// commits read only the runs that they return or change. index.go updates the sets with the records.
package memory
