// Package stories replays the behaviour of runs that people should read: lifecycles, races and
// recoveries, written as text.
//
// The texts lie in a folder for each subject: states, gate, questions, waiting, slots, cancel,
// recovery, events, contract and prompts. The first line of a story names the requirements that it
// proves. README.md says how stories are written, and lists their commands.
//
// Every story is played on every store, and must read the same, letter by letter. At its end, every
// event log is checked against the contract (contract/audit), no run that has ended may hold a
// slot, and every turn that the story wrote for an agent must have been executed.
//
// A store is proven in a few lines:
//
//	func TestStories(t *testing.T) {
//		stories.Run(t, func(tb testing.TB) stories.Opener {
//			path := filepath.Join(tb.TempDir(), "runs.db")
//			return func(tb testing.TB) store.Store { return open(tb, path) }
//		})
//	}
//
// Neighbours: lifecycletest proves what no story can show: faults in every write, sizes, lost
// hints, random sequences of events.
package stories
