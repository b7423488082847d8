package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// places is the number of nodes at any time.
const places = 3

// conductor runs the drill, and records the acknowledgements to people.
type conductor struct {
	options

	store  store.Store
	client *lifecycle.Client
	fleet  *fleet
	plans  map[string]plan

	submitted, replaced atomic.Int64 // runs, nodes
	// the survey has shown runs that wait for an engine that no node has, and since when
	unserved atomic.Bool

	mu        sync.Mutex
	accepted  map[string]map[int]string // guarded by mu; acknowledged replies, by run and question
	withdrawn map[string]bool           // guarded by mu; the runs whose cancel was acknowledged
	resumed   map[string]int            // guarded by mu; the number of acknowledged decisions about each held run
	// guarded by mu; the deploy is over, and people answer the questions of parked runs
	released bool
}

// drill replaces three nodes of the first version by nodes of the second.
func drill(ctx context.Context, o options, p programs, database, dir string) (_ *verdict, err error) {
	c := &conductor{options: o, plans: make(map[string]plan), accepted: make(map[string]map[int]string),
		withdrawn: make(map[string]bool), resumed: make(map[string]int)}
	c.fleet = &fleet{programs: p, dir: dir, config: hostConfig{Database: database, Lease: o.lease,
		Without: o.without, Refuses: 2 * time.Second}}
	defer c.fleet.abandon()
	for n := range o.runs {
		p := planFor(&o, n)
		c.plans[p.spec.ID] = p
	}
	for range places { // the first one creates the database
		n, err := c.fleet.start(1)
		if err != nil {
			return nil, err
		}
		c.fleet.nodes = append(c.fleet.nodes, n)
	}
	quick := cast.StoreOptions{SQLite: sqlite.Options{WatchInterval: 20 * time.Millisecond}}
	if c.store, err = quick.Open(ctx, database); err != nil {
		return nil, err
	}
	defer func() { _ = c.store.Close() }() // an error no longer matters: the judge has read everything
	if c.client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: c.store,
		Poll: 100 * time.Millisecond}); err != nil {
		return nil, err
	}
	defer c.client.Close()

	people, leave := context.WithCancel(ctx)
	var working errgroup.Group
	working.Go(func() error { return c.reply(people) })
	working.Go(func() error { return c.operate(people) })
	err = c.deploy(ctx)
	leave()
	if err = errors.Join(err, working.Wait()); err != nil {
		return nil, err
	}
	for _, n := range c.fleet.nodes {
		if err := c.fleet.stop(n); err != nil {
			return nil, err
		}
	}
	return c.judge(ctx)
}

