package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/postgres"
)

// cluster is the server, the nodes, the people and the checks. This program controls them.
type cluster struct {
	o        options
	dir      string
	server   *server
	store    *postgres.Store
	client   *lifecycle.Client
	fleet    *fleet
	chaos    *chaos
	ledger   *ledger
	people   *people
	load     *load
	capacity *capacity
	outside  *outside // nil without -outside

	took  time.Duration // the time from the first submission until nothing was left to do
	stuck error         // why something never ended
}

// newCluster starts the server, and no node yet.
func newCluster(ctx context.Context, o options) (*cluster, error) {
	dir, err := os.MkdirTemp("", "interlude-cluster-")
	if err != nil {
		return nil, err
	}
	c := &cluster{o: o, dir: dir, ledger: newLedger()}
	if c.server, err = newServer(ctx, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.leave(false))
	}
	return c, nil
}

func (c *cluster) open(ctx context.Context) (err error) {
	node := nodeConfig{DSN: c.server.dsn, Schema: c.server.schema, Lease: c.o.lease, Timeout: c.o.timeout,
		Listen: c.o.listen}
	if c.store, err = node.open(ctx, "interlude-cluster", 16); err != nil {
		return err
	}
	for _, p := range basic() {
		if err := c.store.SetPool(ctx, p); err != nil {
			return err
		}
	}
	if c.client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: c.store}); err != nil {
		return err
	}
	if r := c.server.replicas; r != nil {
		r.accepted = c.ledger.replies.Load
		r.works = func(ctx context.Context) error { // only this function uses the pool
			return c.store.SetPool(ctx, slots.Pool{Name: "failover", Capacity: 1})
		}
	}
	c.fleet = newFleet(c.dir, node, c.o.nodes)
	c.chaos = newChaos(c.o, c.server, c.fleet)
	c.people = newPeople(c.client, c.ledger)
	c.people.undoable = c.o.outside || c.server.replicas != nil
	c.load = &load{client: c.client, people: c.people, ledger: c.ledger, seed: c.o.seed, runs: c.o.runs,
		idle: !c.o.chaos && !c.o.outside, unfollowed: c.o.asynchronous, share: c.chaos.share}
	c.capacity = &capacity{server: c.server, pools: c.store, seed: c.o.seed, every: 5 * time.Millisecond}
	if c.o.outside {
		c.outside = newOutside(c.server, c.load, c.o.rate)
		c.load.share, c.capacity.every = c.outside.share, 200*time.Millisecond
	}
	return nil
}

// patience is how long nothing may change before the cluster counts as stuck.
const patience = 45 * time.Second

// run executes everything, from the first submission to the end of the nodes, and lets the caller
// spoil something before the checks.
func (c *cluster) run(ctx context.Context, progress io.Writer, spoil func(context.Context) error) (*findings, error) {
	watching, unwatch := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer unwatch()
	unhint := c.store.Watch(c.people.hint)
	defer unhint()
	begun := time.Now()
	beside.Go(func() { c.people.run(watching) })
	beside.Go(func() { c.capacity.watch(watching) })
	runs := c.o.runs // which disturbAndSettle changes
	beside.Go(func() { c.report(watching, progress, begun, runs) })

	if err := c.fleet.start(); err != nil {
		return nil, err
	}
	still := 2 * patience
	if c.outside != nil { // a failover and the return of its server
		still = 5 * time.Minute
	}
	if err := whileItMoves(ctx, still, c.activity, c.disturbAndSettle); err != nil {
		return nil, err
	}
	c.took = time.Since(begun)
	c.fleet.finish()
	if err := spoil(ctx); err != nil {
		return nil, err
	}
	unwatch()
	beside.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.check(ctx)
}

