// Package lifecycletest is the requirement suite: it proves that the lifecycle keeps its promises
// on a store.
//
// Each case is a story in the requirement's words, named by the requirement's id, told in a bubble
// of testing/synctest: time is fake, waiting is exact, and nothing sleeps. The engine is an Agent
// whose turns the story writes. Every event log that a case leaves behind is checked against the
// contract's invariants.
//
// A store is proven in three lines:
//
//	func TestRequirements(t *testing.T) {
//		lifecycletest.Run(t, lifecycletest.Harness{Open: open})
//	}
package lifecycletest
