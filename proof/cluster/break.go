package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// spoiling breaks something on purpose, to prove that the check for it can fail. It returns the run
// that it broke, if it is about one.
type spoiling struct {
	check string
	do    func(ctx context.Context, c *cluster) (run string, _ error)
}

// breaks are the spoilings by their name on the command line. No two of them break the same run.
var breaks = map[string]spoiling{
	"event":    {checkLogs, dropEvent},
	"order":    {checkLogs, swapEvents},
	"run":      {checkEndings, dropRun},
	"end":      {checkEndings, endOtherwise},
	"parked":   {checkEndings, wakeParked},
	"reply":    {checkReplies, dropSettled},
	"receipt":  {checkReplies, forgeReceipt},
	"twice":    {checkTurns, beginTwice},
	"answer":   {checkTurns, beginWithout},
	"reader":   {checkReaders, blindReader},
	"slot":     {checkSlots, takeSlots},
	"stale":    {checkStale, acceptStale},
	"takeover": {checkTakeover, ageTakeover},
	"lease":    {checkNodes, leaveNode},
}

func breakNames() string { return strings.Join(slices.Sorted(maps.Keys(breaks)), ", ") }

// victim returns the i-th suitable run, so that each corruption is applied to a different run.
func (c *cluster) victim(ctx context.Context, i int, fits func(d *dealing, r store.Run) bool) (*dealing, error) {
	all := c.ledger.all()
	slices.SortFunc(all, func(a, b *dealing) int { return a.plan.n - b.plan.n })
	for _, d := range all {
		r, err := c.client.Get(ctx, d.plan.id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if fits(d, r) {
			if i == 0 {
				return d, nil
			}
			i--
		}
	}
	return nil, errors.New("-break: there is no such run: have more runs, or -chaos")
}

// done selects runs that were answered and succeeded.
func done(d *dealing, r store.Run) bool {
	return d.plan.kind == answered && !d.plan.followed && r.State == fsm.StateSucceeded
}

// sqlOn changes one row of a run.
func (c *cluster) sqlOn(ctx context.Context, d *dealing, text string) (string, error) {
	n, err := c.server.exec(ctx, strings.ReplaceAll(text, "RUN", `(SELECT n FROM SCHEMA.runs WHERE id = $1)`),
		d.plan.id)
	if err == nil && n == 0 {
		err = fmt.Errorf("-break: nothing was changed by %s", text)
	}
	return d.plan.id, err
}

func dropEvent(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 0, done)
	if err != nil {
		return "", err
	}
	return c.sqlOn(ctx, d,
		`DELETE FROM SCHEMA.events WHERE run = RUN AND first = (SELECT min(first) FROM SCHEMA.events
			WHERE run = RUN AND first > 2)`)
}

// swapEvents exchanges the bodies of events of two commits.
func swapEvents(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 1, done)
	if err != nil {
		return "", err
	}
	return c.sqlOn(ctx, d, `UPDATE SCHEMA.events e SET bodies = other.bodies FROM SCHEMA.events other
		WHERE e.run = RUN AND other.run = e.run AND e.last = other.first - 1
			AND other.last - other.first = e.last - e.first`)
}

func dropRun(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 2, done)
	if err != nil {
		return "", err
	}
	if _, err := c.sqlOn(ctx, d, `DELETE FROM SCHEMA.states WHERE n = RUN`); err != nil {
		return "", err
	}
	return c.sqlOn(ctx, d, `DELETE FROM SCHEMA.runs WHERE n = RUN`)
}

// endOtherwise changes the plan's expectation of a run.
func endOtherwise(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 3, done)
	if err != nil {
		return "", err
	}
	d.plan.kind = strict
	return d.plan.id, nil
}

func wakeParked(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 0, func(_ *dealing, r store.Run) bool { return r.State == fsm.StateWaitingUser })
	if err != nil {
		return "", err
	}
	return d.plan.id, c.client.Cancel(ctx, d.plan.id, "nobody said so")
}

func dropSettled(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 4, done)
	if err != nil {
		return "", err
	}
	return c.sqlOn(ctx, d, `DELETE FROM SCHEMA.settled WHERE run = RUN AND id = 1`)
}

// forgeReceipt records an acceptance that did not happen.
func forgeReceipt(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 5, done)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replies[0].key = "another"
	return d.plan.id, nil
}

// noted returns a note of an agent about a run.
func (c *cluster) noted(ctx context.Context, i int, what string) (*dealing, note, error) {
	d, err := c.victim(ctx, i, done)
	if err != nil {
		return nil, note{}, err
	}
	notes, err := c.fleet.notes()
	for _, n := range notes {
		if n.What == what && n.Run == d.plan.id && n.Attempt == 2 {
			return d, n, nil
		}
	}
	return nil, note{}, errors.Join(err, errors.New("-break: no agent noted anything of run "+d.plan.id))
}

// forge adds a note to a journal.
func (c *cluster) forge(n note) error {
	j, err := openJournal(c.fleet.process(n.process).journal)
	if err != nil {
		return err
	}
	j.note(n)
	return j.Close()
}

func beginTwice(ctx context.Context, c *cluster) (string, error) {
	d, n, err := c.noted(ctx, 6, noteBegin)
	if err != nil {
		return "", err
	}
	return d.plan.id, c.forge(n)
}

// beginWithout makes the journal say that the agent heard another answer than the log has.
func beginWithout(ctx context.Context, c *cluster) (string, error) {
	d, n, err := c.noted(ctx, 7, noteBegin)
	if err != nil {
		return "", err
	}
	n.Attempt = 1 // attempt 1 had no answer
	return d.plan.id, c.forge(n)
}

func blindReader(ctx context.Context, c *cluster) (string, error) {
	d, err := c.victim(ctx, 0, func(d *dealing, _ store.Run) bool { return d.plan.followed })
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.followed = d.followed[:len(d.followed)-1]
	return d.plan.id, nil
}

// takeSlots makes more runs hold a slot than there are slots, until the monitor has seen that.
func takeSlots(ctx context.Context, c *cluster) (string, error) {
	const before = `UPDATE SCHEMA.states SET slot = true WHERE n IN (SELECT n FROM SCHEMA.states WHERE pool = 'default'
		AND NOT slot LIMIT 60)`
	if _, err := c.server.exec(ctx, before); err != nil {
		return "", err
	}
	for from := c.capacity.samples.Load(); ctx.Err() == nil && c.capacity.samples.Load() < from+2; {
		cast.Pause(ctx, time.Millisecond) // the first one may have begun before
	}
	_, err := c.server.exec(ctx, `UPDATE SCHEMA.states SET slot = false`)
	return "", err
}

// acceptStale adds a note that a stale write of a node was accepted.
func acceptStale(ctx context.Context, c *cluster) (string, error) {
	d, n, err := c.noted(ctx, 8, noteBegin)
	if err != nil {
		return "", err
	}
	n.What = noteAccepted
	return d.plan.id, c.forge(n)
}

// ageTakeover moves the harm of every node one hour back.
func ageTakeover(_ context.Context, c *cluster) (string, error) {
	for _, p := range c.fleet.processes {
		p.mu.Lock()
		p.at = p.at.Add(-time.Hour)
		for i := range p.still {
			p.still[i].from = p.still[i].from.Add(-time.Hour)
		}
		p.mu.Unlock()
	}
	return "", nil
}

func leaveNode(ctx context.Context, c *cluster) (string, error) {
	return "", c.store.Join(ctx, store.Node{ID: "left-behind", Lease: time.Minute}, time.Now())
}
