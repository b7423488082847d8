package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// Prefixes of the ids of runs that get no reply.
const (
	parkedPrefix = "parked-"
	duePrefix    = "due-"
)

// newIDs returns a function that makes ids not used by earlier loads on the same file.
func newIDs(prefix string) func(int) string {
	now := strconv.FormatInt(time.Now().UnixNano(), 36)
	return func(i int) string { return fmt.Sprintf("%s%s-%08d", prefix, now, i) }
}

// model is a waiting run made by the library, whose copies can be stored without executing a turn
// for each.
type model struct {
	created, asked store.Commit
	started        store.Event
	id             string
}

// parking is the pool of the copies, with a slot for each of them.
var parking = slots.Pool{Name: "parking", Capacity: slots.MaxCapacity}

// newModel executes a run until it waits for the policy's audience, and returns its commits. The
// run is not strict, so that a copy's deadline fires.
func newModel(ctx context.Context, ask *lifecycle.AskPolicy) (*model, error) {
	kept := memory.New()
	lc, err := lifecycle.New(lifecycle.Config{Store: kept, Engine: agent(&sync.Map{}), Pools: []slots.Pool{parking}})
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(serving) }()
	job := spec()
	job.ID, job.AutoDecide, job.SessionTimeout, job.Pool = "model-0000000000", true, time.Hour, parking.Name
	job.Ask = ask
	created, err := lc.Submit(ctx, job)
	if err == nil {
		for e, failed := range lc.Events(ctx, job.ID, 0) {
			if err = failed; err != nil || e.Type == "user.input.required" {
				break
			}
		}
	}
	asked, readErr := kept.Run(ctx, job.ID)
	body, specErr := kept.Spec(ctx, job.ID)
	events, eventsErr := kept.Events(ctx, job.ID, 0, 100)
	stop()
	if err := errors.Join(err, readErr, specErr, eventsErr, <-served); err != nil {
		return nil, err
	}
	asked.Version, asked.Epoch = 3, 1 // three commits: submitted, started, parked
	return &model{
		id:      job.ID,
		created: store.Commit{Run: created, Spec: body, Events: events[:1]},
		started: events[1],
		asked:   store.Commit{Run: asked, Expect: 2, Events: events[2:]},
	}, nil
}

func (m *model) copy(id, owner string, deadline time.Time) (created, asked store.Commit) {
	named := func(c store.Commit) store.Commit {
		c.Run = c.Run.Clone()
		c.Run.ID = id
		all := make([]store.Event, len(c.Events))
		for i, e := range c.Events {
			all[i] = store.Event{Seq: e.Seq, Body: bytes.ReplaceAll(e.Body, []byte(m.id), []byte(id))}
		}
		c.Events = all
		return c
	}
	created, asked = named(m.created), named(m.asked)
	asked.Run.Owner, asked.Run.Deadline = owner, deadline.UTC().Truncate(time.Microsecond)
	created.Run.NotBefore = asked.Run.Deadline
	asked.Run.NotBefore = asked.Run.Deadline
	return created, asked
}

func (m *model) startedEvent(id string) store.Event {
	return store.Event{Seq: m.started.Seq, Body: bytes.ReplaceAll(m.started.Body, []byte(m.id), []byte(id))}
}

// start returns the commit by which a claim starts a copy. It is the Start of store.ClaimRequest.
func (m *model) start(r store.Run, _ []byte) (store.Commit, error) {
	c := store.Commit{Run: r, Expect: r.Version, Events: []store.Event{m.startedEvent(r.ID)}}
	c.Run.Version, c.Run.State, c.Run.Attempt = r.Version+1, fsm.StateRunning, 1
	c.Run.Seq, c.Run.LocalSeq, c.Run.UpdatedAt = m.started.Seq, 1, m.asked.Run.UpdatedAt
	return c, nil
}

// park stores n parked copies of the model. Its node claims the copies to start them. No other node
// can: they are held back until their deadline, and only park claims with a later time.
func (m *model) park(ctx context.Context, s store.Store, n int, id func(int) string, owner string, deadline time.Time,
	b *bar) (err error) {
	if n == 0 {
		return nil
	}
	const batch = 250
	node := store.Node{ID: id(0), Identity: "parks", Lease: time.Hour}
	if err := errors.Join(s.SetPool(ctx, parking), s.Join(ctx, node, time.Now())); err != nil {
		return err
	}
	defer func() {
		_, gone := s.Expire(ctx, time.Now(), node.ID)
		err = errors.Join(err, gone)
	}()
	for from := 0; from < n; from += batch {
		var submitted, parked []store.Commit
		for i := from; i < min(from+batch, n); i++ {
			created, asked := m.copy(id(i), owner, deadline)
			submitted, parked = append(submitted, created), append(parked, asked)
		}
		if err := commit(ctx, s, submitted); err != nil {
			return err
		}
		claimed, err := s.Claim(ctx, store.ClaimRequest{Node: node.ID, Now: deadline, Max: len(submitted), Hinted: true,
			Start: m.start})
		if err == nil && len(claimed) != len(submitted) {
			err = fmt.Errorf("%d of %d runs were started", len(claimed), len(submitted))
		}
		if err != nil {
			return err
		}
		if err := commit(ctx, s, parked); err != nil {
			return err
		}
		b.at(from)
	}
	return nil
}

