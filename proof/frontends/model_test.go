package frontends_test

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/anishathalye/porcupine"
)

// The kinds of calls about one question.
const (
	callReply    = "reply"    // by a person in the audience
	callDeadline = "deadline" // the end of the question's wait, which the nodes carry out
	callCancel   = "cancel"
	callRead     = "read"
	callEnd      = "end" // the final state of the run
)

// call is one call about a question. Its name identifies its winner in the question's history.
type call struct{ kind, name string }

// outcome is what its caller learned.
type outcome struct {
	unknown bool
	done    bool   // a reply was accepted, a run canceled; at its end: whether it was
	winner  string // the winner, as reported to a loser or a reader; empty: the question is open
}

// question is one question: who has won it, and whether its run was canceled before or after.
type question struct {
	winner   string
	canceled bool
}

// abandoned is the history's entry for a question whose run was canceled before an answer.
const abandoned = "abandoned"

// model has one winner for a question.
var model = porcupine.Model{
	Init: func() any { return question{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(question).step(input.(call), output.(outcome))
	},
	DescribeOperation: func(input, output any) string { return describe(input.(call), output.(outcome)) },
}

func (q question) step(in call, out outcome) (bool, any) {
	switch in.kind {
	case callRead:
		return out.unknown || out.winner == q.winner, q
	case callEnd:
		return q == question{out.winner, out.done}, q
	case callCancel:
		return q.cancel(out)
	}
	open := q.winner == ""
	next := q
	if open {
		next.winner = in.name
	}
	switch {
	case out.unknown: // it may have happened; if not, it comes last, after another winner
		return true, next
	case out.done:
		return open, next
	}
	return !open && q.winner != in.name && out.winner == q.winner, q
}

func (q question) cancel(out outcome) (bool, any) {
	next := question{q.winner, true}
	if q.winner == "" {
		next.winner = abandoned
	}
	switch {
	case out.unknown && q.canceled:
		return true, q
	case out.unknown:
		return true, next
	case out.done:
		return !q.canceled, next
	}
	return q.winner != "" && !q.canceled, q // the run has ended by itself
}

func describe(in call, out outcome) string {
	said := "ok"
	switch {
	case out.unknown:
		said = "?"
	case in.kind == callRead, in.kind == callEnd:
		said = fmt.Sprintf("%q", out.winner)
	case !out.done:
		said = "too late, after " + out.winner
	}
	return strings.TrimSpace(in.kind+" "+in.name) + " -> " + said
}

// history records the calls about one question.
type history struct {
	mu  sync.Mutex
	now int64                 // guarded by mu; counts calls and returns; only their order matters
	ops []porcupine.Operation // guarded by mu
}

// start records a call, which stays of unknown outcome until the function that it returns is
// called.
func (h *history) start(client int, in call) (end func(outcome)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	i := len(h.ops)
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: outcome{unknown: true}, Call: h.now,
		Return: math.MaxInt64})
	return func(out outcome) {
		if out.unknown {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now++
		h.ops[i].Output, h.ops[i].Return = out, h.now
	}
}

// judge says what could not have happened; empty if all could.
func (h *history) judge() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if porcupine.CheckOperations(model, h.ops) {
		return ""
	}
	var text strings.Builder
	for _, op := range h.ops {
		fmt.Fprintf(&text, "\n\t%d to %d: %s", op.Call, op.Return, model.DescribeOperation(op.Input, op.Output))
	}
	return text.String()
}
