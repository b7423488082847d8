package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// harm is one disturbance.
type harm string

const (
	killing  harm = "kill"    // kill -9 of a node, and a new one later
	stalling harm = "stall"   // a node is stopped for less than its lease
	freezing harm = "freeze"  // … for longer: the others take over, and then it comes back
	stopping harm = "stop"    // a node is asked to end, and started again
	cutting  harm = "cut"     // a node's connections are ended
	halting  harm = "restart" // the server is shut down and started again
	crashing harm = "crash"   // the server is killed with -9 and started again

	// What befalls a primary, in whose place a standby is promoted.
	lagging   harm = "primary lost after its standbys" // these do not have what it did last
	hanging   harm = "primary hung"                    // nothing passes to it or from it
	severing  harm = "primary cut off"                 // its connections break
	muting    harm = "primary mute"                    // it is told everything, and its answers are lost
	returning harm = "old primary came back"           // it was cut off, and comes back beside the new one
	losing    harm = "primary lost"                    // kill -9
)

// failovers are the harms after which a standby is promoted.
var failovers = []harm{lagging, hanging, returning, losing, severing, muting}

// disturbance is a harm, and for how long it lasts.
type disturbance struct {
	harm harm
	long time.Duration
	gap  time.Duration // before it
	pick int           // of the nodes that are well
}

// chaos disturbs the nodes and the server while the load goes on.
type chaos struct {
	server *server
	fleet  *fleet
	lease  time.Duration
	todo   []disturbance
	begun  atomic.Int64
	last   atomic.Pointer[time.Time] // when the last one began
	work   sync.WaitGroup

	mu     sync.Mutex
	done   map[harm]int // guarded by mu
	faults []string     // guarded by mu
}

// newChaos plans so many harms of nodes and of the server, in an order that follows from the seed.
func newChaos(o options, s *server, f *fleet) *chaos {
	c := &chaos{server: s, fleet: f, lease: o.lease, done: make(map[harm]int)}
	if !o.chaos {
		return c
	}
	r := rand.New(rand.NewPCG(o.seed, 1))
	for i := range o.kills {
		c.todo = append(c.todo, c.draw(r, i))
	}
	if s.own == nil {
		o.restarts = 0
	}
	for i := range o.restarts { // spread over the others; a kill -9 first
		d := disturbance{harm: crashing, long: time.Duration(r.Int64N(int64(o.lease))), gap: o.lease / 2}
		if i%2 == 1 {
			d.harm = halting
		}
		if i%3 == 2 { // longer than all leases
			d.long += o.lease
		}
		at := (2*i + 1) * len(c.todo) / (2 * o.restarts)
		c.todo = slices.Insert(c.todo, at, d)
	}
	for i := range o.failovers { // of each kind in turn, spread over the others
		d := disturbance{harm: failovers[i%len(failovers)], long: time.Duration(r.Int64N(int64(o.lease))),
			gap: o.lease / 2}
		c.todo = slices.Insert(c.todo, (2*i+1)*len(c.todo)/(2*o.failovers), d)
	}
	return c
}

// draw draws a harm of a node. The first ones are of each kind, so that a short chaos has them all.
func (c *chaos) draw(r *rand.Rand, i int) disturbance {
	if !canPause {
		return disturbance{harm: killing, long: time.Duration(r.Int64N(int64(c.lease))), gap: c.gap(r),
			pick: r.IntN(1 << 30)}
	}
	kinds := []harm{killing, freezing, stalling, cutting, killing, stopping, killing, freezing, killing, freezing}
	d := disturbance{gap: c.gap(r), pick: r.IntN(1 << 30)}
	d.harm = kinds[r.IntN(len(kinds))]
	if i < 6 {
		d.harm = kinds[i]
	}
	part := func(from, to float64) time.Duration {
		return time.Duration((from + r.Float64()*(to-from)) * float64(c.lease))
	}
	switch d.harm {
	case killing, stopping:
		d.long = part(0, 1)
	case stalling:
		d.long = part(0.05, 0.9)
	case freezing:
		d.long = part(1.4, 2.2)
	}
	return d
}

func (c *chaos) gap(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(c.lease / 3))) }

