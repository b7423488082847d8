package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// The checks, by the property that they prove.
const (
	checkLogs     = "event logs"    // no gap, no reordering, no invariant of the contract broken, as the record says
	checkEndings  = "endings"       // every run ended or waits as it should
	checkReplies  = "replies"       // no accepted reply is lost, no question is settled twice
	checkTurns    = "turns"         // no turn is executed twice, each gets its answer
	checkReaders  = "readers"       // a reader that followed a run got its log
	checkSlots    = "slot capacity" // never exceeded
	checkStale    = "stale writes"  // none accepted
	checkTakeover = "takeover"      // within two lease lengths
	checkNodes    = "nodes"         // they ended when asked to, and left nothing behind
)

var checks = []string{checkLogs, checkEndings, checkReplies, checkTurns, checkReaders, checkSlots, checkStale,
	checkTakeover, checkNodes}

// violation is one broken property.
type violation struct {
	Check string `json:"check"`
	Run   string `json:"run,omitempty"`
	What  string `json:"what"`
	log   []store.Event
}

// findings is what all checks have found.
type findings struct {
	*cluster
	sheet *sheet

	mu         sync.Mutex
	violations []violation       // guarded by mu
	states     map[fsm.State]int // guarded by mu
	events     int               // guarded by mu
	turns      int               // guarded by mu; turns in the logs
	requeued   int               // guarded by mu
	decided    int               // guarded by mu; automatic decisions
	timeouts   int               // guarded by mu; waits that failed at their deadline
	longest    time.Duration     // guarded by mu; takeover
	takeovers  int               // guarded by mu
	executions []execution       // guarded by mu
	refused    int               // stale writes that were refused
	fenced     int               // how often a node lost its lease
}

// check runs all checks.
func (c *cluster) check(ctx context.Context) (*findings, error) {
	notes, err := c.fleet.notes()
	if err != nil {
		return nil, err
	}
	a := &findings{cluster: c, sheet: newSheet(notes), states: make(map[fsm.State]int), violations: []violation{}}
	if err := a.runs(ctx); err != nil {
		return nil, err
	}
	a.slots()
	a.stale()
	if err := a.nodes(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(a.violations, func(x, y violation) int {
		if by := slices.Index(checks, x.Check) - slices.Index(checks, y.Check); by != 0 {
			return by
		}
		return strings.Compare(x.Run+x.What, y.Run+y.What)
	})
	return a, nil
}

func (a *findings) found(check, run string, log []store.Event, wrong ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, what := range wrong {
		a.violations = append(a.violations, violation{check, run, what, log})
	}
}

// runs checks every run that was submitted, and that the store has no other run.
func (a *findings) runs(ctx context.Context) error {
	dealings := a.ledger.all()
	group, within := errgroup.WithContext(ctx)
	next := make(chan *dealing)
	group.Go(func() error {
		defer close(next)
		for _, d := range dealings {
			select {
			case next <- d:
			case <-within.Done():
				return within.Err()
			}
		}
		return nil
	})
	for range 4 {
		group.Go(func() error {
			checker := audit.NewChecker()
			logs := make(map[string][]store.Event)
			for d := range next {
				e, err := a.run(within, d, checker)
				if err != nil {
					return fmt.Errorf("run %s: %w", d.plan.id, err)
				}
				logs[d.plan.id] = e.bodies
			}
			for _, v := range checker.Close() {
				a.found(checkLogs, v.RunID, logs[v.RunID], v.Error())
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return a.strangers(ctx, len(dealings))
}

// run checks one run.
func (a *findings) run(ctx context.Context, d *dealing, checker *audit.Checker) (*evidence, error) {
	id := d.plan.id
	e := &evidence{dealing: d, begins: a.sheet.begins[id], ends: a.sheet.ends[id], claims: a.sheet.claims[id]}
	wrong, err := e.gather(ctx, a.client, a.store, checker)
	if errors.Is(err, store.ErrNotFound) {
		a.found(checkEndings, id, nil, "it was submitted, and is not there")
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	a.found(checkLogs, id, e.bodies, append(wrong, e.logged()...)...)
	a.found(checkEndings, id, e.bodies, e.ended(a.troubled)...)
	a.found(checkReplies, id, e.bodies, e.settled()...)
	a.found(checkTurns, id, e.bodies, e.executed()...)
	a.found(checkReaders, id, e.bodies, e.seen()...)
	a.found(checkTakeover, id, e.bodies, a.takenOver(e)...)
	a.count(e)
	return e, nil
}

// count adds the run's numbers to the totals.
func (a *findings) count(e *evidence) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.states[e.run.State]++
	a.events += len(e.bodies)
	a.turns += len(e.turns)
	a.decided += e.run.AutoDecisions
	for _, c := range e.changes {
		switch fsm.Event(c.Trigger) {
		case fsm.EventRestartRequeue:
			a.requeued++
		case fsm.EventInteractionWaitTimeout:
			a.timeouts++
		}
	}
	for _, t := range e.turns {
		if begins, ends := e.begins[t.attempt], e.ends[t.attempt]; t.concluded() && len(begins) == 1 && len(ends) == 1 {
			a.executions = append(a.executions, execution{pool: e.run.Pool, from: begins[0].At, to: ends[0].At,
				process: begins[0].process})
		}
	}
}

// strangers reports runs in the store that were not submitted.
func (a *findings) strangers(ctx context.Context, known int) error {
	n := 0
	for r, err := range cast.Runs(ctx, a.client.Runs, lifecycle.Query{}) {
		if err != nil {
			return err
		}
		n++
		if a.ledger.of(r.ID) == nil {
			a.found(checkEndings, r.ID, nil, "nobody submitted it")
		}
	}
	if n != known {
		a.found(checkEndings, "", nil, fmt.Sprintf("%d runs were submitted, %d are listed", known, n))
	}
	return nil
}
