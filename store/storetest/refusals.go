package storetest

import (
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// fault is a change that makes a valid commit invalid.
type fault struct {
	name   string
	damage func(c *store.Commit)
}

// refuses checks that the commit is refused with each fault, and stored without.
func refuses(w *world, good store.Commit, faults []fault) {
	w.Helper()
	for _, f := range faults {
		c := good
		c.Run = good.Run.Clone()
		c.Events = append([]store.Event(nil), good.Events...)
		c.Settled = nil
		for _, settled := range good.Settled {
			c.Settled = append(c.Settled, store.CloneRecord(settled))
		}
		f.damage(&c)
		w.Logf("fault: %s", f.name)
		w.refused(store.ErrInvalid, c)
	}
	w.commit(good)
}

var refusalCases = []promised{
	{
		"refusal/of a contradictory creation",
		"A commit that creates a run and contradicts itself is ErrInvalid, and creates no run (F7).",
		func(w *world) { refuses(w, Created("a", w.tick()), append(creationFaults, recordFaults...)) },
	},
	{
		"refusal/of a contradictory report",
		"A commit that contradicts itself, or the record that it follows, is ErrInvalid, and no part of it is " +
			"stored (A7, F7, F8).",
		func(w *world) {
			r := w.running("a")
			refuses(w, reported(r, w.tick()), append(append(append(followFaults, recordFaults...), runningFaults...),
				submissionFaults...))
		},
	},
	{
		"refusal/of a question without a wait, or the reverse",
		"Only a run in waiting_user has a pending question and a deadline, and the question has the run's next " +
			"number (I10).",
		func(w *world) {
			r := w.running("a")
			refuses(w, Asked(r, w.tick(), false, w.now.Add(time.Minute)), []fault{
				{"no question", func(c *store.Commit) { c.Run.Open = nil }},
				{"question while running", func(c *store.Commit) { c.Run.State, c.Run.Slot = fsm.StateRunning, true }},
				{"question's number was skipped", func(c *store.Commit) {
					c.Run.Open[0].ID, c.Run.Interactions = 2, 2
				}},
				{"question's number is another than the record's", func(c *store.Commit) { c.Run.Open[0].ID = 2 }},
				{"a number without a question", func(c *store.Commit) { c.Run.Interactions = 2 }},
				{"question asked in another time zone", func(c *store.Commit) {
					c.Run.Open[0].AskedAt = c.Run.Open[0].AskedAt.In(time.FixedZone("x", 60))
				}},
				{"question without a time", func(c *store.Commit) { c.Run.Open[0].AskedAt = time.Time{} }},
				{"question that is not UTF-8", func(c *store.Commit) { c.Run.Open[0].Prompt = "Which\xff?" }},
				{"hints of no JSON type", func(c *store.Commit) { c.Run.Open[0].UIHints = map[string]any{"rows": 3} }},
				{"hints that JSON cannot say", func(c *store.Commit) {
					c.Run.Open[0].UIHints = map[string]any{"rows": math.Inf(1)}
				}},
				{"hints that are not UTF-8", func(c *store.Commit) {
					c.Run.Open[0].UIHints = map[string]any{"a": []any{"\xff"}}
				}},
				{"hints without a bottom", func(c *store.Commit) {
					hints := map[string]any{}
					hints["again"] = hints
					c.Run.Open[0].UIHints = hints
				}},
				{"without an event that tells of it", dropEvents},
				{"question's time is finer than a microsecond", func(c *store.Commit) {
					c.Run.Open[0].AskedAt = c.Run.Open[0].AskedAt.Add(1)
				}},
			})
		},
	},
	{
		"refusal/of a settlement of another question",
		"A commit settles exactly the pending question, and a question never disappears without being settled (C4, " +
			"C7, I8).",
		func(w *world) {
			r := w.waiting("a")
			refuses(w, Answered(r, w.tick(), "k"), []fault{
				{"not settled", func(c *store.Commit) { c.Settled = nil }},
				{"another question", func(c *store.Commit) { c.Settled[0].Question.ID = 2 }},
				{"without an event that tells of it", dropEvents},
				{"an answer that is not UTF-8", func(c *store.Commit) { c.Run.Answers[0].Text = "\xff" }},
				{"a settlement that is not UTF-8", func(c *store.Commit) { c.Settled[0].Response = "\xff" }},
				{"a question asked in another time zone", func(c *store.Commit) {
					c.Settled[0].Question.AskedAt = c.Settled[0].Question.AskedAt.In(time.FixedZone("x", 60))
				}},
				{"settled and still pending", func(c *store.Commit) {
					c.Run.State, c.Run.Answers, c.Run.Open = fsm.StateWaitingUser, nil, r.Open
				}},
				{"without a resolution", func(c *store.Commit) { c.Settled[0].Resolution = "" }},
				{"without a time", func(c *store.Commit) { c.Settled[0].ResolvedAt = time.Time{} }},
				{"deadline is left", func(c *store.Commit) { c.Run.Deadline = c.Run.UpdatedAt }},
				{"a slot without a claim", func(c *store.Commit) { c.Run.Slot, c.Run.Owner = true, "n" }},
			})
			r = w.load("a")
			again := reported(r, w.tick())
			again.Settled = []interaction.Record{{Question: interaction.Question{ID: 1},
				Resolution: interaction.UserReply, ResolvedAt: w.now}}
			w.refused(store.ErrInvalid, again)
		},
	},
	{
		"refusal/of a replaced question",
		"While a run waits, its question does not change: another one comes only after it was settled (I8).",
		func(w *world) {
			r := w.waiting("a")
			refuses(w, Changed(r, w.tick(), func(r *store.Run) { r.Recovery = store.RecoveredWaiting }), []fault{
				{"the next question", func(c *store.Commit) { c.Run.Open[0].ID, c.Run.Interactions = 2, 2 }},
			})
		},
	},
	{
		"refusal/of a key for two interactions",
		"A key belongs to one accepted reply of its run: settling another interaction with it is ErrInvalid (C5).",
		func(w *world) {
			w.commit(Answered(w.waiting("a"), w.tick(), "k"))
			r := w.commit(Asked(w.start("n"), w.tick(), false, time.Time{}))
			w.refused(store.ErrInvalid, Answered(r, w.tick(), "k"))
			r = w.commit(Answered(r, w.tick(), "k2"))
			w.commit(ended(r, w.tick(), fsm.StateCanceled))
			w.commit(Answered(w.waiting("b"), w.tick(), "k")) // the same key in another run is allowed
		},
	},
	{
		"refusal/of an invalid end",
		"A finished run has no slot, owner or question, and has its end's time (section D: slots never leak).",
		func(w *world) {
			r := w.running("a")
			refuses(w, ended(r, w.tick(), fsm.StateFailed), []fault{
				{"with a slot", func(c *store.Commit) { c.Run.Slot, c.Run.Owner = true, "n" }},
				{"with an owner", func(c *store.Commit) { c.Run.Owner = "n" }},
				{"without a time", func(c *store.Commit) { c.Run.FinishedAt = time.Time{} }},
				{"with a question", func(c *store.Commit) {
					c.Run.Open = []interaction.Question{{ID: 1, AskedAt: base}}
				}},
				{"without an event that tells of it", dropEvents},
			})
		},
	},
	{
		"refusal/of an invalid change of state",
		"A commit from one state to another is ErrInvalid if no transition of the contract leads there, whatever " +
			"its events are (A1, A2, F7).",
		func(w *world) {
			parked := func(r store.Run) store.Commit { return Asked(r, w.tick(), false, time.Time{}) }
			succeeded := func(r store.Run) store.Commit { return ended(r, w.tick(), fsm.StateSucceeded) }
			q := w.submit("queued")
			w.refused(store.ErrInvalid, parked(q))
			w.refused(store.ErrInvalid, succeeded(q))
			jump := parked(q)
			dropEvents(&jump)
			w.refused(store.ErrInvalid, jump)
			w.commit(ended(q, w.tick(), fsm.StateCanceled))

			r := w.waiting("waiting")
			w.refused(store.ErrInvalid, succeeded(r))
			w.refused(store.ErrInvalid, Changed(r, w.tick(), func(r *store.Run) {
				r.State, r.Slot, r.Open, r.Attempt = fsm.StateRunning, true, nil, r.Attempt+1
			}))

			w.submit("unmoved")
			_, err := w.store.Claim(w.ctx, store.ClaimRequest{
				Node: "n", Now: w.tick(), Max: 1, Start: func(r store.Run, _ []byte) (store.Commit, error) {
					return reported(r, w.now), nil
				},
			})
			require.ErrorIs(w, err, store.ErrInvalid, "a claim that starts nothing")
			_, err = w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.tick(), Max: 1, Start: func(r store.Run,
				_ []byte) (store.Commit, error) {
				return parked(r), nil
			}})
			require.ErrorIs(w, err, store.ErrInvalid, "a claim that parks")
			require.EqualValues(w, 1, w.load("unmoved").Version)
		},
	},
	{
		"refusal/of any change of a finished run",
		"A terminal record never changes (A1, I7).",
		func(w *world) {
			for _, state := range []fsm.State{fsm.StateSucceeded, fsm.StateFailed, fsm.StateCanceled} {
				r := w.commit(ended(w.running("run-"+string(state)), w.tick(), state))
				w.refused(store.ErrInvalid, ended(r, w.tick(), fsm.StateCanceled))
				w.refused(store.ErrInvalid, queuedAgain(r, w.tick()))
				w.refused(store.ErrInvalid, reported(r, w.tick()))
			}
		},
	},
}

