package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

const (
	maxNodes = 200
	// nodeConns limits a node's pool: 200 nodes of one process share a server.
	nodeConns = 5
)

// serverFor returns the settings of a private server for the nodes.
func serverFor(nodes int) map[string]string {
	if nodes < 8 {
		return serverSettings
	}
	return map[string]string{
		"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": strconv.Itoa(50 + nodes*(nodeConns+1)),
	}
}

// openNode opens a node's store, on a pool that the caller closes.
func (p *place) openNode(ctx context.Context) (*postgres.Store, error) {
	config, err := pgxpool.ParseConfig(p.dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.ConnConfig.Tracer = nodeConns, &p.sent
	postgres.ConfigurePool(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s, err := postgres.New(ctx, pool, postgres.Options{Schema: p.schema, NoGroupCommit: !p.o.group})
	if err != nil {
		pool.Close()
		return nil, err
	}
	p.pools = append(p.pools, pool)
	return s, nil
}

// transactions counts the exchanges with the server that end a transaction.
type transactions struct{ atomic.Int64 }

func (n *transactions) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (n *transactions) TraceQueryEnd(_ context.Context, c *pgx.Conn, _ pgx.TraceQueryEndData) {
	n.count(c)
}

func (n *transactions) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (n *transactions) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (n *transactions) TraceBatchEnd(_ context.Context, c *pgx.Conn, _ pgx.TraceBatchEndData) {
	n.count(c)
}

func (n *transactions) count(c *pgx.Conn) {
	if c.PgConn().TxStatus() == 'I' {
		n.Add(1)
	}
}

// measureNodes makes the round trips on several nodes. Each run is submitted by the next node, and
// answered by the node that asked.
func (r *report) measureNodes(ctx context.Context, p *place, o options, pr *progress) (err error) {
	goroutines := runtime.NumGoroutine()
	var hosts []*host
	defer func() {
		var leaving errgroup.Group
		for _, h := range hosts {
			leaving.Go(h.leave)
		}
		err = errors.Join(err, leaving.Wait())
		for _, pool := range p.pools {
			pool.Close()
		}
		r.GoroutinesLeft = settledGoroutines(goroutines) - goroutines
	}()
	for range o.nodes {
		h, err := newHost(ctx, p)
		if err != nil {
			return err
		}
		hosts = append(hosts, h)
	}
	next := func(i int) *host { return hosts[i%len(hosts)] }
	warm := func(int) {}
	if err := loadNodes(ctx, next, o.concurrency, upTo(max(200, 2*o.nodes), warm)); err != nil {
		return err
	}
	counters := func() (all store.Counters) {
		for _, h := range hosts {
			c := h.store.Counters()
			all = store.Counters{Commits: all.Commits + c.Commits, Flushes: all.Flushes + c.Flushes,
				Rows: all.Rows + c.Rows, Bytes: all.Bytes + c.Bytes, Claims: all.Claims + c.Claims}
		}
		return all
	}
	for _, h := range hosts {
		if _, err := h.answerer.drain(); err != nil {
			return err
		}
	}
	before := p.sent.Load()
	bar, stats, begun, cpu := pr.start("round trips", o.runs), counters(), time.Now(), cpuTime()
	err = loadNodes(ctx, next, o.concurrency, upTo(o.runs, bar.at))
	took, used := time.Since(begun), cpuTime()-cpu
	bar.end()
	written := minus(counters(), stats)
	r.TransactionsPerRun = float64(p.sent.Load()-before) / float64(o.runs)
	var replies []time.Duration
	for _, h := range hosts {
		delays, refused := h.answerer.drain()
		replies, err = append(replies, delays...), errors.Join(err, refused)
	}
	if err != nil {
		return err
	}
	n := float64(o.runs)
	r.RunsPerS = n / took.Seconds()
	slices.Sort(replies)
	r.ReplyP50, r.ReplyP99 = percentile(replies, 50), percentile(replies, 99)
	r.CommitsPerRun, r.FlushesPerRun = float64(written.Commits)/n, float64(written.Flushes)/n
	r.RowsPerRun, r.BytesPerRun = float64(written.Rows)/n, float64(written.Bytes)/n
	r.CPUPerRun = used.Seconds() * 1e6 / n
	r.ClaimsPerTurn = float64(written.Claims) / (2 * n) // a round trip starts two turns
	r.Standby = float64(o.standby.Milliseconds())
	if o.idle > 0 {
		if err := r.measureIdle(ctx, p, o.idle); err != nil {
			return err
		}
	}
	if o.transact > 0 {
		return r.measureTransactions(ctx, p, hosts, o.transact, pr)
	}
	return nil
}

// measureIdle counts the transactions of idle nodes.
func (r *report) measureIdle(ctx context.Context, p *place, long time.Duration) error {
	sent := p.sent.Load()
	select {
	case <-time.After(long):
	case <-ctx.Done():
		return ctx.Err()
	}
	r.IdlePerS = float64(p.sent.Load()-sent) / long.Seconds() / float64(r.Nodes)
	return nil
}

// loadNodes makes round trips until more returns false, on one node after the other.
func loadNodes(ctx context.Context, next func(int) *host, concurrency int, more func() bool) error {
	trips, ctx := errgroup.WithContext(ctx)
	for i := range concurrency {
		trips.Go(func() error {
			for n := i; more(); n += concurrency {
				if err := next(n).trip(ctx, false); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return trips.Wait()
}
