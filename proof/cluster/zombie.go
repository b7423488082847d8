package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// zombie is a node's store, as seen by a node that does not know when it is over: once the store
// has said that the node is no more, it sends the writes of that node again, as they were and as
// they would have to be now. Each must be refused as stale.
type zombie struct {
	*postgres.Store
	journal   *journal
	lease     time.Duration
	elsewhere bool // the others shall not see that this process is on their machine

	mu      sync.Mutex
	renewed map[string]time.Time      // guarded by mu; by node, when the last renewal that succeeded was asked for
	written map[string][]store.Commit // guarded by mu; by node, the last fenced commits, the newest last
	lost    map[string]bool           // guarded by mu; nodes that are over
	walks   sync.WaitGroup
}

// remembered is how many commits of a node are kept to be sent again.
const remembered = 48

func newZombie(s *postgres.Store, j *journal, c nodeConfig) *zombie {
	return &zombie{Store: s, journal: j, lease: c.Lease, elsewhere: c.Elsewhere, renewed: make(map[string]time.Time),
		written: make(map[string][]store.Commit), lost: make(map[string]bool)}
}

// Join notes who the node is.
func (z *zombie) Join(ctx context.Context, n store.Node, now time.Time) error {
	if z.elsewhere {
		n.Identity = ""
	}
	z.journal.note(note{What: noteJoin, Node: n.ID})
	return z.Store.Join(ctx, n, now)
}

// Renew looks out for the end.
func (z *zombie) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	asked := time.Now()
	held, err := z.Store.Renew(ctx, id, now)
	z.watch(err, id)
	if err == nil {
		z.noteRenewal(id, asked)
	}
	return held, err
}

// noteRenewal records a renewal at or near the lease's end: the node had to end its turns.
func (z *zombie) noteRenewal(node string, asked time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if before := z.renewed[node]; !before.IsZero() && asked.Sub(before) > z.lease*9/10 {
		z.journal.note(note{What: noteLate, Node: node, Since: &before})
	}
	z.renewed[node] = asked
}

// Commit remembers fenced writes.
func (z *zombie) Commit(ctx context.Context, batch []store.Commit) []error {
	z.mu.Lock()
	for _, c := range batch {
		if c.Fence != nil {
			z.remember(c)
		}
	}
	z.mu.Unlock()
	errs := z.Store.Commit(ctx, batch)
	for i, err := range errs {
		if batch[i].Fence != nil && errors.Is(err, store.ErrStaleEpoch) {
			z.checkNode(batch[i].Fence.Node)
		}
	}
	return errs
}

// remember copies the commit. The caller holds mu.
func (z *zombie) remember(c store.Commit) {
	fence := *c.Fence
	c.Run, c.Fence = c.Run.Clone(), &fence
	c.Events = append([]store.Event(nil), c.Events...)
	z.written[fence.Node] = append(z.written[fence.Node], c)
	kept := z.written[fence.Node]
	z.written[fence.Node] = kept[max(0, len(kept)-remembered):]
}

// Claim records the runs to start, before they start.
func (z *zombie) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	start := req.Start
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		c, err := start(r, spec)
		if err == nil {
			z.journal.note(note{What: noteClaim, Node: req.Node, Run: r.ID, Epoch: r.Epoch, Attempt: c.Run.Attempt})
		}
		return c, err
	}
	claimed, err := z.Store.Claim(ctx, req)
	z.watch(err, req.Node)
	return claimed, err
}

func (z *zombie) watch(err error, node string) {
	if errors.Is(err, store.ErrStaleEpoch) {
		z.over(node)
	}
}

// checkNode finds out why a commit was refused: because its node is not registered, or only because
// the run was canceled or continued.
func (z *zombie) checkNode(node string) {
	z.walks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if nodes, err := z.Nodes(ctx); err == nil {
			for _, n := range nodes {
				if n.ID == node {
					return
				}
			}
			z.over(node)
		}
	})
}

// over has the node walk again, once: at once, and after the others had time to take over.
func (z *zombie) over(node string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.lost[node] {
		return
	}
	z.lost[node] = true
	writes := z.written[node]
	delete(z.written, node)
	z.journal.note(note{What: noteLost, Node: node})
	z.walks.Go(func() {
		z.walk(node, writes)
		time.Sleep(time.Second)
		z.walk(node, writes)
	})
}

// walk sends everything again.
func (z *zombie) walk(node string, writes []store.Commit) {
	z.try(note{Node: node, Outcome: "renew"}, func(ctx context.Context) error {
		_, err := z.Store.Renew(ctx, node, z.Now())
		return err
	})
	z.try(note{Node: node, Outcome: "claim"}, func(ctx context.Context) error {
		_, err := z.Store.Claim(ctx, store.ClaimRequest{Node: node, Now: z.Now(), Max: 1, Start: func(store.Run,
			[]byte) (store.Commit, error) {
			return store.Commit{}, errors.New("a node that is over must be given nothing to start")
		}})
		return err
	})
	for _, c := range writes {
		n := note{Node: node, Run: c.Run.ID, Epoch: c.Fence.Epoch, Attempt: c.Run.Attempt}
		n.Outcome = "as it was"
		z.try(n, func(ctx context.Context) error { return z.Store.Commit(ctx, []store.Commit{c})[0] })
		n.Outcome = "on the run as it is"
		z.try(n, func(ctx context.Context) error {
			run, err := z.Run(ctx, c.Run.ID)
			if err != nil {
				return err
			}
			now := store.Commit{Run: run, Expect: run.Version, Fence: c.Fence}
			now.Run.Version++
			return z.Store.Commit(ctx, []store.Commit{now})[0]
		})
	}
}

// try makes a stale write, until the store has said something about it, and notes what.
func (z *zombie) try(n note, write func(context.Context) error) {
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := write(ctx)
		cancel()
		switch {
		case err == nil:
			n.What = noteAccepted
		case errors.Is(err, store.ErrStaleEpoch):
			n.What = noteRefused
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrNotFound),
			errors.Is(err, store.ErrExists):
			n.What, n.Text = noteOdd, err.Error()
		default: // the server is away
			time.Sleep(100 * time.Millisecond)
			continue
		}
		z.journal.note(n)
		return
	}
}