func dropEvents(c *store.Commit) {
	c.Run.Seq -= uint64(len(c.Events))
	c.Events = nil
}

var creationFaults = []fault{
	{"no specification", func(c *store.Commit) { c.Spec = nil }},
	{"no id", func(c *store.Commit) { c.Run.ID = "" }},
	{"no time in the queue", func(c *store.Commit) { c.Run.QueuedAt = time.Time{} }},
	{"no pool", func(c *store.Commit) { c.Run.Pool = "" }},
	{"a fence", func(c *store.Commit) { c.Fence = &store.Fence{Node: "n"} }},
	{"already running", func(c *store.Commit) {
		c.Run.State, c.Run.Slot, c.Run.Owner, c.Run.Epoch, c.Run.Attempt = fsm.StateRunning, true, "n", 1, 1
	}},
	{"a slot", func(c *store.Commit) { c.Run.Slot, c.Run.Owner = true, "n" }},
	{"an attempt", func(c *store.Commit) { c.Run.Attempt = 1 }},
	{"an epoch", func(c *store.Commit) { c.Run.Epoch = 1 }},
	{"a settled interaction", func(c *store.Commit) {
		c.Settled = []interaction.Record{{Question: interaction.Question{ID: 1}}}
	}},
	{"an id with NUL", func(c *store.Commit) { c.Run.ID = "a\x00b" }},
	{"an id that is not UTF-8", func(c *store.Commit) { c.Run.ID = "a\xff" }},
	{"a pool with NUL", func(c *store.Commit) { c.Run.Pool = "p\x00" }},
	{"a key that is not UTF-8", func(c *store.Commit) { c.Run.Key = "\xff" }},
	{"a label's name that is not UTF-8", func(c *store.Commit) { c.Run.Labels = map[string]string{"\xff": "a"} }},
	{"a label that is not UTF-8", func(c *store.Commit) { c.Run.Labels = map[string]string{"a": "\xff"} }},
	{"already ended", func(c *store.Commit) { c.Run.State, c.Run.FinishedAt = fsm.StateCanceled, c.Run.UpdatedAt }},
	{"no time of creation", func(c *store.Commit) { c.Run.CreatedAt = time.Time{} }},
}

