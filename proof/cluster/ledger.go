package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/interaction"
)

// ledger records the actions of people and the answers to them: submissions, replies and cancels.
// The checks compare the store with it.
type ledger struct {
	replies, duplicates, refusals, unsure, cancels atomic.Int64
	submitted                                      atomic.Int64

	mu   sync.Mutex
	runs map[string]*dealing // guarded by mu
	acks []time.Time         // guarded by mu; when the acceptance of a reply was acknowledged
}

// dealing is what people did with one run.
type dealing struct {
	plan plan

	mu       sync.Mutex
	replies  []*saying             // guarded by mu
	canceled []*withdrawal         // guarded by mu
	followed []fcmp.Event          // guarded by mu; the events that a reader got, in that order
	reader   error                 // guarded by mu; why the reader ended early
	open     *interaction.Question // guarded by mu; the question with which the run was parked
	released bool                  // guarded by mu; the run was parked, and then answered
}

// saying is a reply and its result. Once the result is known, either accepted or refused is set.
type saying struct {
	question  int
	key, text string
	accepted  *interaction.Receipt
	refused   error
	faults    []string // answers that contradict each other
}

// withdrawal is a cancel and its result.
type withdrawal struct {
	reason   string
	accepted bool
	refused  error
	unsure   bool // an earlier try got no answer
}

func newLedger() *ledger { return &ledger{runs: make(map[string]*dealing)} }

func (l *ledger) open(p plan) *dealing {
	d := &dealing{plan: p}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[p.id] = d
	return d
}

// acknowledged counts an accepted reply.
func (l *ledger) acknowledged() {
	l.replies.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, time.Now())
}

func (l *ledger) of(run string) *dealing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[run]
}

// all returns the dealings in no particular order.
func (l *ledger) all() []*dealing {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*dealing, 0, len(l.runs))
	for _, d := range l.runs {
		all = append(all, d)
	}
	return all
}

func (d *dealing) saying(s *saying) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replies = append(d.replies, s)
}

// waits reports whether the run is parked and must stay so.
func (d *dealing) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plan.kind == parked && !d.released
}

// unsureWait is the pause before a call with an unknown outcome is made again.
const unsureWait = 50 * time.Millisecond
