package postgres_test

import (
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/storetest"
)

// noon is when everything happens here, whatever the server's clock says.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// The steps of a run's life at noon.

// start is the commit of a claim.
var start = storetest.Started(noon)

// created submits a run to pool "p".
func created(id string) store.Commit { return storetest.Created(id, noon) }

// step is any change of the record.
func step(prev store.Run, change func(*store.Run)) store.Commit {
	return storetest.Changed(prev, noon, change)
}

// report is a change of nothing but the events.
func report(prev store.Run) store.Commit { return step(prev, func(*store.Run) {}) }

// fenced is a commit of a worker's.
func fenced(c store.Commit, node string) store.Commit {
	c.Fence = &store.Fence{Node: node, Epoch: c.Run.Epoch}
	return c
}

// ask parks a running run with its next question, to be answered within the hour.
func ask(prev store.Run) store.Commit {
	return storetest.Asked(prev, noon, false, noon.Add(time.Hour))
}

// answer settles the pending question and queues the run.
func answer(prev store.Run, key string) store.Commit { return storetest.Answered(prev, noon, key) }

// cancel ends a run that has no pending question.
func cancel(prev store.Run) store.Commit {
	return step(prev, func(r *store.Run) {
		r.State, r.FinishedAt, r.Slot, r.Owner, r.Open, r.Deadline = fsm.StateCanceled, noon, false, "", nil,
			time.Time{}
	})
}