var recordFaults = []fault{
	{"version is skipped", func(c *store.Commit) { c.Run.Version++ }},
	{"version is not raised", func(c *store.Commit) { c.Run.Version-- }},
	{"an event too early", func(c *store.Commit) { c.Events[0].Seq-- }},
	{"an event too late", func(c *store.Commit) { c.Events[0].Seq++ }},
	{"an event twice", func(c *store.Commit) { c.Events = append(c.Events, c.Events[0]) }},
	{"events end before the record says", func(c *store.Commit) { c.Run.Seq++ }},
	{"events end after the record says", func(c *store.Commit) { c.Run.Seq-- }},
	{"an event with a line break", func(c *store.Commit) { c.Events[0].Body = []byte("{\n}") }},
	{"an event without a body", func(c *store.Commit) { c.Events[0].Body = nil }},
	{"a state that is none", func(c *store.Commit) { c.Run.State = "paused" }},
	{"a deadline without waiting", func(c *store.Commit) { c.Run.Deadline = c.Run.UpdatedAt }},
	{"a question without waiting", func(c *store.Commit) {
		c.Run.Open = []interaction.Question{{ID: 1, AskedAt: base}}
	}},
	{"an end without being finished", func(c *store.Commit) { c.Run.FinishedAt = c.Run.UpdatedAt }},
	{"a time in another zone", func(c *store.Commit) {
		c.Run.UpdatedAt = c.Run.UpdatedAt.In(time.FixedZone("x", 3600))
	}},
	{"a time finer than a microsecond", func(c *store.Commit) {
		c.Run.UpdatedAt = c.Run.UpdatedAt.Add(time.Nanosecond)
	}},
	{"a year that no text has", func(c *store.Commit) {
		c.Run.UpdatedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	}},
	{"an owner with NUL", func(c *store.Commit) { c.Run.Owner = "n\x00" }},
	{"an owner that is not UTF-8", func(c *store.Commit) { c.Run.Owner = "\xff" }},
	{"a text that is not UTF-8", func(c *store.Commit) { c.Run.FinalText = "a\xff" }},
	{"a reason that is not UTF-8", func(c *store.Commit) { c.Run.CancelReason = "\xed\xa0\x80" }},
	{"a warning that is not UTF-8", func(c *store.Commit) { c.Run.Warnings = []fsm.Warning{"\xff"} }},
	{"an error that is not UTF-8", func(c *store.Commit) { c.Run.Error = &store.Failure{Code: "X", Message: "\xff"} }},
	{"a session that is not UTF-8", func(c *store.Commit) {
		c.Run.Session = &interaction.SessionHandle{Engine: "\xff", Data: []byte("x")}
	}},
	{"output that is not JSON", func(c *store.Commit) { c.Run.Output = []byte(`{"a":`) }},
	{"output with blanks around it", func(c *store.Commit) { c.Run.Output = []byte("{}\n") }},
	{"output before which there are blanks", func(c *store.Commit) { c.Run.Output = []byte(" {}") }},
	{"output too deep for a record", func(c *store.Commit) {
		c.Run.Output = []byte(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))
	}},
}

