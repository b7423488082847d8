package storetest

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// base is the time at which every test begins.
var base = time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC)

// The functions below are the steps of a run's life: from the current record to the commit that
// changes it, with one event. Stores use the exported ones in their tests.

// Created submits a run to pool "p".
func Created(id string, now time.Time, change ...func(*store.Run)) store.Commit {
	r := store.Run{
		ID: id, Version: 1, Contract: "1.0.0", SpecDigest: "digest of " + id, Engine: "agent",
		Mode: fsm.ModeInteractive, Strict: true,
		SessionTimeout: 20 * time.Minute, Pool: "p", CreatedAt: now, UpdatedAt: now, QueuedAt: now,
		State:    fsm.StateQueued,
		Recovery: store.RecoveryNone,
	}
	for _, c := range change {
		c(&r)
	}
	return addEvent(store.Commit{Run: r, Spec: []byte(`{"job":"` + id + `"}`)})
}

// Changed applies the given change to the record.
func Changed(prev store.Run, now time.Time, change func(*store.Run)) store.Commit {
	r := prev.Clone()
	r.Version++
	r.UpdatedAt = now
	change(&r)
	return addEvent(store.Commit{Run: r, Expect: prev.Version})
}

func addEvent(c store.Commit) store.Commit {
	c.Run.Seq++
	c.Run.LocalSeq++
	body := fmt.Appendf(nil, `{"run_id":%q,"seq":%d,"state":%q}`, c.Run.ID, c.Run.Seq, c.Run.State)
	c.Events = append(c.Events, store.Event{Seq: c.Run.Seq, Body: body})
	return c
}

// Started returns a ClaimRequest.Start that starts a run at now.
func Started(now time.Time) func(store.Run, []byte) (store.Commit, error) {
	return func(r store.Run, _ []byte) (store.Commit, error) {
		return Changed(r, now, func(r *store.Run) {
			r.State, r.LocalSeq, r.Block = fsm.StateRunning, 0, nil
			r.Attempt++
			if r.Budget != nil {
				r.Budget.Used.Turns++
			}
		}), nil
	}
}

// reported stores a report of a running turn: it only adds an event.
func reported(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) {
		r.Session = &interaction.SessionHandle{Engine: "agent", Data: fmt.Append(nil, prev.Seq)}
	})
}

// Asked parks a running run with a question. With sticky, the run keeps its slot. A zero deadline
// means none.
func Asked(prev store.Run, now time.Time, sticky bool, deadline time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) {
		r.State, r.Slot, r.Deadline, r.Answers = fsm.StateWaitingUser, sticky, deadline, nil
		r.Profile = fsm.ProfileResumable
		if sticky {
			r.Profile = fsm.ProfileStickyProcess
		}
		if !sticky && r.Session == nil {
			r.Session = &interaction.SessionHandle{Engine: "agent", Data: []byte("session")}
		}
		r.Interactions++
		r.Together = nil
		r.Open = []interaction.Question{{
			ID: r.Interactions, Attempt: r.Attempt, Kind: interaction.Confirm, Prompt: fmt.Sprintf("Question %d of %s?",
				r.Interactions, r.ID), AskedAt: now,
		}}
	})
}

// Answered settles the pending question with a reply and queues the run. An empty key means none.
func Answered(prev store.Run, now time.Time, key string) store.Commit {
	reply := interaction.Reply{ID: prev.Open[0].ID, Text: "yes", Key: key, Actor: interaction.Actor{ID: "ada"}}
	answer := reply.Answer(now)
	record := interaction.Settle(prev.Open[0], answer, key, reply.Digest())
	c := queuedAgain(prev, now)
	c.Run.Open, c.Run.Deadline, c.Run.Answers = nil, time.Time{}, []interaction.Answer{answer}
	if prev.Held() {
		c.Run.Block = aHold(now.Add(time.Second))
	}
	c.Settled = []interaction.Record{record}
	return c
}

// AskedTogether is the commit by which a running run asks this number of questions together and
// parks. The questions have no deadlines.
func AskedTogether(prev store.Run, now time.Time, questions int, rule interaction.Rule) store.Commit {
	c := Asked(prev, now, false, time.Time{})
	r := &c.Run
	r.Together = &store.Together{First: r.Interactions, Asked: questions, Rule: rule}
	for len(r.Open) < questions {
		r.Interactions++
		q := r.Open[0]
		q.ID, q.Prompt = r.Interactions, fmt.Sprintf("Question %d of %s?", r.Interactions, r.ID)
		r.Open = append(r.Open, q)
	}
	return c
}

