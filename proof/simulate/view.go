package simulate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// view is the store and the clock of one process: of a host, or of a person's client.
type view struct {
	world *world
	name  string // the name of the host or the person
	skew  time.Duration
	only  string // the run whose hints are delivered here; empty for all
	// writes is the only run that may be written from here; empty for any.
	writes  string
	rules   int  // the version of the host's policy; 0: it has none
	recalls bool // the host remembers decisions

	timers      []*timer            // guarded by world.mu, and read freely while the world is quiescent
	watchers    []*func(store.Hint) // guarded by world.mu
	handingOver sync.Mutex          // held while hints are passed on
	hints       []store.Hint        // the hints on their way
	dead        bool                // guarded by world.mu
	paused      time.Time           // until then, nothing in the process continues
	cut         time.Time           // until then, the store cannot be reached
	hangs       bool                // calls wait while the process is cut off; otherwise they fail
	joins       int
	touched     int // the last step at which something reached the process
}

var (
	_ store.Store   = (*view)(nil)
	_ store.Watcher = (*view)(nil)
)

// Commit implements store.Writer.
func (v *view) Commit(ctx context.Context, batch []store.Commit) []error {
	w := v.world
	var out []error
	w.mu.Lock()
	named := w.names.named(batch)
	w.mu.Unlock()
	r := &request{kind: "Commit", what: describe(named), store: true, commits: named, apply: func() {
		out = w.commit(v, named)
	}}
	if err := v.ask(ctx, r); err != nil {
		out = make([]error, len(batch))
		for i := range out {
			out[i] = err
		}
	}
	return out
}

// describe names the commits of a batch.
func describe(batch []store.Commit) string {
	var all [128]byte
	text := all[:0]
	for i := range batch {
		c := &batch[i]
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(append(text, c.Run.ID...), " v"...)
		text = append(append(strconv.AppendUint(text, c.Run.Version, 10), ' '), c.Run.State...)
		if c.Fence != nil {
			text = append(append(append(text, " as "...), c.Fence.Node...), '/')
			text = strconv.AppendUint(text, c.Fence.Epoch, 10)
		}
	}
	return string(text)
}

// Claim implements store.Writer.
func (v *view) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	w := v.world
	w.mu.Lock()
	req.Node = w.names.name(req.Node)
	w.mu.Unlock()
	what := fmt.Sprintf("%s up to %d hinted %t", req.Node, req.Max, req.Hinted)
	return do(ctx, v, "Claim", what, func() ([]store.Claimed, error) { return w.claim(req) })
}

// Prune implements store.Writer.
func (v *view) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return do(ctx, v, "Prune", "", func() (int, error) { return v.world.store.Prune(ctx, before, limit) })
}

// Run implements store.Reader.
func (v *view) Run(ctx context.Context, id string) (store.Run, error) {
	w := v.world
	return do(ctx, v, "Run", id, func() (store.Run, error) { return w.run(v, id) })
}

// Spec implements store.Reader.
func (v *view) Spec(ctx context.Context, id string) ([]byte, error) {
	return do(ctx, v, "Spec", id, func() ([]byte, error) { return v.world.store.Spec(v.world.ctx, id) })
}

// Runs implements store.Reader.
func (v *view) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	return page(ctx, v, "Runs", q, v.world.store.Runs)
}

// Waiting implements store.Reader.
func (v *view) Waiting(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
	return page(ctx, v, "Waiting", q, func(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
		p, err := v.world.store.Waiting(ctx, q)
		if err == nil {
			v.world.witness.listed(&q, &p)
		}
		return p, err
	})
}

// page reads a page of a listing.
func page[Q any](ctx context.Context, v *view, kind string, q Q, read func(context.Context, Q) (store.Page,
	error)) (store.Page, error) {
	return do(ctx, v, kind, fmt.Sprint(q), func() (store.Page, error) {
		p, err := read(v.world.ctx, q)
		p.Runs = v.world.names.runs(p.Runs)
		return p, err
	})
}

// Events implements store.Reader.
func (v *view) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	return do(ctx, v, "Events", fmt.Sprintf("%s after %d", id, after), func() ([]store.Event, error) {
		return v.world.store.Events(v.world.ctx, id, after, limit)
	})
}

// history is the result of History.
type history struct {
	run     store.Run
	settled []interaction.Record
}

// History implements store.Reader.
func (v *view) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record,
	error) {
	w := v.world
	h, err := do(ctx, v, "History", fmt.Sprintf("%s %+v", id, q), func() (history, error) {
		r, settled, err := w.store.History(w.ctx, id, q)
		return history{w.names.run(r), settled}, err
	})
	return h.run, h.settled, err
}

// Voted implements store.Reader.
func (v *view) Voted(ctx context.Context, id, key string) (interaction.Record, error) {
	return do(ctx, v, "Voted", id+" "+key, func() (interaction.Record, error) {
		return v.world.store.Voted(v.world.ctx, id, key)
	})
}

// Usage implements store.Reader.
func (v *view) Usage(ctx context.Context, id string) ([]store.TurnUsage, error) {
	return do(ctx, v, "Usage", id, func() ([]store.TurnUsage, error) { return v.world.store.Usage(v.world.ctx, id) })
}

