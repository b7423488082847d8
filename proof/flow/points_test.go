package flow_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

var orderCount = flag.Int("orders", 0,
	"how many orders are killed at each of their points, on each store; 0: a few, at points that are drawn")

// group is how many orders come to a point together.
const group = 10

// points are the commits of an order, by turn: each step, and each end of a turn. The host is
// killed right before one, when the effect of a step has happened, or right after it.
func points() (turns [3][]string) {
	commits := [3][]string{{"charge", "asked"}, nil, {"mail", "ended"}}
	for i := range items {
		commits[1] = append(commits[1], "ship-"+strconv.Itoa(3+i))
	}
	commits[1] = append(commits[1], "slept")
	for n, names := range commits {
		for _, name := range names {
			turns[n] = append(turns[n], "before-"+name, "after-"+name)
		}
	}
	return turns
}

// commitName says which of the commits of an order this is; empty if none.
func commitName(c *store.Commit) string {
	if n := len(c.Journal); n > 0 && c.Run.State == lifecycle.StateRunning {
		last := c.Journal[n-1]
		if last.Name == "ship" {
			return "ship-" + last.Path
		}
		return last.Name
	}
	switch {
	case c.Fence == nil:
		return ""
	case c.Run.State == lifecycle.StateWaitingUser:
		return "asked"
	case c.Run.State == lifecycle.StateQueued && c.Run.Block != nil && c.Run.Block.Kind == store.BlockSleep:
		return "slept"
	case c.Run.State.Terminal():
		return "ended"
	}
	return ""
}

// gate kills its process once so many orders have come to the point. The commits there wait for
// each other. From then on no turn is started, so that no order goes beyond the point.
type gate struct {
	at     string
	before barrier
	after  barrier
}

// newGate returns the gate of a host that is to be killed at a point; nil for any other.
func newGate(h host) *gate {
	if h.Point == "" {
		return nil
	}
	return &gate{at: h.Point, before: newBarrier(h.Orders), after: newBarrier(h.Orders)}
}

// barrier is open once so many have come to it.
type barrier struct {
	come chan struct{} // has a place for each
	full chan struct{}
}

func newBarrier(n int) barrier { return barrier{make(chan struct{}, n-1), make(chan struct{})} }

func (b barrier) wait() {
	select {
	case b.come <- struct{}{}:
	default:
		close(b.full) // the last
	}
	<-b.full
}

func (b barrier) open() bool {
	select {
	case <-b.full:
		return true
	default:
		return false
	}
}

// commit stores a batch, unless the process is killed at it.
func (g *gate) commit(ctx context.Context, s store.Store, batch []store.Commit) []error {
	when, name, _ := strings.Cut(g.at, "-")
	if !slices.ContainsFunc(batch, func(c store.Commit) bool { return commitName(&c) == name }) {
		return s.Commit(ctx, batch)
	}
	g.before.wait()
	if when == "after" {
		if err := errors.Join(s.Commit(ctx, batch)...); err != nil {
			panic(err)
		}
		g.after.wait()
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

func (g *gate) claim(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed, error) {
	if g.before.open() {
		return nil, nil
	}
	return s.Claim(ctx, req)
}

// The stores of a host that is killed at a point.
type (
	gatedSQLite struct {
		*sqlite.Store

		gate *gate
	}
	gatedPostgres struct {
		*postgres.Store

		gate *gate
	}
)

func (s *gatedSQLite) Commit(ctx context.Context, batch []store.Commit) []error {
	return s.gate.commit(ctx, s.Store, batch)
}

func (s *gatedPostgres) Commit(ctx context.Context, batch []store.Commit) []error {
	return s.gate.commit(ctx, s.Store, batch)
}

func (s *gatedSQLite) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	return s.gate.claim(ctx, s.Store, req)
}

func (s *gatedPostgres) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	return s.gate.claim(ctx, s.Store, req)
}

// gated is the store with the host's gate, if there is one.
func (h host) gated(s store.Store) store.Store {
	g := newGate(h)
	switch s := s.(type) {
	case *sqlite.Store:
		if g != nil {
			return &gatedSQLite{s, g}
		}
	case *postgres.Store:
		if g != nil {
			return &gatedPostgres{s, g}
		}
	}
	return s
}

