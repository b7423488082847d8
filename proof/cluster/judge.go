package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// The checks of single runs. Each returns a description of the faults.

// logged compares the record with the log.
func (e *evidence) logged() (wrong []string) {
	if got := uint64(len(e.bodies)); got != e.run.Seq {
		wrong = append(wrong, fmt.Sprintf("the log has %d events, the record says %d", got, e.run.Seq))
	}
	last := e.last()
	if state := string(e.run.State); last.To != state && len(e.changes) > 0 || len(e.changes) == 0 &&
		state != string(fsm.StateQueued) {
		wrong = append(wrong, fmt.Sprintf("the log ends in state %q, the record is %s", last.To, state))
	}
	if e.run.Error != nil && (last.Terminal == nil || last.Terminal.Error == nil ||
		last.Terminal.Error.Code != string(e.run.Error.Code)) {
		wrong = append(wrong, fmt.Sprintf("the record's error is %s, the log has another", e.run.Error.Code))
	}
	if e.run.Attempt != len(e.turns) {
		wrong = append(wrong, fmt.Sprintf("the record counts %d attempts, the log %d", e.run.Attempt, len(e.turns)))
	}
	return wrong
}

// ended checks that the run ended, or waits, as its plan and the faults of its nodes allow.
func (e *evidence) ended(troubled func(*evidence) bool) (wrong []string) {
	p, last := &e.plan, e.last()
	is := func(states ...kind) bool { return slices.Contains(states, p.kind) }
	bad := func(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }
	switch e.run.State {
	case fsm.StateSucceeded:
		if is(limited, strict) || is(parked) && !e.released {
			return bad("it succeeded, and should not have (%s)", p.kind)
		}
		return e.heard()
	case fsm.StateCanceled:
		for _, w := range e.canceled {
			if w.reason == e.run.CancelReason && (w.accepted || w.unsure) {
				return nil
			}
		}
		return bad("it was canceled (%q), but by nobody", e.run.CancelReason)
	case fsm.StateWaitingUser:
		if !is(parked) || e.released {
			return bad("it still waits")
		}
		return e.intact()
	case fsm.StateFailed:
		return e.failed(troubled, fsm.Event(last.Trigger))
	}
	return bad("it is still %s", e.run.State)
}

// failed checks that a failed run had to fail.
func (e *evidence) failed(troubled func(*evidence) bool, trigger fsm.Event) []string {
	p, code := &e.plan, e.run.Error.Code
	ok := false
	switch trigger {
	case fsm.EventTurnFailed, fsm.EventInteractionProcessLost:
		ok = code == fsm.CodeInteractionProcessLost && p.sticky() && (p.job.Dies > 0 || troubled(e))
	case fsm.EventInteractionWaitTimeout:
		ok = p.kind == strict && code == fsm.CodeInteractionWaitTimeout || p.kind == limited &&
			code == fsm.CodeInteractiveAutoDecisionLimitExceeded
	case fsm.EventRestartReconcileFailed:
		ok = troubled(e) && (p.sticky() || e.last().From == string(fsm.StateRunning) && !p.spec.Repeatable)
	}
	if ok && p.kind != long {
		return nil
	}
	return []string{fmt.Sprintf("it failed by %s with %s (%s) for no good reason (%s, sticky: %t, repeatable: %t, a "+
		"node of it was in trouble: %t)",
		trigger, code, e.run.Error.Message, p.kind, p.sticky(), p.spec.Repeatable, troubled(e))}
}

// heard checks that the agent of a run that succeeded got every answer, once and in order.
func (e *evidence) heard() []string {
	heard, err := cast.ReadHeard(e.run.Output)
	if err != nil {
		return []string{err.Error()}
	}
	var want []string
	for i := range e.plan.job.Questions {
		want = append(want, e.history[i+1].Response)
	}
	if !slices.Equal(heard, want) || len(e.history) != len(want) {
		return []string{fmt.Sprintf("the agent heard %q, the history has %q (%d entries)", heard, want,
			len(e.history))}
	}
	return nil
}

// intact checks that a parked run is as it was when it was parked.
func (e *evidence) intact() (wrong []string) {
	q := e.run.FirstOpen()
	switch {
	case q == nil || q.ID != 1 || q.Prompt != question(e.plan.id, 1) || e.run.Slot || len(e.history) > 0:
		wrong = append(wrong, fmt.Sprintf("it waits with question %+v, slot %t, %d settled", q, e.run.Slot,
			len(e.history)))
	case e.open != nil && (!e.open.AskedAt.Equal(q.AskedAt) || e.open.Attempt != q.Attempt):
		wrong = append(wrong, fmt.Sprintf("it was parked with %+v, and waits with %+v", *e.open, *q))
	case e.plan.spec.AutoDecide && !e.run.Deadline.Equal(q.AskedAt.Add(e.plan.spec.SessionTimeout)),
		!e.plan.spec.AutoDecide && !e.run.Deadline.IsZero():
		wrong = append(wrong, fmt.Sprintf("its deadline is %s, it was asked at %s", e.run.Deadline, q.AskedAt))
	case e.run.Session == nil:
		wrong = append(wrong, "its session is gone")
	}
	return wrong
}