var followFaults = []fault{
	{"a specification", func(c *store.Commit) { c.Spec = []byte("another") }},
	{"events begin before the stored ones end", func(c *store.Commit) {
		c.Run.Seq--
		c.Events[0].Seq--
	}},
	{"events leave a gap", func(c *store.Commit) {
		c.Run.Seq++
		c.Events[0].Seq++
	}},
	{"an event is dropped", func(c *store.Commit) { c.Events = nil }},
	{"attempt goes back", func(c *store.Commit) { c.Run.Attempt-- }},
	{"attempt is raised without a start", func(c *store.Commit) { c.Run.Attempt++ }},
	{"time goes back", func(c *store.Commit) { c.Run.UpdatedAt = base.Add(-time.Hour) }},
	{"a new epoch without a claim", func(c *store.Commit) { c.Run.Epoch++ }},
	{"a settlement of nothing", func(c *store.Commit) {
		c.Settled = []interaction.Record{{Question: interaction.Question{ID: 1}, Resolution: interaction.UserReply,
			ResolvedAt: c.Run.UpdatedAt}}
	}},
}

var runningFaults = []fault{
	{"no slot", func(c *store.Commit) { c.Run.Slot = false }},
	{"no owner", func(c *store.Commit) { c.Run.Owner = "" }},
	{"no attempt", func(c *store.Commit) { c.Run.Attempt = 0 }},
}

var submissionFaults = []fault{
	{"contract", func(c *store.Commit) { c.Run.Contract = "9" }},
	{"spec digest", func(c *store.Commit) { c.Run.SpecDigest = "other" }},
	{"engine", func(c *store.Commit) { c.Run.Engine = "other" }},
	{"mode", func(c *store.Commit) { c.Run.Mode = fsm.ModeAuto }},
	{"strict", func(c *store.Commit) { c.Run.Strict = false }},
	{"session timeout", func(c *store.Commit) { c.Run.SessionTimeout++ }},
	{"max attempts", func(c *store.Commit) { c.Run.MaxAttempts++ }},
	{"max auto decisions", func(c *store.Commit) { c.Run.MaxAutoDecisions++ }},
	{"repeatable", func(c *store.Commit) { c.Run.Repeatable = true }},
	{"max repeats", func(c *store.Commit) { c.Run.MaxRepeats++ }},
	{"on interrupt", func(c *store.Commit) { c.Run.OnInterrupt = store.InterruptAsk }},
	{"hold", func(c *store.Commit) { c.Run.Hold = store.HoldOn }},
	{"pool", func(c *store.Commit) { c.Run.Pool = "q" }},
	{"key", func(c *store.Commit) { c.Run.Key = "other" }},
	{"priority", func(c *store.Commit) { c.Run.Priority++ }},
	{"not before", func(c *store.Commit) { c.Run.NotBefore = base }},
	{"labels", func(c *store.Commit) { c.Run.Labels = map[string]string{"a": "b"} }},
	{"created at", func(c *store.Commit) { c.Run.CreatedAt = c.Run.CreatedAt.Add(time.Second) }},
}