// finish stores n copies that have ended: canceled before their first turn.
func (m *model) finish(ctx context.Context, s store.Store, n int, id func(int) string, b *bar) error {
	const batch = 250
	for from := 0; from < n; from += batch {
		commits := make([]store.Commit, 0, 2*batch)
		for i := from; i < min(from+batch, n); i++ {
			created, over := m.copy(id(i), "", time.Time{})
			r := created.Run.Clone()
			r.Version, r.Seq, r.LocalSeq = 2, over.Run.Seq, over.Run.LocalSeq
			r.State, r.FinishedAt = fsm.StateCanceled, r.UpdatedAt
			over.Run, over.Expect = r, 1
			over.Events = append([]store.Event{m.startedEvent(r.ID)}, over.Events...)
			commits = append(commits, created, over)
		}
		if err := commit(ctx, s, commits); err != nil {
			return err
		}
		b.at(from)
	}
	return nil
}

// seed adds parked runs of a dead process, and runs that have ended.
func (p *place) seed(ctx context.Context, parked, finished int, pr *progress) error {
	if parked == 0 && finished == 0 {
		return nil
	}
	var ask *lifecycle.AskPolicy
	if p.o.inbox > 0 {
		ask = others
	}
	m, err := newModel(ctx, ask)
	if err != nil {
		return err
	}
	s, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, pool := range []slots.Pool{{Name: slots.DefaultPool, Capacity: slots.DefaultCapacity}, parking} {
		if err := s.SetPool(ctx, pool); err != nil {
			return err
		}
	}
	b := pr.start("runs that have ended", finished)
	err = m.finish(ctx, s, finished, newIDs("ended-"), b)
	b.end()
	if err != nil {
		return err
	}
	b = pr.start("parking runs", parked)
	defer b.end()
	return m.park(ctx, s, parked, newIDs(parkedPrefix), "dead-node", time.Now().Add(30*24*time.Hour), b)
}

// startHost starts the host on the seeded store. It measures the first run, and the recovery of all
// parked runs during round trips.
func (r *report) startHost(ctx context.Context, p *place, pr *progress) (*host, error) {
	debug.FreeOSMemory() // excludes the memory of parking from the host's
	begun := time.Now()
	h, err := newHost(ctx, p)
	if err != nil {
		return nil, err
	}
	err = h.trip(ctx, false)
	r.FirstRun = float64(time.Since(begun)) / 1e6
	if err == nil && p.o.parked > 0 {
		err = r.recovery(ctx, h, begun, pr)
		p.awaitWriteback()
	}
	if err == nil {
		err = r.warmUp(ctx, h)
	}
	if err != nil {
		return nil, errors.Join(err, h.leave())
	}
	return h, nil
}

// recovery makes round trips until every parked run is recovered, and counts the commits of the
// host's start without theirs.
func (r *report) recovery(ctx context.Context, h *host, begun time.Time, pr *progress) error {
	b := pr.start("recovery, with traffic", r.Parked)
	defer b.end()
	trips := 1 // the first run
	for recovered := false; !recovered; trips++ {
		if err := h.trip(ctx, false); err != nil {
			return err
		}
		page, err := h.Runs(ctx, lifecycle.Query{Limit: 100, States: []fsm.State{fsm.StateWaitingUser}})
		if err != nil {
			return err
		}
		recovered = true
		for _, run := range page.Runs {
			recovered = recovered && run.Recovery == store.RecoveredWaiting && len(run.Open) > 0
		}
	}
	r.Recovery = time.Since(begun).Seconds()
	r.DuringRunsPS = float64(trips) / r.Recovery
	all := h.store.Counters().Commits
	if err := h.trip(ctx, false); err != nil {
		return err
	}
	ofTrip := h.store.Counters().Commits - all
	r.RestartCommits = int(all) - trips*int(ofTrip)
	return nil
}

// warmUp makes some round trips before the measurement, and records the size of their rows.
func (r *report) warmUp(ctx context.Context, h *host) error {
	before := h.store.Counters()
	if err := load(ctx, h, r.Concurrency, r.Followed, upTo(max(200, 2*min(r.Concurrency, r.Runs)),
		func(int) {})); err != nil {
		return err
	}
	r.written = minus(h.store.Counters(), before)
	runtime.GC()
	return nil
}
