// Package stories replays the behaviour of runs that people should read: lifecycles, races and
// recoveries, written as text, in one folder per subject. README.md documents the format and the
// commands.
//
// Every story is played on every store, and must give the same text. At its end, every event log is
// checked against the contract, no ended run may hold a slot, and every turn scripted for an agent
// must have been executed.
//
// To verify a store:
//
//	func TestStories(t *testing.T) {
//		stories.Run(t, func(tb testing.TB) stories.Opener {
//			path := filepath.Join(tb.TempDir(), "runs.db")
//			return func(tb testing.TB) store.Store { return open(tb, path) }
//		})
//	}
//
// Neighbours: lifecycletest covers the cases that stories cannot show: faults in every write,
// sizes, lost hints, random sequences of events.
package stories