// Recorded is the commit by which a reply settles one question while others stay open. The run
// keeps waiting.
func Recorded(prev store.Run, now time.Time, number int, key string) store.Commit {
	reply := interaction.Reply{ID: number, Text: fmt.Sprintf("answer %d", number), Key: key}
	c := Changed(prev, now, func(r *store.Run) {
		r.Together.Replies++
		r.CloseQuestion(number)
	})
	c.Settled = []interaction.Record{interaction.Settle(*prev.OpenQuestion(number), reply.Answer(now), key,
		reply.Digest())}
	return c
}

// Completed is the commit by which a reply settles one question, closes the others, and queues
// the run.
func Completed(prev store.Run, now time.Time, number int, key string) store.Commit {
	c := queuedAgain(prev, now)
	c.Settled = nil
	for _, q := range prev.Open {
		record := interaction.Supersede(q, now)
		if q.ID == number {
			reply := interaction.Reply{ID: number, Text: fmt.Sprintf("answer %d", number), Key: key}
			record = interaction.Settle(q, reply.Answer(now), key, reply.Digest())
		}
		c.Settled = append(c.Settled, record)
	}
	c.Run.Open, c.Run.Deadline = nil, time.Time{}
	c.Run.Together.Replies++
	return c
}

// queuedAgain returns a run to the queue. A run with a resident process keeps its owner.
func queuedAgain(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) {
		r.QueuedAt = now
		if r.State = fsm.StateQueued; prev.State == fsm.StateRunning {
			r.Slot = false
		}
		if !r.Slot {
			r.Owner = ""
		}
	})
}

// lostAgain returns a running run to the queue for a minute. repeats is the number of consecutive
// repeats of its turn; losses is how many of them followed the loss of a node.
func lostAgain(prev store.Run, now time.Time, repeats, losses int) store.Commit {
	c := queuedAgain(prev, now)
	c.Run.Repeats, c.Run.Losses, c.Run.NotBefore = repeats, losses, now.Add(time.Minute)
	return c
}

// putOff returns a running run to the queue until the given time, because its turn failed for a
// passing reason.
func putOff(prev store.Run, now, until time.Time) store.Commit {
	c := queuedAgain(prev, now)
	r := &c.Run
	r.Repeats++
	r.Yielded++
	r.NotBefore = until
	r.Block = &store.Block{Kind: store.BlockRetry, Until: until, Code: fsm.CodeEngineFailed, Reason: "503 <&>"}
	return c
}

// ended finishes a run; a pending question is recorded as abandoned.
func ended(prev store.Run, now time.Time, state fsm.State) store.Commit {
	c := Changed(prev, now, func(r *store.Run) {
		r.State, r.FinishedAt = state, now
		r.Slot, r.Owner, r.Open, r.Deadline, r.Answers, r.Block = false, "", nil, time.Time{}, nil, nil
		r.Together, r.Remembered = nil, nil
		if state != fsm.StateSucceeded {
			r.Error = &store.Failure{Code: fsm.CodeEngineFailed, Message: "it broke"}
		}
	})
	for _, q := range prev.Open {
		c.Settled = append(c.Settled, interaction.Abandon(q, now))
	}
	return c
}

// The functions below are changes for Created.

func inPool(pool string) func(*store.Run)             { return func(r *store.Run) { r.Pool = pool } }
func withKey(key string) func(*store.Run)             { return func(r *store.Run) { r.Key = key } }
func withPriority(priority int) func(*store.Run)      { return func(r *store.Run) { r.Priority = priority } }
func notBefore(at time.Time) func(*store.Run)         { return func(r *store.Run) { r.NotBefore = at } }
func withLabels(l map[string]string) func(*store.Run) { return func(r *store.Run) { r.Labels = l } }

func withBudget(turns int, tokens int64) func(*store.Run) {
	return func(r *store.Run) { r.Budget = &store.RunBudget{Limit: store.Budget{Turns: turns, Tokens: tokens}} }
}
