package linear_test

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// These commits are for histories of a store without the library. They contain only what a store
// requires.

func created(id, pool, key string, priority int, now time.Time) store.Commit {
	return withEvents(store.Commit{Run: store.Run{
		ID: id, Version: 1, Contract: "1.0.0", SpecDigest: "digest", Engine: "agent", Mode: fsm.ModeInteractive,
		Strict:         true,
		SessionTimeout: time.Minute, Pool: pool, Key: key, Priority: priority, CreatedAt: now, UpdatedAt: now,
		QueuedAt: now,
		State:    fsm.StateQueued, Recovery: store.RecoveryNone,
	}, Spec: []byte(`{}`)})
}

func changed(prev store.Run, now time.Time, change func(*store.Run)) store.Commit {
	r := prev.Clone()
	r.Version++
	r.UpdatedAt = now
	if now.Before(prev.UpdatedAt) {
		r.UpdatedAt = prev.UpdatedAt
	}
	change(&r)
	return withEvents(store.Commit{Run: r, Expect: prev.Version})
}

func withEvents(c store.Commit) store.Commit {
	c.Run.Seq++
	c.Events = []store.Event{{Seq: c.Run.Seq, Body: fmt.Appendf(nil, `{"seq":%d}`, c.Run.Seq)}}
	return c
}

func started(now time.Time) func(store.Run, []byte) (store.Commit, error) {
	return func(r store.Run, _ []byte) (store.Commit, error) {
		return changed(r, now, func(r *store.Run) {
			r.State = fsm.StateRunning
			r.Attempt++
		}), nil
	}
}

// asked parks a run. A sticky run keeps its slot.
func asked(prev store.Run, now time.Time, sticky bool) store.Commit {
	return changed(prev, now, func(r *store.Run) {
		r.State, r.Slot, r.Profile, r.Answers = fsm.StateWaitingUser, sticky, fsm.ProfileResumable, nil
		if sticky {
			r.Profile = fsm.ProfileStickyProcess
		}
		r.Interactions++
		r.Open = []interaction.Question{{ID: r.Interactions, Attempt: r.Attempt, Kind: interaction.Confirm,
			Prompt: "Go on?", AskedAt: r.UpdatedAt}}
	})
}

func answered(prev store.Run, now time.Time) store.Commit {
	a := interaction.Reply{ID: prev.Open[0].ID, Text: "yes"}.Answer(now)
	record := interaction.Settle(prev.Open[0], a, "", "")
	c := queuedAgain(prev, now)
	c.Run.Open, c.Run.Answers, c.Settled = nil, []interaction.Answer{a}, []interaction.Record{record}
	return c
}

// queuedAgain puts a run back into the queue. A run that holds its process keeps its slot.
func queuedAgain(prev store.Run, now time.Time) store.Commit {
	return changed(prev, now, func(r *store.Run) {
		r.State, r.QueuedAt = fsm.StateQueued, now
		if prev.State == fsm.StateRunning {
			r.Slot = false
		}
		if !r.Slot {
			r.Owner = ""
		}
	})
}

func ended(prev store.Run, now time.Time, state fsm.State) store.Commit {
	c := changed(prev, now, func(r *store.Run) {
		r.State, r.FinishedAt, r.Slot, r.Owner, r.Open, r.Answers = state, now, false, "", nil, nil
	})
	if len(prev.Open) > 0 {
		record := interaction.Abandon(prev.Open[0], now)
		c.Settled = []interaction.Record{record}
	}
	return c
}
