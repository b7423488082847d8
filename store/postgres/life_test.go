package postgres_test

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// noon is when everything happens here, whatever the server's clock says.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// What follows are the steps of a run's life, each with one event: functions from the record as it
// stands to the commit that changes it.

// created submits a run to pool "p".
func created(id string) store.Commit {
	c := step(store.Run{
		ID: id, Contract: "1.0.0", SpecDigest: "digest of " + id, Engine: "agent", Mode: fsm.ModeInteractive,
		Strict:         true,
		SessionTimeout: 20 * time.Minute, Pool: "p", CreatedAt: noon, UpdatedAt: noon, QueuedAt: noon,
		State: fsm.StateQueued, Recovery: store.RecoveryNone,
	}, func(*store.Run) {})
	c.Spec = []byte(`{"job":"` + id + `"}`)
	return c
}

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

// fenced is a commit of a worker's.
func fenced(c store.Commit, node string) store.Commit {
	c.Fence = &store.Fence{Node: node, Epoch: c.Run.Epoch}
	return c
}

// start is what a claim makes of a run.
func start(r store.Run, _ []byte) (store.Commit, error) {
	return step(r, func(r *store.Run) {
		r.State, r.LocalSeq = fsm.StateRunning, 0
		r.Attempt++
	}), nil
}

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

// cancel ends a run.
func cancel(prev store.Run) store.Commit {
	return step(prev, func(r *store.Run) {
		r.State, r.FinishedAt, r.Slot, r.Owner, r.Pending, r.Deadline = fsm.StateCanceled, noon, false, "", nil,
			time.Time{}
	})
}
