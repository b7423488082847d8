package scenario_test

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// look is any call that is neither a commit nor a claim.
func look[T any](ctx context.Context, v *view, kind string, do func() (T, error)) (found T, err error) {
	f, err := v.arrive(ctx, kind, func() string { return kind })
	if err != nil {
		return found, err
	}
	found, err = do()
	if lost := v.answer(f); lost != nil {
		var none T
		return none, lost
	}
	return found, err
}

// Prune implements store.Writer.
func (v *view) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return look(ctx, v, "prune", func() (int, error) { return v.Store.Prune(ctx, before, limit) })
}

// Run implements store.Reader.
func (v *view) Run(ctx context.Context, id string) (store.Run, error) {
	return look(ctx, v, "look", func() (store.Run, error) { return v.Store.Run(ctx, id) })
}

// Spec implements store.Reader.
func (v *view) Spec(ctx context.Context, id string) ([]byte, error) {
	return look(ctx, v, "look", func() ([]byte, error) { return v.Store.Spec(ctx, id) })
}

// Confirm implements store.Confirmer.
func (v *view) Confirm(ctx context.Context, read func(store.Reader) error) error {
	_, err := look(ctx, v, "look", func() (struct{}, error) { return struct{}{}, v.Store.Confirm(ctx, read) })
	return err
}

// Events implements store.Reader.
func (v *view) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	return look(ctx, v, "look", func() ([]store.Event, error) { return v.Store.Events(ctx, id, after, limit) })
}

// Settled implements store.Reader.
func (v *view) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	return look(ctx, v, "look", func() (interaction.Record, error) { return v.Store.Settled(ctx, id, key) })
}

// Due implements store.Reader.
func (v *view) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, err error) {
	if v.idles() || v.begun() {
		return nil, time.Time{}, nil
	}
	due, err = look(ctx, v, "look", func() (due []store.Run, err error) {
		due, next, err = v.Store.Due(ctx, now, limit)
		return due, err
	})
	return due, next, err
}

// Orphans implements store.Reader.
func (v *view) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	if v.idles() {
		return nil, nil
	}
	return look(ctx, v, "look", func() ([]store.Run, error) { return v.Store.Orphans(ctx, skip, limit) })
}

// Join implements store.Registry. Leases are judged by the story's time on every store.
func (v *view) Join(ctx context.Context, n store.Node, now time.Time) error {
	_, err := look(ctx, v, "join", func() (struct{}, error) {
		v.board.join(v.name, n, now)
		n.Lease = long
		return struct{}{}, v.Store.Join(ctx, n, now)
	})
	return err
}

// Renew implements store.Registry.
func (v *view) Renew(ctx context.Context, id string, now time.Time) ([]store.Hold, error) {
	return look(ctx, v, "renew", func() ([]store.Hold, error) {
		holds, err := v.Store.Renew(ctx, id, now)
		if err == nil {
			v.board.renew(id, now)
		}
		return holds, err
	})
}

// Expire implements store.Registry.
func (v *view) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	return look(ctx, v, "expire", func() ([]store.Node, error) {
		gone, err := v.Store.Expire(ctx, time.Time{}, append(v.board.silent(now), ids...)...)
		for _, n := range gone {
			v.board.expired(n.ID)
		}
		return gone, err
	})
}

// Nodes implements store.Registry. A node that stands by finds all others alive.
func (v *view) Nodes(ctx context.Context) ([]store.Node, error) {
	if v.idles() {
		return nil, nil
	}
	return look(ctx, v, "look", func() ([]store.Node, error) {
		nodes, err := v.Store.Nodes(ctx)
		return v.board.leased(nodes), err
	})
}

// SetPool implements store.Registry.
func (v *view) SetPool(ctx context.Context, p slots.Pool) error {
	_, err := look(ctx, v, "pool", func() (struct{}, error) { return struct{}{}, v.Store.SetPool(ctx, p) })
	return err
}