// M1 J9: the order agent (charge, ask, ship in a loop, sleep, mail) is killed right before and
// right after each of its commits. Stored steps are never executed again, and unstored ones are,
// exactly once.
func TestM1OrdersAreKilledAtEachPointOnSQLite(t *testing.T) {
	killAtPoints(t, func(t *testing.T) string { return filepath.Join(t.TempDir(), "runs.db") })
}

func TestM1OrdersAreKilledAtEachPointOnPostgreSQL(t *testing.T) {
	killAtPoints(t, func(t *testing.T) string { return pgtest.DSN(t) })
}

// killAtPoints has groups of orders be killed once in each of their turns: a turn that is killed
// again and again waits longer each time. There are as many lives as the longest turn has points.
func killAtPoints(t *testing.T, newStore func(t *testing.T) string) {
	t.Helper()
	turns := points()
	lives := len(turns[1])
	live := func(t *testing.T, n, orders int) {
		t.Helper()
		var chosen []string
		for _, turn := range turns {
			chosen = append(chosen, turn[n%len(turn)])
		}
		killGroup(t, newStore(t), orders, chosen)
	}
	if *orderCount == 0 {
		live(t, sample.N(lives), 3)
		return
	}
	for first := 0; first < *orderCount; first += group {
		for n := range lives {
			t.Run(fmt.Sprintf("%d-%d", first, n), func(t *testing.T) {
				t.Parallel()
				live(t, n, min(group, *orderCount-first))
			})
		}
	}
}

// killGroup takes some orders from their beginning to their end, and checks their effects.
func killGroup(t *testing.T, name string, orders int, chosen []string) {
	t.Helper()
	d := newDrill(t, name, 5*time.Minute)
	runs := make([]string, orders)
	for i := range runs {
		runs[i] = fmt.Sprintf("order-%d", i)
	}
	for i := range len(chosen) + 1 {
		h := d.host
		if i < len(chosen) {
			h.Point, h.Orders = chosen[i], orders
		}
		host := d.start(h)
		if i == 0 {
			for _, id := range runs {
				submit(d.ctx, t, d.client, lifecycle.Spec{ID: id, Prompt: "x"})
			}
		}
		if i == len(chosen) {
			d.awaitEnds(runs)
			d.kill(host)
		} else {
			d.awaitDeath(host, chosen[i])
		}
	}
	d.check(runs)
	d.checkCounts(runs, chosen)
	t.Logf("%d orders, killed %s", orders, strings.Join(chosen, ", "))
}

// awaitDeath answers questions until the host has killed itself at the point.
func (d *drill) awaitDeath(host *cast.Host, point string) {
	d.Helper()
	for {
		d.answer(1000)
		select {
		case <-host.Done():
			require.EqualError(d, host.Err(), "signal: killed", "the host of %s", point)
			require.NoError(d, d.ctx.Err(), "the orders come to %s", point)
			return
		default:
			rest(d.ctx)
		}
	}
}

// awaitEnds answers questions until the runs have ended.
func (d *drill) awaitEnds(runs []string) {
	d.Helper()
	for ; !d.ended(runs...); rest(d.ctx) {
		require.NoError(d, d.ctx.Err(), "the orders come to their end")
		d.answer(1000)
	}
}

// checkCounts requires that each step was executed once, or twice if the host was killed between
// its effect and its commit.
func (d *drill) checkCounts(runs, chosen []string) {
	d.Helper()
	got, want := make(map[string]int), make(map[string]int)
	for _, key := range d.noted() {
		got[key]++
	}
	for _, id := range runs {
		steps := map[string]string{id + "/1/charge": "charge", fmt.Sprintf("%s/%d/mail", id, 4+items): "mail"}
		for i := range items {
			steps[fmt.Sprintf("%s/%d/ship", id, 3+i)] = "ship-" + strconv.Itoa(3+i)
		}
		for key, name := range steps {
			want[key] = 1
			if slices.Contains(chosen, "before-"+name) {
				want[key] = 2
			}
		}
	}
	require.Equal(d, want, got)
}