// settled compares the receipts and errors that people got for their replies and cancels with the
// history and the record.
func (e *evidence) settled() (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	byPeople := make(map[int]bool)
	for _, s := range e.replies {
		r, ok := e.history[s.question]
		ours := ok && r.Resolution == interaction.UserReply && r.Key == s.key
		switch {
		case s.accepted == nil && s.refused == nil:
			bad("nobody ever knew whether reply %s was accepted", s.key)
		case s.accepted != nil && !ours:
			bad("reply %s was accepted, but question %d was settled by %q (%s)", s.key, s.question, r.Key, r.Resolution)
		case s.accepted != nil && (r.Response != s.text || !r.ResolvedAt.Equal(s.accepted.AcceptedAt) ||
			s.accepted.ID != s.question):
			bad("reply %s was accepted as %+v with %q, the history has %+v", s.key, *s.accepted, s.text, r)
		case s.refused != nil && errors.Is(s.refused, lifecycle.ErrNotWaiting) && e.run.Interactions < s.question:
			// the run failed before it asked this question
		case s.refused != nil && (ours || !ok):
			bad("reply %s was refused (%v), but question %d was settled by it, or by nothing", s.key, s.refused,
				s.question)
		}
		if s.accepted != nil {
			if byPeople[s.question] {
				bad("two replies to question %d were accepted", s.question)
			}
			byPeople[s.question] = true
		}
		for _, f := range s.faults {
			bad("reply %s: %s", s.key, f)
		}
	}
	for id, r := range e.history {
		if r.Resolution == interaction.UserReply && !byPeople[id] {
			bad("question %d was settled by reply %s, which nobody was told is accepted", id, r.Key)
		}
	}
	for _, w := range e.canceled {
		if w.accepted && e.run.State != fsm.StateCanceled {
			bad("cancel %q was accepted, but the run is %s", w.reason, e.run.State)
		}
		if !w.accepted && w.refused == nil {
			bad("nobody ever knew whether cancel %q was accepted", w.reason)
		}
	}
	return wrong
}

// executed compares the turns of the log with the notes of the agents. Each turn was executed at
// most once, with the answer that the log has for it, and a turn that ended by its outcome was
// executed to its end.
func (e *evidence) executed() (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := make(map[int]bool)
	for i, t := range e.turns {
		known[t.attempt] = true
		begins, ends := e.begins[t.attempt], e.ends[t.attempt]
		if len(begins) > 1 || len(ends) > 1 {
			bad("attempt %d was begun %d times and ended %d times", t.attempt, len(begins), len(ends))
		}
		for _, n := range begins {
			if n.Answer != t.answer || n.Answer > 0 && n.Text != e.history[n.Answer].Response {
				bad("attempt %d was given answer %d, %q; the log has %d, %q", t.attempt, n.Answer, n.Text, t.answer,
					e.history[t.answer].Response)
			}
		}
		if t.concluded() && (len(ends) != 1 || ends[0].Outcome != outcomeOf[fsm.Event(t.how)]) {
			bad("attempt %d ended by %s, its agent noted %+v", t.attempt, t.how, ends)
		}
		if t.handedBack && len(begins) > 0 {
			bad("attempt %d was begun, and handed back as one that was not", t.attempt)
		}
		// before its first turn, no node knows that a run is sticky, so that this turn may be
		// repeated
		if i > 0 && e.turns[i-1].answer == t.answer && !e.turns[i-1].handedBack &&
			(e.turns[i-1].how != string(fsm.EventRestartRequeue) ||
				!e.plan.spec.Repeatable || e.plan.sticky() && t.answer > 0) {
			bad("attempts %d and %d were both given answer %d, and the first ended by %s (repeatable: %t)",
				e.turns[i-1].attempt, t.attempt, t.answer, e.turns[i-1].how, e.plan.spec.Repeatable)
		}
	}
	for attempt, notes := range e.begins {
		if !known[attempt] {
			bad("an agent began attempt %d, which the log does not have: %+v", attempt, notes[0])
		}
	}
	return wrong
}

// outcomeOf has the outcome that an agent notes for a turn that ends with the event.
var outcomeOf = map[fsm.Event]string{
	fsm.EventTurnNeedsInput: asked, fsm.EventTurnSucceeded: finished, fsm.EventTurnFailed: failed,
}

// seen compares the events that a reader saw with the log.
func (e *evidence) seen() []string {
	if !e.plan.followed {
		return nil
	}
	if e.reader != nil {
		return []string{e.reader.Error()}
	}
	if len(e.followed) != len(e.bodies) {
		return []string{fmt.Sprintf("a reader saw %d of %d events", len(e.followed), len(e.bodies))}
	}
	for i, seen := range e.followed {
		stored, err := fcmp.Decode(e.bodies[i].Body)
		if err != nil || seen.Seq != stored.Seq || seen.Type != stored.Type || !bytes.Equal(seen.Data, stored.Data) ||
			!seen.TS.Equal(stored.TS) {
			return []string{fmt.Sprintf("a reader saw another event %d than is stored: %+v", i+1, seen)}
		}
	}
	return nil
}