// deploy submits the runs, replaces the nodes while the runs are executed, and waits until all runs
// have ended.
func (c *conductor) deploy(ctx context.Context) error {
	work, within := errgroup.WithContext(ctx)
	work.Go(func() error { return c.submit(within) })
	work.Go(func() error { return c.replaceAll(within) })
	if err := work.Wait(); err != nil {
		return err
	}
	if err := c.drain(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	c.released = true
	c.mu.Unlock()
	return c.drain(ctx)
}

// submit submits the runs. It pauses while too many runs are ready, and while the next node has not
// been replaced.
func (c *conductor) submit(ctx context.Context) error {
	for n := range c.runs {
		for n >= c.share(int(c.replaced.Load())) {
			if err := rest(ctx, 5*time.Millisecond); err != nil {
				return err
			}
		}
		p := c.plans[fmt.Sprintf("run-%05d", n)]
		if _, err := c.client.Submit(ctx, p.spec); err != nil {
			return err
		}
		c.submitted.Add(1)
		if p.kind == canceled {
			if err := c.cancel(ctx, p.spec.ID); err != nil {
				return err
			}
		}
		for {
			s, err := c.client.Stats(ctx)
			if err != nil {
				return err
			}
			c.unserved.CompareAndSwap(false, slices.ContainsFunc(s.Engines, func(e lifecycle.EngineSurvey) bool {
				return e.Engine == "reviewer" && e.Nodes == 0 && !e.OldestReady.IsZero()
			}))
			if s.Ready < 60+c.runs/10 { // a tenth of the runs needs an engine that no node may have yet
				break
			}
			if err := rest(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		if err := rest(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (c *conductor) cancel(ctx context.Context, id string) error {
	err := c.client.Cancel(ctx, id, "changed my mind")
	if errors.Is(err, lifecycle.ErrTerminal) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withdrawn[id] = err == nil
	return err
}

// replaceAll replaces the nodes in turn while their agents work. It ends the first and the third
// with SIGTERM, and the second with SIGKILL. In between it kills the number of nodes in the
// options.
func (c *conductor) replaceAll(ctx context.Context) error {
	kills := c.kills
	for turn := range places {
		place, err := c.busiest(ctx, c.share(turn), func(n *node) bool { return n.version == 1 })
		if err != nil {
			return err
		}
		end := c.fleet.stop
		if turn == 1 && !c.orderly || c.without == "repeat" || c.without == "ask" {
			end = c.fleet.kill
		}
		if err := c.fleet.replace(place, 2, end); err != nil {
			return err
		}
		for range kills / (places - turn) {
			kills--
			victim, err := c.busiest(ctx, 0, func(*node) bool { return true })
			if err != nil {
				return err
			}
			if err := c.fleet.replace(victim, c.fleet.nodes[victim].version, c.fleet.kill); err != nil {
				return err
			}
		}
		c.replaced.Add(1)
	}
	return nil
}

// share returns how many runs must have been submitted before the next node is replaced; replaced
// is the number of nodes that have been replaced so far.
func (c *conductor) share(replaced int) int { return (replaced + 1) * c.runs / (places + 1) }

// busiest waits until the given number of runs was submitted and agents work on a node. It returns
// the place of the node with the most working agents. If there is no work left, it returns any
// node.
func (c *conductor) busiest(ctx context.Context, submitted int, of func(*node) bool) (place int, err error) {
	idle := time.Now()
	for {
		place, most := -1, int64(0)
		for i, n := range c.fleet.nodes {
			if working := n.working.Load(); of(n) && (place < 0 || working > most) {
				place, most = i, working
			}
		}
		have := int(c.submitted.Load())
		if most > 0 || have < submitted {
			idle = time.Now()
		}
		if have >= submitted && (most > 1 || time.Since(idle) > 2*time.Second) {
			return place, nil
		}
		if err := rest(ctx, 2*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// patience is how long nothing may change before the drill counts as stuck.
const patience = 2 * time.Minute // longer than a minute, after which a held run is tried again automatically

// drain waits until only parked runs are left, which wait until the deploy is over.
func (c *conductor) drain(ctx context.Context) error {
	var before lifecycle.Stats
	moved := time.Now()
	for {
		s, err := c.client.Stats(ctx)
		if err != nil {
			return err
		}
		left, err := c.openQuestions(ctx)
		if err != nil {
			return err
		}
		if s.Queued+s.Running+left == 0 {
			return nil
		}
		if s.Queued != before.Queued || s.Running != before.Running || s.Waiting != before.Waiting {
			before, moved = s, time.Now()
		}
		if time.Since(moved) > patience {
			return fmt.Errorf("nothing has moved for %s: %d queued, %d running, %d waiting: %s", patience, s.Queued,
				s.Running, s.Waiting, c.fleet.nodes[0].Output())
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// openQuestions counts the open questions that people will answer.
func (c *conductor) openQuestions(ctx context.Context) (n int, err error) {
	for open, err := range cast.Questions(ctx, c.client) {
		if err != nil {
			return 0, err
		}
		c.mu.Lock()
		if c.plans[open.RunID].kind != parked || c.released {
			n++
		}
		c.mu.Unlock()
	}
	return n, nil
}

// reply answers open questions until the context ends, as people would.
func (c *conductor) reply(ctx context.Context) error {
	for ctx.Err() == nil {
		for open, err := range cast.Questions(ctx, c.client) {
			if err == nil {
				err = c.answer(ctx, &open)
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
		cast.Pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// answer answers a question if the run's plan says so, and records the acknowledged answer.
func (c *conductor) answer(ctx context.Context, open *lifecycle.InboxQuestion) error {
	c.mu.Lock()
	stays := c.plans[open.RunID].kind == parked && !c.released || c.plans[open.RunID].kind == silent
	c.mu.Unlock()
	if stays {
		return nil
	}
	id := open.Question.ID
	text := fmt.Sprintf("answer %d of %s", id, open.RunID)
	_, err := c.client.Reply(ctx, open.RunID, lifecycle.Reply{ID: id, Text: text, Key: fmt.Sprint(id),
		Actor: lifecycle.Actor{ID: "ada"}})
	if errors.Is(err, lifecycle.ErrSettled) || errors.Is(err, lifecycle.ErrNotWaiting) {
		return nil // the run was canceled
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.accepted[open.RunID] == nil {
		c.accepted[open.RunID] = make(map[int]string)
	}
	c.accepted[open.RunID][id] = text
	return nil
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	cast.Pause(ctx, d)
	return ctx.Err()
}
