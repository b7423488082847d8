package crash

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// Host is a process of a case, or its simulation within this process. It serves, and has people who
// use it.
type Host struct {
	Scenario *Scenario
	// Case distinguishes the runs of one play of the scenario from other plays'.
	Case    string
	Store   *Store
	Journal *Journal
	Clock   lifecycle.Clock
	// Role is the host's part in the case.
	Role Role

	agents map[string]engine.Engine
	sticky *agent
	watch  *lifecycle.Client // observes the runs without points; not a part of the host
}

// Role is a host's part in a case.
type Role string

// The roles. The first host ends when every run is in its place, the second has the fault, and the
// last brings all runs to their ends.
const (
	First  Role = "first"
	Second Role = "second"
	Last   Role = "last"
)

// Lease is the host's lease, in the time of its clock. A busy machine does not lose so long a
// lease.
const Lease = 54 * time.Second

// Play serves until the work is done, the host is ended, or ctx ends.
func (h *Host) Play(ctx context.Context) error {
	quiet := slog.New(slog.DiscardHandler)
	h.furnish()
	watch, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: h.Store.Store, Clock: h.Clock, Logger: quiet})
	if err != nil {
		return err
	}
	defer watch.Close()
	h.watch = watch
	var lc *lifecycle.Lifecycle
	if err := h.insist(func() error {
		lc, err = lifecycle.New(lifecycle.Config{Store: h.Store.View(), Engines: h.agents, Clock: h.Clock,
			Logger: quiet, Lease: Lease, Grace: -1})
		return err
	}); err != nil {
		return err
	}
	defer lc.Close()

	serving, stop := context.WithCancel(ctx)
	defer stop()
	var all errgroup.Group
	all.Go(func() error { return h.insist(func() error { return lc.Serve(serving) }) })
	err = h.everybody(ctx, lc)
	if h.Role == First && err == nil {
		h.Store.Stop()
	}
	stop()
	return errors.Join(err, all.Wait())
}

// insist repeats a call whose answer was lost, as an operator does who starts a host again.
func (h *Host) insist(do func() error) error {
	return cast.Insist(context.Background(), 0, func(err error) bool { return !errors.Is(err, ErrLost) }, do)
}

func (h *Host) furnish() {
	turns := make(map[string]Turn)
	for _, p := range h.Scenario.Runs {
		turns[p.Name] = p.Turn
		if h.Role == Last && p.Later != nil {
			turns[p.Name] = p.Later
		}
	}
	h.agents = make(map[string]engine.Engine)
	for _, p := range append([]Plan{{}, {Sticky: true}}, h.Scenario.Runs...) {
		a := &agent{journal: h.Journal, store: h.Store, turns: turns, unready: p.Unready && h.Role == Second}
		a.Kind, a.Reason = fsm.ProfileResumable, "the scenario says so"
		if p.Sticky {
			a.Kind, h.sticky = fsm.ProfileStickyProcess, a
		}
		if h.agents[p.engine()] = a; p.Refused {
			h.agents[p.engine()] = checker{a, h.Role == Second}
		}
	}
}

// everybody runs the people and, if the scenario has one, the reader of the feed.
func (h *Host) everybody(ctx context.Context, lc *lifecycle.Lifecycle) error {
	if !h.Scenario.Feed {
		return h.people(ctx, lc)
	}
	if err := h.createFeed(ctx, lc); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var reader errgroup.Group
	reader.Go(func() error { return h.reads(reading, lc) })
	err := h.people(ctx, lc)
	if err == nil {
		err = h.readAll(ctx)
	}
	stop()
	return errors.Join(err, reader.Wait())
}

// people runs the people of all runs, concurrently.
func (h *Host) people(ctx context.Context, lc *lifecycle.Lifecycle) error {
	var all sync.WaitGroup
	errs := make([]error, len(h.Scenario.Runs))
	for i := range h.Scenario.Runs {
		all.Go(func() {
			p := person{Host: h, lc: lc, plan: &h.Scenario.Runs[i], id: h.Case + "." + h.Scenario.Runs[i].Name}
			errs[i] = p.follow(ctx)
		})
	}
	all.Wait()
	err := errors.Join(errs...)
	if err == nil && h.Role == Second && h.Scenario.Upkeep {
		err = h.until(ctx, h.Store.idled)
	}
	if err == nil && h.Role == Last {
		err = h.until(ctx, func() bool { return h.Store.alone(ctx) })
	}
	return err
}

// until waits until done returns true. It polls once a second.
func (h *Host) until(ctx context.Context, done func() bool) error {
	for !done() {
		tick, stop := h.Clock.Timer(time.Second)
		select {
		case <-tick:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil || h.Store.Gone() {
			return ErrGone
		}
	}
	return nil
}
