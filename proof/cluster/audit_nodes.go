package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// These checks are about more than a single run.

// clockSlack is the largest difference between the log's times and this program's: the store
// estimates its server's time.
const clockSlack = 100 * time.Millisecond

// takeoverSlack is how much longer than two lease lengths, without the outages of the server, a
// takeover may take: one machine runs all nodes, the server and the checks at the same time.
const takeoverSlack = 3 * time.Second

// troubled reports whether the last node that owned the run was ended, was paused, or lost its
// lease.
func (a *findings) troubled(e *evidence) bool {
	_, ok := a.moment(e, e.run.Epoch, e.last().at)
	return ok
}

// moment returns when the node that claimed the run under the epoch was last harmed before at. If a
// claim was not stored, another node may have claimed the run later under the same epoch; of these
// nodes, the last harmed one counts.
func (a *findings) moment(e *evidence, epoch uint64, at time.Time) (harmed time.Time, ok bool) {
	later := func(t time.Time) {
		if t.Before(at.Add(clockSlack)) && t.After(harmed) {
			harmed, ok = t, true
		}
	}
	// Each attempt has its own epoch. A node drops a turn, and keeps its lease, if it renews it too
	// late, if the outcome does not reach the store, or if it hears of its claim too late to begin.
	dropped := len(e.begins[int(epoch)]) == 0 ||
		slices.ContainsFunc(e.ends[int(epoch)], func(n note) bool { return n.Outcome == interrupted })
	for _, n := range e.claims[epoch] {
		noticed, lost := a.sheet.lost[n.Node]
		p := a.fleet.process(n.process)
		p.mu.Lock()
		if p.ended != "" {
			later(p.at)
		}
		for _, s := range p.still {
			if s.to.IsZero() || s.to.After(n.At) {
				later(s.from)
			}
		}
		p.mu.Unlock()
		// The server was away, or the machine too busy for the node to renew its lease in time.
		for _, s := range append(a.server.outages(), a.sheet.late[n.Node]...) {
			if (lost || dropped) && s.to.After(n.At) {
				later(s.from)
			}
		}
		if lost && !ok { // it never renewed its lease again
			if noticed.After(at) { // other nodes noticed it before the node itself
				noticed = at
			}
			later(noticed)
		}
	}
	return harmed, ok
}

// takenOver measures how long the run waited for other nodes after harm to one of its nodes.
func (a *findings) takenOver(e *evidence) (wrong []string) {
	epoch := uint64(0)
	for _, c := range e.changes {
		switch fsm.Event(c.Trigger) {
		case fsm.EventTurnStarted:
			epoch++
		case fsm.EventRestartRequeue, fsm.EventRestartReconcileFailed:
			harmed, ok := a.moment(e, epoch, c.at)
			if !ok {
				wrong = append(wrong, fmt.Sprintf("it was taken over by %s under epoch %d, but no node of it had "+
					"come to harm", c.Trigger, epoch))
				continue
			}
			took := c.at.Sub(harmed)
			for _, s := range a.server.outages() {
				took -= overlap(span{harmed, c.at}, s)
			}
			a.mu.Lock()
			a.longest = max(a.longest, took)
			a.takeovers++
			a.mu.Unlock()
			if limit := 2*a.o.lease + takeoverSlack; took > limit {
				wrong = append(wrong, fmt.Sprintf("it was taken over %s after its node came to harm, which is more "+
					"than %s", took.Round(time.Millisecond), limit))
			}
		}
	}
	return wrong
}

// overlap returns the length of the intersection of two spans.
func overlap(a, b span) time.Duration {
	from, to := a.from, a.to
	if b.from.After(from) {
		from = b.from
	}
	if !b.to.IsZero() && b.to.Before(to) {
		to = b.to
	}
	return max(0, to.Sub(from))
}

// execution is a turn that an agent executed and whose outcome was stored. It held a slot from its
// beginning to its end.
type execution struct {
	pool     string
	process  int
	from, to time.Time
}

// slots reports the capacity monitor's findings. It also counts, from the agents' records, how many
// turns of a pool executed concurrently.
func (a *findings) slots() {
	a.found(checkSlots, "", nil, a.capacity.wrong...)
	type edge struct {
		at   time.Time
		step int
	}
	pools := make(map[string][]edge)
	for _, x := range a.executions {
		pools[x.pool] = append(pools[x.pool], edge{x.from, 1}, edge{x.to, -1})
	}
	for pool, edges := range pools {
		slices.SortFunc(edges, func(x, y edge) int {
			if by := x.at.Compare(y.at); by != 0 {
				return by
			}
			return x.step - y.step
		})
		now, most := 0, 0
		for _, e := range edges {
			now += e.step
			most = max(most, now)
		}
		if limit := a.capacity.most[pool]; most > limit {
			a.found(checkSlots, "", nil, fmt.Sprintf("pool %s: agents executed %d turns at one time, its capacity "+
				"was never more than %d", pool, most, limit))
		}
	}
	if a.capacity.samples.Load() == 0 {
		a.found(checkSlots, "", nil, "nobody ever looked at the slots")
	}
}

// stale checks that the writes were refused which nodes tried again after they had lost their
// lease.
func (a *findings) stale() {
	a.refused, a.fenced = 0, len(a.sheet.lost)
	for _, n := range a.sheet.other {
		switch n.What {
		case noteRefused:
			a.refused++
		case noteAccepted:
			a.found(checkStale, n.Run, nil, fmt.Sprintf("node %s had lost its lease, and its old write (%s, epoch "+
				"%d) was accepted", n.Node, n.Outcome, n.Epoch))
		case noteOdd:
			a.found(checkStale, n.Run, nil, fmt.Sprintf("node %s had lost its lease, and its old write (%s, epoch "+
				"%d) was refused, but not for that: %s", n.Node, n.Outcome, n.Epoch, n.Text))
		}
	}
	// no other node expires the lease of the only one
	if frozen := a.chaos.counts()[freezing]; frozen > 0 && a.o.nodes > 1 && a.refused == 0 {
		a.found(checkStale, "", nil, fmt.Sprintf("nodes were stopped for longer than their lease %d times, and none "+
			"tried an old write: nothing was proven", frozen))
	}
}

// nodes reports the processes that did not end as requested, and their leftovers.
func (a *findings) nodes(ctx context.Context) error {
	a.fleet.mu.Lock()
	faults := slices.Clone(a.fleet.faults)
	a.fleet.mu.Unlock()
	a.chaos.mu.Lock()
	faults = append(faults, a.chaos.faults...)
	a.chaos.mu.Unlock()
	a.found(checkNodes, "", nil, faults...)
	if a.stuck != nil {
		a.found(checkNodes, "", nil, a.stuck.Error())
	}
	nodes, err := a.store.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		a.found(checkNodes, "", nil, fmt.Sprintf("node %s ended and did not give its lease back", n.ID))
	}
	pools, err := a.store.Pools(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if p.Held > 0 {
			a.found(checkSlots, "", nil, fmt.Sprintf("pool %s: %d slots are held after the end", p.Name, p.Held))
		}
	}
	return nil
}
