package sqlite_test

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// What follows are the steps of a run's life at noon, each with one event: functions from the
// record as it stands to the commit that changes it. newRun and claim (damage_test.go) are the
// first two.

// step is any change of the record.
func step(prev store.Run, change func(*store.Run)) store.Commit {
	r := prev.Clone()
	r.Version++
	r.Seq++
	r.LocalSeq++
	change(&r)
	body := fmt.Appendf(nil, `{"run_id":%q,"seq":%d,"state":%q}`, r.ID, r.Seq, r.State)
	return store.Commit{Run: r, Expect: prev.Version, Events: []store.Event{{Seq: r.Seq, Body: body}}}
}

// report is a change of nothing but the events.
func report(prev store.Run) store.Commit { return step(prev, func(*store.Run) {}) }

// ask parks a running run with its next question, to be answered within the hour.
func ask(prev store.Run) store.Commit {
	return step(prev, func(r *store.Run) {
		r.State, r.Slot, r.Answer, r.Deadline = fsm.StateWaitingUser, false, nil, noon.Add(time.Hour)
		r.Interactions++
		r.Pending = &interaction.Question{ID: r.Interactions, Attempt: r.Attempt, Kind: interaction.Confirm,
			Prompt: "Go on?", AskedAt: noon}
	})
}

// answer settles the pending question and queues the run.
func answer(prev store.Run, key string) store.Commit {
	reply := interaction.Reply{ID: prev.Pending.ID, Text: "yes", Key: key, Actor: "ada"}
	accepted := reply.Answer(noon)
	settled := interaction.Settle(*prev.Pending, accepted, key, reply.Digest())
	c := step(prev, func(r *store.Run) {
		r.State, r.QueuedAt, r.Owner, r.Pending, r.Deadline, r.Answer = fsm.StateQueued, noon, "", nil, time.Time{},
			&accepted
	})
	c.Settled = &settled
	return c
}

// end finishes a run: a running one well, another one before it came to that.
func end(prev store.Run) store.Commit {
	return step(prev, func(r *store.Run) {
		if r.State = fsm.StateCanceled; prev.State == fsm.StateRunning {
			r.State = fsm.StateSucceeded
		}
		r.FinishedAt, r.Slot, r.Owner, r.Answer = noon, false, "", nil
	})
}
