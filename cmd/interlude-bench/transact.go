package main

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// transactAtOnce is the number of the host's simultaneous transactions.
const transactAtOnce = 32

// frontEnd is a process that executes nothing, and submits runs in its own transactions.
type frontEnd struct {
	*lifecycle.Client
	store *postgres.Store
	pool  *pgxpool.Pool
}

func newFrontEnd(ctx context.Context, p *place) (*frontEnd, error) {
	s, err := p.openNode(ctx)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(p.dsn)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	config.MaxConns = transactAtOnce
	f := &frontEnd{store: s}
	if f.pool, err = pgxpool.NewWithConfig(ctx, config); err == nil {
		p.pools = append(p.pools, f.pool)
		f.Client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	}
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	return f, err
}

// submit stores a run in a transaction of the host's, with notifications after it or without.
func (f *frontEnd) submit(ctx context.Context, hints bool, spec lifecycle.Spec) error {
	if hints {
		return f.store.Transact(ctx, f.pool, func(_ pgx.Tx, in store.Store) error {
			_, err := f.On(in).Submit(ctx, spec)
			return err
		})
	}
	return pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		_, err := f.On(f.store.In(tx)).Submit(ctx, spec)
		return err
	})
}

// submitDelayed submits n runs that no node starts, and returns the time that this takes.
func (f *frontEnd) submitDelayed(ctx context.Context, hints bool, n int) (time.Duration, error) {
	begun := time.Now()
	later := spec()
	later.NotBefore = begun.Add(time.Hour)
	var all errgroup.Group
	more := upTo(n, func(int) {})
	for range transactAtOnce {
		all.Go(func() error {
			for more() {
				if err := f.submit(ctx, hints, later); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := all.Wait()
	return time.Since(begun), err
}

// measureTransactions submits n delayed runs with hints and as many without, in turns. The ratio is
// the median of the ratios of adjacent turns. Then it submits single runs with hints, and measures
// the time until a node starts them.
func (r *report) measureTransactions(ctx context.Context, p *place, hosts []*host, n int, pr *progress) error {
	f, err := newFrontEnd(ctx, p)
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		_ = f.store.Close() // measured already
	}()
	bar := pr.start("the host's transactions", n)
	const turns = 40
	var total time.Duration // with hints
	ratios := make([]float64, turns)
	for i := range ratios {
		var took [2]time.Duration // without hints, with
		for j := range took {
			side := (i + j) % 2 // neither is always first
			if took[side], err = f.submitDelayed(ctx, side == 1, max(1, n/turns)); err != nil {
				return err
			}
		}
		total += took[1]
		ratios[i] = took[0].Seconds() / took[1].Seconds()
		bar.at(n * (i + 1) / turns)
	}
	bar.end()
	slices.Sort(ratios)
	r.TransactPS, r.HintShare = float64(max(1, n/turns)*turns)/total.Seconds(), ratios[turns/2]
	delays := make([]time.Duration, min(200, n))
	for i := range delays {
		one := spec()
		one.ID = "hinted-" + rand.Text()
		started := make(chan time.Time, 1)
		for _, h := range hosts {
			h.talks.Store(one.ID, started)
		}
		if err := f.submit(ctx, true, one); err != nil {
			return err
		}
		committed := time.Now()
		select {
		case at := <-started:
			delays[i] = max(0, at.Sub(committed))
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, err := f.Wait(ctx, one.ID); err != nil {
			return err
		}
	}
	slices.Sort(delays)
	r.HintedP50, r.HintedP99 = percentile(delays, 50), percentile(delays, 99)
	return nil
}
