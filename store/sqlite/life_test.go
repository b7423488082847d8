package sqlite_test

import (
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/storetest"
)

// The steps of a run's life at noon. newRun and claim (damage_test.go) are the first two.

// step is any change of the record.
func step(prev store.Run, change func(*store.Run)) store.Commit {
	return storetest.Changed(prev, noon, change)
}

// report is a change of nothing but the events.
func report(prev store.Run) store.Commit { return step(prev, func(*store.Run) {}) }

// ask parks a running run with its next question, to be answered within the hour.
func ask(prev store.Run) store.Commit {
	return storetest.Asked(prev, noon, false, noon.Add(time.Hour))
}

// answer settles the pending question and queues the run.
func answer(prev store.Run, key string) store.Commit { return storetest.Answered(prev, noon, key) }

// end finishes a run: a running one well, another one before it came to that.
func end(prev store.Run) store.Commit {
	return step(prev, func(r *store.Run) {
		if r.State = fsm.StateCanceled; prev.State == fsm.StateRunning {
			r.State = fsm.StateSucceeded
		}
		r.FinishedAt, r.Slot, r.Owner, r.Answers = noon, false, "", nil
	})
}
