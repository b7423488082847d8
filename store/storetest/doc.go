// Package storetest is the specification of a store as a suite: an implementation that passes it
// keeps every promise that package store makes.
//
// A store is proven in three lines:
//
//	func TestStorePassesTheSuite(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) store.Store { return memory.New() })
//	}
//
// A store that outlives its process also says, in a Harness, how it is opened again, and how
// another process opens it. There are no feature flags: every store keeps every promise. The one
// exception is a store in memory, which cannot show that acknowledged data are there after a
// restart.
//
// A case is a name, the promise that it checks, and a story. A case that fails prints the promise,
// so that the author of a store can repair it without reading the suite. The last case, "machine",
// executes random operations and compares the store after each step with a simple model (model.go),
// across restarts and through two handles.
//
// The suite never waits for time to pass: time is an argument of every call. A store that judges
// leases by a clock of its own passes too.
//
// Neighbours: store is the interface; the stores run the suite in their tests; lifecycle/stories
// and lifecycle/lifecycletest prove the whole library on a store.
package storetest