// disturbAndSettle submits all runs during the chaos, and waits until nothing is left to do.
func (c *cluster) disturbAndSettle(ctx context.Context) error {
	both, within := errgroup.WithContext(ctx)
	both.Go(func() error { return c.load.run(within) })
	both.Go(func() error {
		if c.outside != nil {
			return c.outside.run(within, os.Stdin)
		}
		return c.chaos.run(within, func() float64 { return float64(c.ledger.submitted.Load()) / float64(c.o.runs) })
	})
	if err := both.Wait(); err != nil {
		return err
	}
	c.o.runs = int(c.ledger.submitted.Load())
	if err := c.chaos.insist(ctx); err != nil {
		return err
	}
	c.stuck = c.settle(ctx)
	return ctx.Err()
}

// activity describes the progress so far. While there is progress, it changes.
func (c *cluster) activity() string {
	s, l := c.load.last(), c.ledger
	return fmt.Sprintf("%d submitted; %d queued, %d running, %d waiting; %d replies, %d refused; disturbances: %s; "+
		"last begun: %s", l.submitted.Load(), s.Queued, s.Running, s.Waiting, l.replies.Load(), l.refusals.Load(),
		counts(c.chaos.counts()), c.chaos.current())
}

// whileItMoves calls do, and ends its context if the activity stays the same for the patience. The
// error then has the activity, and all goroutines as they were.
func whileItMoves(ctx context.Context, patience time.Duration, activity func() string,
	do func(context.Context) error) error {
	within, stop := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer stop(nil)
	watch.Go(func() {
		for moved, before := time.Now(), ""; within.Err() == nil; cast.Pause(within, patience/90) {
			if now := activity(); now != before {
				moved, before = time.Now(), now
			}
			if time.Since(moved) > patience {
				var goroutines bytes.Buffer
				_ = pprof.Lookup("goroutine").WriteTo(&goroutines, 2) // a buffer takes everything
				stop(fmt.Errorf("nothing has changed for %s: %s\n%s", patience, before, &goroutines))
			}
		}
	})
	if err := do(within); err != nil {
		return cmp.Or(context.Cause(within), err)
	}
	return nil
}

// settle waits until only parked runs are left, answers half of them, and waits for their ends.
func (c *cluster) settle(ctx context.Context) error {
	var waiting []*dealing
	for _, d := range c.ledger.all() {
		if d.plan.kind == parked {
			waiting = append(waiting, d)
		}
	}
	patience := patience
	if c.outside != nil { // longer than a long turn
		patience *= 4
	}
	if c.o.asynchronous { // a run whose commit was lost may wait without end
		patience = 10 * time.Second
	}
	if err := c.load.drain(ctx, patience); err != nil {
		return err
	}
	var work sync.WaitGroup
	for _, d := range waiting {
		if d.plan.n%2 == 0 {
			continue
		}
		work.Go(func() {
			d.mu.Lock()
			d.released = true
			d.mu.Unlock()
			c.people.say(ctx, d, 1, "ada-1", "at last: go on, "+d.plan.id)
		})
	}
	work.Wait()
	return c.load.drain(ctx, patience)
}

// report prints the progress every second.
func (c *cluster) report(ctx context.Context, out io.Writer, begun time.Time, runs int) {
	for {
		cast.Pause(ctx, time.Second)
		if ctx.Err() != nil {
			return
		}
		_, _ = c.load.pollActive(ctx) // while the server is away, the old numbers stay
		s, submitted := c.load.last(), int(c.ledger.submitted.Load())
		fmt.Fprintf(out, "%5.0f s  %d of %d submitted, %d ended; %d queued, %d running, %d waiting; %d replies; %s\n",
			time.Since(begun).Seconds(), submitted, runs,
			max(0, submitted-s.Queued-s.Running-s.Waiting), s.Queued, s.Running, s.Waiting, c.ledger.replies.Load(),
			counts(c.chaos.counts()))
	}
}

// leave stops and removes everything it created. The nodes' records and logs are kept after a
// failure.
func (c *cluster) leave(wrong bool) error {
	var errs []error
	if c.fleet != nil {
		c.fleet.abandon()
	}
	if c.client != nil {
		c.client.Close()
	}
	if c.store != nil {
		errs = append(errs, c.store.Close())
	}
	errs = append(errs, c.server.leave())
	if !wrong && !c.o.keepSchema {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}
