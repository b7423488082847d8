// Package storetest is the specification of a store as a suite: an implementation that passes it
// keeps every promise of package store.
//
// To verify a store:
//
//	func TestStorePassesTheSuite(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) store.Store { return memory.New() })
//	}
//
// For a store that outlives its process, a Harness also provides how to reopen it, and how another
// process opens it. Every store keeps every promise, except that a store in memory has no data
// after a restart.
//
// A case is a name, a promise, and a story. A failed case prints the promise, so that the store's
// author need not read the suite. The last case, "machine", executes random operations and compares
// the store after each step with a simple model (model.go), across restarts and through two
// handles.
//
// The suite never waits for time to pass: time is an argument of every call. A store that judges
// leases by its own clock passes too.
//
// Packages lifecycle/stories and lifecycle/lifecycletest verify the whole library on a store.
package storetest
