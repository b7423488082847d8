package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// capacity constantly monitors the slots over a separate connection. Each sample is one statement,
// and so a consistent snapshot: a sample with one slot too many is proof of a bug. Concurrently
// capacity also changes the pools.
type capacity struct {
	server *server
	pools  store.Registry
	seed   uint64
	every  time.Duration // between two samples

	samples atomic.Int64
	changes int
	held    map[string]int // by pool: the most slots that were held
	most    map[string]int // by pool: the largest capacity that was in force
	wrong   []string
}

// sample is the result of one statement.
type sample struct {
	pools map[string]slots.Pool
	held  map[string]int    // by pool
	keys  map[[2]string]int // by pool and key
}

const sampleText = `SELECT p.name, p.capacity, p.key_capacity, coalesce(s.key, ''), coalesce(s.n, 0)
	FROM SCHEMA.pools p LEFT JOIN (SELECT pool, key, count(*) AS n FROM SCHEMA.states WHERE slot GROUP BY pool, key) s
		ON s.pool = p.name`

// basic returns the pools at the beginning.
func basic() []slots.Pool {
	return []slots.Pool{{Name: sharedPool, Capacity: 24}, {Name: tenantPool, Capacity: 12, KeyCapacity: 3},
		{Name: longPool, Capacity: 64}}
}

// watch samples until ctx ends.
func (c *capacity) watch(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	c.held, c.most = make(map[string]int), make(map[string]int)
	for _, p := range basic() {
		c.most[p.Name] = p.Capacity
	}
	change, changed := make(chan slots.Pool), make(chan struct{})
	work.Go(func() { c.change(ctx, change, changed) })

	before := sample{pools: make(map[string]slots.Pool)}
	for ctx.Err() == nil {
		conn, err := c.server.connect(ctx, "monitor")
		if err == nil {
			c.session(ctx, conn, &before, change, changed)
			_ = conn.Close(context.Background())
		}
		cast.Pause(ctx, unsureWait)
	}
}

// session takes samples as long as the connection lasts.
func (c *capacity) session(ctx context.Context, conn *pgx.Conn, before *sample, change <-chan slots.Pool,
	changed chan<- struct{}) {
	pause := time.NewTicker(c.every)
	defer pause.Stop()
	for ctx.Err() == nil && !conn.IsClosed() {
		if s, err := c.sample(ctx, conn); err == nil {
			c.judge(&s, before)
			*before = s
			c.samples.Add(1)
		}
		select {
		case p := <-change: // a change comes between two samples
			if c.set(ctx, p) != nil { // it may be stored, although it failed
				was := before.pools[p.Name]
				was.Capacity, was.KeyCapacity = max(was.Capacity, p.Capacity), max(was.KeyCapacity, p.KeyCapacity)
				before.pools[p.Name] = was
			}
			changed <- struct{}{}
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

func (c *capacity) sample(ctx context.Context, conn *pgx.Conn) (sample, error) {
	s := sample{pools: make(map[string]slots.Pool), held: make(map[string]int), keys: make(map[[2]string]int)}
	within, done := context.WithTimeout(ctx, 5*time.Second)
	defer done()
	rows, err := conn.Query(within, c.server.in(sampleText))
	if err != nil {
		return s, err
	}
	var p slots.Pool
	var key []byte
	var n int
	_, err = pgx.ForEachRow(rows, []any{&p.Name, &p.Capacity, &p.KeyCapacity, &key, &n}, func() error {
		s.pools[p.Name] = p
		s.held[p.Name] += n
		s.keys[[2]string{p.Name, string(key)}] += n
		return nil
	})
	return s, err
}

// judge compares a sample with the capacities at its moment. After a capacity was lowered, as many
// slots may stay in use as were before, but no more.
func (c *capacity) judge(s, before *sample) {
	for name, p := range s.pools {
		limit, held := p.Capacity, s.held[name]
		if was := before.held[name]; was > limit {
			limit = was
		}
		if lowered := before.pools[name].Capacity; lowered > p.Capacity { // in force until now
			limit = max(limit, lowered)
		}
		if held > limit {
			c.wrong = append(c.wrong, fmt.Sprintf("pool %s: %d slots are held, the capacity is %d (before: %d and %d)",
				name, held, p.Capacity, before.held[name], before.pools[name].Capacity))
		}
		c.held[name], c.most[name] = max(c.held[name], held), max(c.most[name], p.Capacity)
	}
	for at, held := range s.keys {
		p, was := s.pools[at[0]], before.pools[at[0]]
		limit := max(p.KeyCapacity, before.keys[at])
		if was.KeyCapacity > p.KeyCapacity {
			limit = max(limit, was.KeyCapacity)
		}
		if p.KeyCapacity > 0 && at[1] != "" && held > limit {
			c.wrong = append(c.wrong, fmt.Sprintf("pool %s: %d slots are held for key %s, its capacity is %d "+
				"(before: %d and %d)", at[0], held, at[1], p.KeyCapacity, before.keys[at], was.KeyCapacity))
		}
	}
}

// change makes pools larger and smaller.
func (c *capacity) change(ctx context.Context, change chan<- slots.Pool, changed <-chan struct{}) {
	r := rand.New(rand.NewPCG(c.seed, 2))
	for {
		cast.Pause(ctx, time.Duration(100+r.IntN(400))*time.Millisecond)
		p := basic()[r.IntN(2)]
		p.Capacity = p.Capacity/2 + r.IntN(p.Capacity)
		if p.KeyCapacity > 0 {
			p.KeyCapacity = 1 + r.IntN(5)
		}
		select {
		case change <- p:
			<-changed
		case <-ctx.Done():
			return
		}
	}
}

func (c *capacity) set(ctx context.Context, p slots.Pool) error {
	within, done := context.WithTimeout(ctx, 3*time.Second)
	defer done()
	c.most[p.Name] = max(c.most[p.Name], p.Capacity) // it may be stored, whatever the answer is
	err := c.pools.SetPool(within, p)
	if err == nil {
		c.changes++
	}
	return err
}
