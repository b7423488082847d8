package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

// places is how many nodes there are at one time.
const places = 3

// conductor does the drill, and remembers what people were told.
type conductor struct {
	options

	store  store.Store
	client *lifecycle.Client
	fleet  *fleet
	plans  map[string]plan

	submitted, replaced atomic.Int64 // runs, nodes
	unserved            atomic.Bool  // it was seen that runs wait for an engine that no node has, and since when

	mu        sync.Mutex
	accepted  map[string]map[int]string // guarded by mu; the replies that were acknowledged, by run and question
	withdrawn map[string]bool           // guarded by mu; whose cancel was acknowledged
	resumed   map[string]int            // guarded by mu; how many decisions about a run were acknowledged
	released  bool                      // guarded by mu; parked runs are answered now
}

// drill replaces three nodes of the first version by those of the second.
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
	for range places { // the first of these makes the database
		n, err := c.fleet.start(1)
		if err != nil {
			return nil, err
		}
		c.fleet.nodes = append(c.fleet.nodes, n)
	}
	if c.store, err = openStore(ctx, database); err != nil {
		return nil, err
	}
	defer func() { _ = c.store.Close() }() // the judge has read everything
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

func openStore(ctx context.Context, database string) (store.Store, error) {
	if strings.Contains(database, "://") {
		return postgres.Open(ctx, database, postgres.Options{})
	}
	return sqlite.Open(ctx, database, sqlite.Options{WatchInterval: 20 * time.Millisecond})
}

// deploy submits the runs, replaces the nodes while these are executed, and waits for all ends.
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

// submit submits the runs, as fast as they are worked off and the nodes are replaced.
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
			if s.Ready < 60+c.runs/10 { // a tenth wants an engine that may be missing yet
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

// replaceAll replaces the nodes, each while its agents work, the first and the third by SIGTERM.
// Beside that it kills others.
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

// share is how many runs are submitted before so many nodes and one more are replaced.
func (c *conductor) share(replaced int) int { return (replaced + 1) * c.runs / (places + 1) }

// busiest waits until so many runs were submitted and agents work on one of the nodes, and returns
// the place of the one with the most. Where nothing is left to do, it returns any.
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

// patience is how long nothing may change before it counts as stuck.
const patience = 2 * time.Minute // a run that nobody resumes is tried again after one

// drain waits until nothing is left to do but parked runs, which wait for their release.
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
				s.Running, s.Waiting, c.fleet.nodes[0].words())
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// openQuestions counts those that are not to stay open.
func (c *conductor) openQuestions(ctx context.Context) (n int, err error) {
	err = c.inbox(ctx, func(run *lifecycle.Run) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.plans[run.ID].kind != parked || c.released {
			n++
		}
		return nil
	})
	return n, err
}

func (c *conductor) inbox(ctx context.Context, fn func(*lifecycle.Run) error) error {
	for q := (lifecycle.Query{Limit: 500}); ; {
		page, err := c.client.Inbox(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			if err := fn(&page.Runs[i]); err != nil {
				return err
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// reply has people answer what is asked, all the time.
func (c *conductor) reply(ctx context.Context) error {
	for {
		err := c.inbox(ctx, func(run *lifecycle.Run) error { return c.answer(ctx, run) })
		if err == nil {
			err = rest(ctx, 20*time.Millisecond)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answer answers a question that is to be answered, and remembers what was acknowledged.
func (c *conductor) answer(ctx context.Context, run *lifecycle.Run) error {
	c.mu.Lock()
	stays := c.plans[run.ID].kind == parked && !c.released || c.plans[run.ID].kind == silent
	c.mu.Unlock()
	if stays {
		return nil
	}
	id := run.Pending.ID
	text := fmt.Sprintf("answer %d of %s", id, run.ID)
	_, err := c.client.Reply(ctx, run.ID, lifecycle.Reply{ID: id, Text: text, Key: fmt.Sprint(id), Actor: "ada"})
	if errors.Is(err, lifecycle.ErrSettled) || errors.Is(err, lifecycle.ErrNotWaiting) {
		return nil // canceled
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.accepted[run.ID] == nil {
		c.accepted[run.ID] = make(map[int]string)
	}
	c.accepted[run.ID][id] = text
	return nil
}

// rest waits for d, unless ctx ends before.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