// share is how much of the load may be on its way: as much as has been disturbed, so that neither
// comes to its end before the other. Between two disturbances it grows as time passes.
func (c *chaos) share() float64 {
	part := 1.0
	if last := c.last.Load(); last != nil {
		part = min(1, float64(time.Since(*last))/float64(c.lease/3))
	}
	return (float64(c.begun.Load()) + part) / float64(len(c.todo)+1)
}

// run does everything that was planned. Progress is the part of the load that was submitted.
func (c *chaos) run(ctx context.Context, progress func() float64) {
	defer c.work.Wait()
	if len(c.todo) > 0 {
		now := time.Now()
		c.last.Store(&now)
	}
	for i, d := range c.todo {
		rest(ctx, d.gap)
		for ctx.Err() == nil && progress() < 0.9*float64(i)/float64(len(c.todo)+1) {
			rest(ctx, 10*time.Millisecond)
		}
		if ctx.Err() != nil {
			return
		}
		c.do(ctx, d)
		now := time.Now()
		c.last.Store(&now)
		c.begun.Add(1)
	}
}

// insist freezes a node until one has lost its lease and has tried its old writes again: a short
// chaos may have had no luck with that.
func (c *chaos) insist(ctx context.Context) error {
	if !canPause || len(c.todo) == 0 || len(c.fleet.members) < 2 {
		return nil
	}
	for range 5 {
		notes, err := c.fleet.notes()
		if err != nil {
			return err
		}
		wrote := make(map[int]int) // by process
		for _, n := range notes {
			if n.What == noteRefused && n.Run != "" {
				return nil
			}
			if n.What == noteEnd {
				wrote[n.process]++
			}
		}
		m := slices.MaxFunc(c.fleet.members, func(x, y *member) int {
			return wrote[x.current().number] - wrote[y.current().number]
		})
		c.disturb(ctx, m, disturbance{harm: freezing, long: 2 * c.lease})
		c.work.Wait()
		rest(ctx, c.lease)
	}
	return nil
}

// do begins a disturbance. Those of nodes go on beside each other, as long as one node is well; the
// server's is waited for.
func (c *chaos) do(ctx context.Context, d disturbance) {
	if slices.Contains(failovers, d.harm) {
		c.record(d.harm, c.server.during(func() error { return c.server.replicas.failover(ctx, d.harm, d.long) }))
		return
	}
	if d.harm == halting || d.harm == crashing {
		c.record(d.harm, c.server.bounce(ctx, d.harm == crashing, d.long))
		return
	}
	if m := c.well(ctx, d.pick); m != nil {
		c.disturb(ctx, m, d)
	}
}

// disturb starts a disturbance of a node.
func (c *chaos) disturb(ctx context.Context, m *member, d disturbance) {
	c.work.Go(func() {
		c.record(d.harm, c.harm(ctx, m, d))
		rest(ctx, c.lease/10)
		m.mu.Lock()
		m.busy = false
		m.mu.Unlock()
	})
}

func (c *chaos) harm(ctx context.Context, m *member, d disturbance) error {
	switch d.harm {
	case killing:
		return c.fleet.kill(m, d.long)
	case stopping:
		return c.fleet.stop(m, d.long)
	case stalling, freezing:
		return c.fleet.pause(ctx, m, func(ctx context.Context) { rest(ctx, d.long) })
	case cutting:
		for ctx.Err() == nil { // the server may be away
			if c.server.cut(ctx, m.name) == nil {
				break
			}
			rest(ctx, 100*time.Millisecond)
		}
	}
	return nil
}

// well waits for a node that nobody disturbs while another one is well too, and takes it.
func (c *chaos) well(ctx context.Context, pick int) *member {
	for ctx.Err() == nil {
		var free []*member
		for _, m := range c.fleet.members {
			m.mu.Lock()
			if !m.busy {
				free = append(free, m)
			}
			m.mu.Unlock()
		}
		if len(free) > 1 || len(c.fleet.members) == 1 && len(free) == 1 {
			m := free[pick%len(free)]
			m.mu.Lock()
			m.busy = true
			m.mu.Unlock()
			return m
		}
		rest(ctx, 5*time.Millisecond)
	}
	return nil
}

func (c *chaos) record(h harm, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[h]++
	if err != nil {
		c.faults = append(c.faults, fmt.Sprintf("%s: %v", h, err))
	}
}

// counts are how often each harm was done.
func (c *chaos) counts() map[harm]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[harm]int, len(c.done))
	for h, n := range c.done {
		all[h] = n
	}
	return all
}
