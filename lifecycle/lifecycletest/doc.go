// Package lifecycletest proves what stories (lifecycle/stories) cannot show: that a run comes to
// its right end when any write fails or is not acknowledged, when many act at the same time, when
// hints of the store are lost or wrong, when outputs are too large, and after any sequence of
// events.
//
// Each case runs in a bubble of testing/synctest: time is fake, and waiting is exact. The engine is
// an Agent whose turns the case plans. Every event log that a case leaves is checked against the
// contract.
//
// A store is proven in three lines:
//
//	func TestRequirements(t *testing.T) {
//		lifecycletest.Run(t, open)
//	}
package lifecycletest
