package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// evidence has everything that is known about a run, from the store and from other sources.
type evidence struct {
	*dealing
	run     lifecycle.Run
	bodies  []store.Event
	history map[int]interaction.Record // settled questions, by number
	changes []change
	turns   []turn
	begins  map[int][]note // by attempt
	ends    map[int][]note
	claims  map[uint64][]note // by epoch; at most one claim of an epoch was stored
}

// change is a change of state in the log.
type change struct {
	fcmp.StateChanged
	at time.Time
}

// turn is an attempt as the log has it.
type turn struct {
	attempt int
	answer  int    // the question whose answer the turn gets, by the log; 0 for none
	how     string // the event that ended the turn; "" if it has not ended
	ended   time.Time
	// handedBack says that the run returned to the queue before the engine was called for this turn
	// (J1).
	handedBack bool
}

// gather reads everything that the store has about a run, and returns the violations that the
// contract's checker finds in the log.
func (e *evidence) gather(ctx context.Context, c *lifecycle.Client, st store.Reader,
	checker *audit.Checker) (wrong []string, _ error) {
	id := e.plan.id
	var err error
	if e.run, err = c.Get(ctx, id); err != nil {
		return nil, err
	}
	records, err := c.History(ctx, id)
	if err != nil && !errors.Is(err, store.ErrCorrupt) { // lost rows: the checks below report the
		// missing data
		return nil, err
	}
	e.history = make(map[int]interaction.Record, len(records))
	for i, r := range records {
		if r.Question.ID != i+1 {
			wrong = append(wrong, fmt.Sprintf("the history has interaction %d at place %d", r.Question.ID, i+1))
		}
		if r.Resolution != "" {
			e.history[r.Question.ID] = r
		}
	}
	for event, err := range cast.Events(ctx, st, id) {
		if err != nil {
			return nil, err
		}
		e.bodies = append(e.bodies, event)
	}
	return append(wrong, e.read(checker)...), nil
}

// read reads the log, and returns its faults.
func (e *evidence) read(checker *audit.Checker) (wrong []string) {
	answer := 0
	for i, body := range e.bodies {
		for _, v := range checker.Line(body.Body) {
			wrong = append(wrong, v.Error())
		}
		event, err := fcmp.Decode(body.Body)
		if err != nil {
			return append(wrong, err.Error())
		}
		if body.Seq != uint64(i+1) || event.Seq != body.Seq || event.RunID != e.plan.id {
			wrong = append(wrong, fmt.Sprintf("event %d of the run stands at place %d, and says that it is %d of %s",
				body.Seq, i+1, event.Seq, event.RunID))
		}
		switch event.Type {
		case fcmp.TypeReplyAccepted, fcmp.TypeAutoDecided:
			var settled fcmp.ReplyAccepted
			if err := event.Decode(&settled); err != nil {
				wrong = append(wrong, err.Error())
			}
			answer = settled.InteractionID
		case fcmp.TypeWarning:
			var w fcmp.Warning
			if err := event.Decode(&w); err == nil && w.Code == string(fsm.WarnTurnHandedBack) && len(e.turns) > 0 {
				e.turns[len(e.turns)-1].handedBack = true
			}
		case fcmp.TypeStateChanged:
			c := change{at: event.TS}
			if err := event.Decode(&c.StateChanged); err != nil {
				wrong = append(wrong, err.Error())
			}
			e.changed(c, event.Meta.Attempt, &answer)
		}
	}
	return wrong
}

// changed adds the next change of state.
func (e *evidence) changed(c change, attempt int, answer *int) {
	e.changes = append(e.changes, c)
	if c.From == string(fsm.StateRunning) && len(e.turns) > 0 {
		last := &e.turns[len(e.turns)-1]
		last.how, last.ended = c.Trigger, c.at
	}
	switch c.To {
	case string(fsm.StateRunning):
		e.turns = append(e.turns, turn{attempt: attempt, answer: *answer})
	case string(fsm.StateWaitingUser):
		*answer = 0
	}
}

// last returns the last change of state; it is zero for a run that has not started.
func (e *evidence) last() change {
	if len(e.changes) == 0 {
		return change{}
	}
	return e.changes[len(e.changes)-1]
}

// concluded reports whether the turn ended by its own outcome.
func (t turn) concluded() bool {
	switch fsm.Event(t.how) {
	case fsm.EventTurnNeedsInput, fsm.EventTurnSucceeded, fsm.EventTurnFailed:
		return true
	}
	return false
}

// sheet has the notes of all nodes, sorted by subject.
type sheet struct {
	begins, ends map[string]map[int][]note
	claims       map[string]map[uint64][]note
	processes    map[string]int       // the process of each node
	lost         map[string]time.Time // by node: the time at which it noticed that it had lost its lease
	late         map[string][]span    // by node: the times in which it could not renew its lease
	other        []note
}

func newSheet(notes []note) *sheet {
	s := &sheet{
		begins: make(map[string]map[int][]note), ends: make(map[string]map[int][]note),
		claims:    make(map[string]map[uint64][]note),
		processes: make(map[string]int), lost: make(map[string]time.Time), late: make(map[string][]span),
	}
	for _, n := range notes {
		switch n.What {
		case noteBegin:
			put(s.begins, n.Run, n.Attempt, n)
		case noteEnd:
			put(s.ends, n.Run, n.Attempt, n)
		case noteClaim:
			put(s.claims, n.Run, n.Epoch, n)
		case noteJoin:
			s.processes[n.Node] = n.process
		case noteLost:
			s.lost[n.Node] = n.At
		case noteLate:
			s.late[n.Node] = append(s.late[n.Node], span{*n.Since, n.At})
		default:
			s.other = append(s.other, n)
		}
	}
	return s
}

func put[K comparable](into map[string]map[K][]note, run string, k K, n note) {
	if into[run] == nil {
		into[run] = make(map[K][]note)
	}
	into[run][k] = append(into[run][k], n)
}
