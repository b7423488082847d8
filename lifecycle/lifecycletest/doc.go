// Package lifecycletest proves what stories (lifecycle/stories) cannot show: that a run ends
// correctly when any write fails or is not acknowledged, when many act at once, when hints of the
// store are lost or wrong, when outputs are too large, and after any sequence of events.
//
// Each case runs in a bubble of testing/synctest, with an engine whose turns it plans. Every event
// log that it leaves is checked against the contract.
//
// A store is proven in three lines:
//
//	func TestRequirements(t *testing.T) {
//		lifecycletest.Run(t, open)
//	}
package lifecycletest
