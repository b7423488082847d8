// Package storetest is the specification of a store as a suite: an implementation that passes it
// keeps every promise that package store makes.
//
// A store is proven in three lines:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) store.Store { return memory.New() })
//	}
//
// One that outlives its process tells the suite how it is opened again, and by somebody else, in a
// Harness. There are no feature flags: every store keeps every promise. What a store in memory
// cannot show (that what was acknowledged is there after a restart) is the one difference.
//
// A case is a name, the promise that it checks, and a story. A case that fails prints the promise,
// so that whoever writes a store can repair it without reading the suite. The last case is a
// machine: random operations, compared after each step with a model that looks through everything
// (model.go), across restarts and with two handles on one store.
//
// The suite never waits for time to pass: time is an argument of every call. A store that judges
// leases by a clock of its own passes too.
//
// Neighbours: store is the interface; memory and sqlite are proven by it; lifecycle/stories and
// lifecycle/lifecycletest prove the whole on a store.
package storetest
