// Package memory keeps runs in the memory of one process: every promise of package store but
// surviving the process. It is fit for production tests, and for hosts whose runs may end with
// them.
//
// One mutex guards everything; ordered sets (ordered.go) stand for the indexes of a database, so
// that no call on the hot path looks at more runs than it returns. index.go keeps them in step with
// the records.
//
// Neighbours: store is the interface that it implements, storetest the suite that proves it.
package memory