// Journal implements store.Reader.
func (v *view) Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error) {
	return do(ctx, v, "Journal", id, func() ([]interaction.JournalEntry, error) {
		return v.world.store.Journal(v.world.ctx, id)
	})
}

// Interaction implements store.Reader.
func (v *view) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	return do(ctx, v, "Interaction", fmt.Sprintf("%s %d", id, number), func() (interaction.Record, error) {
		return v.world.store.Interaction(v.world.ctx, id, number)
	})
}

// Settled implements store.Reader.
func (v *view) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	return do(ctx, v, "Settled", id+" "+key, func() (interaction.Record, error) {
		return v.world.store.Settled(v.world.ctx, id, key)
	})
}

// fallen is the result of Due.
type fallen struct {
	due  []store.Run
	next time.Time
}

// Due implements store.Reader.
func (v *view) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	w := v.world
	f, err := do(ctx, v, "Due", "", func() (fallen, error) {
		due, next, err := w.store.Due(w.ctx, now, limit)
		return fallen{w.names.runs(due), next}, err
	})
	return f.due, f.next, err
}

// Orphans implements store.Reader.
func (v *view) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	w := v.world
	return do(ctx, v, "Orphans", fmt.Sprintf("beyond %d", skip), func() ([]store.Run, error) {
		all, err := w.store.Orphans(w.ctx, skip, limit)
		return w.names.runs(all), err
	})
}

// Confirm implements store.Confirmer. The world's store loses nothing, but this call goes through
// the gate like any other.
func (v *view) Confirm(ctx context.Context, read func(store.Reader) error) error {
	if err := read(v); err != nil {
		return err
	}
	_, err := do(ctx, v, "Confirm", "", func() (struct{}, error) { return struct{}{}, nil })
	return err
}

// Survey implements store.Surveyor.
func (v *view) Survey(ctx context.Context, now time.Time) (store.Survey, error) {
	return do(ctx, v, "Survey", "", func() (store.Survey, error) { return v.world.store.Survey(v.world.ctx, now) })
}

// Identity implements store.Identified.
func (v *view) Identity(ctx context.Context) (string, error) {
	return do(ctx, v, "Identity", "", func() (string, error) { return v.world.store.Identity(v.world.ctx) })
}

// Join implements store.Registry. It removes the process's identity, so that an expired lease is
// the only sign by which other processes can find this one dead.
func (v *view) Join(ctx context.Context, n store.Node, now time.Time) error {
	_, err := do(ctx, v, "Join", "", func() (struct{}, error) { return struct{}{}, v.world.join(v, n, now) })
	return err
}

// Renew implements store.Registry.
func (v *view) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	w := v.world
	w.mu.Lock()
	name := w.names.name(id)
	w.mu.Unlock()
	return do(ctx, v, "Renew", name, func() ([]store.OwnedRun, error) { return w.store.Renew(w.ctx, name, now) })
}

// Expire implements store.Registry.
func (v *view) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	w := v.world
	named := make([]string, len(ids))
	w.mu.Lock()
	for i, id := range ids {
		named[i] = w.names.name(id)
	}
	w.mu.Unlock()
	return do(ctx, v, "Expire", strings.Join(named, " "), func() ([]store.Node, error) { return w.expire(now, named) })
}

// Nodes implements store.Registry.
func (v *view) Nodes(ctx context.Context) ([]store.Node, error) {
	w := v.world
	return do(ctx, v, "Nodes", "", func() ([]store.Node, error) {
		all, err := w.store.Nodes(w.ctx)
		for i := range all {
			all[i].ID = w.names.id(all[i].ID)
		}
		return all, err
	})
}

// Departures implements store.Registry.
func (v *view) Departures(ctx context.Context) ([]store.Departure, error) {
	w := v.world
	return do(ctx, v, "Departures", "", func() ([]store.Departure, error) {
		all, err := w.store.Departures(w.ctx)
		for i := range all {
			all[i].ID = w.names.id(all[i].ID)
		}
		return all, err
	})
}

// SetPool implements store.Registry.
func (v *view) SetPool(ctx context.Context, p slots.Pool) error {
	_, err := do(ctx, v, "SetPool", p.Name, func() (struct{}, error) {
		return struct{}{}, v.world.store.SetPool(v.world.ctx, p)
	})
	return err
}

// ChangePool implements store.Registry.
func (v *view) ChangePool(ctx context.Context, was, p slots.Pool) error {
	_, err := do(ctx, v, "ChangePool", p.Name, func() (struct{}, error) {
		return struct{}{}, v.world.store.ChangePool(v.world.ctx, was, p)
	})
	return err
}

// Pools implements store.Registry.
func (v *view) Pools(ctx context.Context) ([]store.PoolUse, error) {
	return do(ctx, v, "Pools", "", func() ([]store.PoolUse, error) { return v.world.store.Pools(v.world.ctx) })
}

// Close implements io.Closer; the store outlives the process.
func (v *view) Close() error { return nil }
