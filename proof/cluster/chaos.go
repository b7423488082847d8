package main

import (
	"context"
	"fmt"
	"github.com/interlude-go/interlude/proof/cast"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// harm is a kind of disturbance.
type harm string

const (
	killing  harm = "kill"   // a node is killed with -9, and started again later
	stalling harm = "stall"  // a node is stopped for less than its lease
	freezing harm = "freeze" // a node is stopped for longer than that: others take over, then it
	// continues
	stopping harm = "stop"    // a node is asked to end, and started again
	cutting  harm = "cut"     // the connections of a node are closed
	halting  harm = "restart" // the server is shut down and started again
	crashing harm = "crash"   // the server is killed with -9 and started again

	// These harms are done to a primary, which a standby then replaces.
	lagging   harm = "primary lost after its standbys" // its standbys lack its last commits
	hanging   harm = "primary hung"                    // nothing reaches it or comes from it
	severing  harm = "primary cut off"                 // its connections are closed
	muting    harm = "primary mute"                    // it gets all requests, and its answers are lost
	returning harm = "old primary came back"           // it was cut off, and returns next to the new
	// primary
	losing harm = "primary lost" // kill -9
	// it stays the clients' choice, and its commits wait for the standbys that have left it
	surviving harm = "primary lives on"
)

// failovers are the harms after which a standby is promoted.
var failovers = []harm{lagging, hanging, returning, surviving, losing, severing, muting}

// disturbance is a harm with its duration.
type disturbance struct {
	harm harm
	long time.Duration
	gap  time.Duration // the pause before it
	pick int           // selects a healthy node
}

// chaos disturbs the nodes and the server during the load.
type chaos struct {
	server *server
	fleet  *fleet
	lease  time.Duration
	todo   []disturbance
	begun  atomic.Int64
	last   atomic.Pointer[time.Time] // when the last disturbance began
	work   sync.WaitGroup

	mu     sync.Mutex
	done   map[harm]int // guarded by mu
	begins harm         // guarded by mu; the last that was begun
	faults []string     // guarded by mu
}

// newChaos plans the harms of the nodes and of the server. Their order depends on the seed.
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
	for i := range o.restarts { // spread over the other disturbances; a kill -9 first
		d := disturbance{harm: crashing, long: time.Duration(r.Int64N(int64(o.lease))), gap: o.lease / 2}
		if i%2 == 1 {
			d.harm = halting
		}
		if i%3 == 2 { // longer than any lease
			d.long += o.lease
		}
		at := (2*i + 1) * len(c.todo) / (2 * o.restarts)
		c.todo = slices.Insert(c.todo, at, d)
	}
	for i := range o.failovers { // each kind in turn, spread over the other disturbances
		d := disturbance{harm: failovers[i%len(failovers)], long: time.Duration(r.Int64N(int64(o.lease))),
			gap: o.lease / 2}
		c.todo = slices.Insert(c.todo, (2*i+1)*len(c.todo)/(2*o.failovers), d)
	}
	return c
}

// draw draws a harm of a node. The first draws return each kind once, so that a short chaos has
// them all.
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

// share is the part of the load that may be submitted so far. It follows the part of the
// disturbances that are over, so that load and chaos end at about the same time, and grows with
// time between two disturbances.
func (c *chaos) share() float64 {
	part := 1.0
	if last := c.last.Load(); last != nil {
		part = min(1, float64(time.Since(*last))/float64(c.lease/3))
	}
	return (float64(c.begun.Load()) + part) / float64(len(c.todo)+1)
}

// run does everything that was planned. Progress returns the part of the load that was submitted.
// The error says that the server could not be brought back: without it, nothing else could end.
func (c *chaos) run(ctx context.Context, progress func() float64) error {
	defer c.work.Wait()
	if len(c.todo) > 0 {
		now := time.Now()
		c.last.Store(&now)
	}
	for i, d := range c.todo {
		cast.Pause(ctx, d.gap)
		for ctx.Err() == nil && progress() < 0.9*float64(i)/float64(len(c.todo)+1) {
			cast.Pause(ctx, 10*time.Millisecond)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.do(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.harm, err)
		}
		now := time.Now()
		c.last.Store(&now)
		c.begun.Add(1)
	}
	return nil
}

// insist freezes nodes until one has lost its lease and has tried its old writes again, since that
// may not have happened in a short chaos.
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
		cast.Pause(ctx, c.lease)
	}
	return nil
}

// do starts a disturbance. Nodes can be disturbed concurrently, as long as one node is well; a
// disturbance of the server ends before do returns, and the error says that it did not end well.
func (c *chaos) do(ctx context.Context, d disturbance) (err error) {
	c.mu.Lock()
	c.begins = d.harm
	c.mu.Unlock()
	switch {
	case slices.Contains(failovers, d.harm):
		err = c.server.during(func() error { return c.server.replicas.failover(ctx, d.harm, d.long) })
	case d.harm == halting || d.harm == crashing:
		err = c.server.bounce(ctx, d.harm == crashing, d.long)
	default:
		if m := c.well(ctx, d.pick); m != nil {
			c.disturb(ctx, m, d)
		}
		return nil
	}
	c.record(d.harm, err)
	return err
}

// disturb starts a disturbance of a node.
func (c *chaos) disturb(ctx context.Context, m *member, d disturbance) {
	c.work.Go(func() {
		c.record(d.harm, c.harm(ctx, m, d))
		cast.Pause(ctx, c.lease/10)
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
		return c.fleet.pause(ctx, m, func(ctx context.Context) { cast.Pause(ctx, d.long) })
	case cutting:
		for ctx.Err() == nil { // the server may be away
			if c.server.cut(ctx, m.name) == nil {
				break
			}
			cast.Pause(ctx, 100*time.Millisecond)
		}
	}
	return nil
}

// well waits for a node that is not being disturbed, while another one is well too, and reserves
// it.
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
		cast.Pause(ctx, 5*time.Millisecond)
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

// current returns the harm that was begun last.
func (c *chaos) current() harm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begins
}

// counts returns how often each harm was done.
func (c *chaos) counts() map[harm]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[harm]int, len(c.done))
	for h, n := range c.done {
		all[h] = n
	}
	return all
}
