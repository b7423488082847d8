package flow_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

var kills = flag.Int("kills", 4, "how often a host is killed, on each store")

func TestMain(m *testing.M) {
	cast.ServeHost(func(ctx context.Context, h host) error { return h.serve(ctx) })
	pgtest.Main(m)
}

// host is a process that executes runs until it is killed.
type host struct {
	Store  string // a SQLite file, or the connection string of a PostgreSQL
	Ledger string
	Point  string // the point at which the host kills itself; empty: none
	Orders int    // how many orders come to the point before

	Moment      string // the moment of a transaction at which the host kills itself; empty: none
	Transaction int64  // the number of that transaction
}

// serve is the main function of a host's process.
func (h host) serve(ctx context.Context) error {
	s, err := cast.OpenStore(ctx, h.Store)
	if err != nil {
		return err
	}
	ledger, err := cast.OpenJournal[string](h.Ledger)
	if err != nil {
		return err
	}
	books, err := h.books(ctx, s)
	if err != nil {
		return err
	}
	lc, err := lifecycle.New(lifecycle.Config{Store: h.gated(s), Engine: orders(ledger), Forgiving: true,
		Engines:     map[string]engine.Engine{"tree": tree(ledger), "books": books, "loop": loop(ledger)},
		OnInterrupt: lifecycle.Repeat, Poll: 50 * time.Millisecond, Lease: time.Minute,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return lc.Serve(ctx)
}

// items is how many items an order has.
const items = 4

// noting is a step whose effect is a line of the ledger: its key.
func noting(ledger *cast.Journal[string]) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) { return flow.Key(ctx), ledger.Add(flow.Key(ctx)) }
}

// orders charges, asks, ships in a loop, sleeps and writes a mail. Each effect is a line of the
// ledger.
func orders(ledger *cast.Journal[string]) engine.Engine {
	effect := noting(ledger)
	return flow.New("order", func(c *flow.Ctx, _ string) (string, error) {
		if _, err := flow.Step(c, "charge", effect); err != nil {
			return "", err
		}
		where, err := flow.Ask[string](c, "where", engine.Question{Kind: engine.OpenText, Prompt: "Where to?"})
		if err != nil {
			return "", err
		}
		for range items {
			if _, err := flow.Step(c, "ship", effect); err != nil {
				return "", err
			}
		}
		if err := c.Sleep(50 * time.Millisecond); err != nil {
			return "", err
		}
		_, err = flow.Step(c, "mail", effect)
		return where, err
	})
}

// killHosts submits orders and answers their questions, while one host after the other is killed at
// a random time, and then checks the ledger.
func killHosts(t *testing.T, name string) {
	t.Helper()
	d := newDrill(t, name, time.Duration(60+5**kills)*time.Second)
	var runs []string
	for n := range *kills + 1 {
		host := d.start(d.host)
		for range 5 {
			id := fmt.Sprintf("order-%d", len(runs))
			runs = append(runs, id)
			submit(d.ctx, t, d.client, lifecycle.Spec{ID: id, Prompt: "x"})
		}
		last := n == *kills
		for until := time.Now().Add(time.Minute); ; rest(d.ctx) {
			if d.answer(1000) > 0 && !last { // the host is at work now
				until = time.Now().Add(sample.N(60 * time.Millisecond))
			}
			if last && d.ended(runs...) || !last && time.Now().After(until) {
				break
			}
		}
		d.kill(host)
	}
	d.check(runs)
	t.Logf("%d hosts killed", *kills)
}

// drill is a test that starts hosts and kills them, with the store that these hosts share.
type drill struct {
	*testing.T

	ctx    context.Context // ends with the test, or after its time
	host   host            // the configuration of its hosts
	store  store.Store
	client *lifecycle.Client
}

// newDrill opens the store of a drill. The drill's context ends after the time most.
func newDrill(t *testing.T, name string, most time.Duration) *drill {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	t.Cleanup(cancel)
	s, client := opened(ctx, t, name)
	return &drill{t, ctx, host{Store: name, Ledger: filepath.Join(t.TempDir(), "ledger")}, s, client}
}

// opened opens the store and a client of it, until the test has ended.
func opened(ctx context.Context, t *testing.T, name string) (store.Store, *lifecycle.Client) {
	t.Helper()
	s, err := cast.OpenStore(ctx, name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return s, client
}

// start starts a host in a separate process.
func (d *drill) start(h host) *cast.Host {
	d.Helper()
	started, err := cast.StartHost(d.ctx, h, cast.HostOptions{})
	require.NoError(d, err)
	return started
}

func (d *drill) kill(host *cast.Host) {
	d.Helper()
	require.NoError(d, host.Kill())
}

func submit(ctx context.Context, t *testing.T, c *lifecycle.Client, spec lifecycle.Spec) {
	t.Helper()
	spec.MaxRepeats = 1_000_000
	require.NoError(t, cast.Submit(ctx, c, spec))
}

// rest waits a moment for the hosts, which are other processes.
func rest(ctx context.Context) { cast.Pause(ctx, 5*time.Millisecond) }

// answer answers open questions, at most so many, and returns how many it has answered.
func (d *drill) answer(most int) (answered int) {
	d.Helper()
	page, err := d.client.Inbox(d.ctx, lifecycle.InboxQuery{Limit: 1000})
	require.NoError(d, err)
	for _, q := range page.Questions[:min(len(page.Questions), max(0, most))] {
		_, err := d.client.Reply(d.ctx, q.RunID, lifecycle.Reply{ID: q.Question.ID, Text: q.RunID})
		require.NoError(d, err)
		answered++
	}
	return answered
}

// ended reports whether all these runs have ended.
func (d *drill) ended(runs ...string) bool {
	d.Helper()
	ended, err := cast.Ended(d.ctx, d.client, runs...)
	require.NoError(d, err)
	return ended
}

// noted returns the lines of the ledger.
func (d *drill) noted() []string {
	d.Helper()
	all, err := cast.ReadJournal[string](d.host.Ledger)
	require.NoError(d, err)
	return all
}

// check reads the ledger. It has each step of each run, in order. A step may occur twice in a row,
// if it was executed again, but not after a later step of its run: the later step began only when
// the result of the first was stored.
func (d *drill) check(runs []string) {
	d.Helper()
	steps := []string{"1/charge"}
	for i := range items {
		steps = append(steps, fmt.Sprintf("%d/ship", 3+i))
	}
	steps = append(steps, fmt.Sprintf("%d/mail", 4+items))
	begun := make(map[string]int, len(runs)) // how many steps were begun, by run
	repeated := 0
	for _, line := range d.noted() {
		run, step, _ := strings.Cut(line, "/")
		n := begun[run]
		if n > 0 && step == steps[n-1] {
			repeated++
			continue
		}
		require.Less(d, n, len(steps), "%s after the end", line)
		require.Equal(d, steps[n], step, "%s: steps are executed in their order, and none again that was stored", run)
		begun[run] = n + 1
	}
	for _, id := range runs {
		run, err := d.client.Get(d.ctx, id)
		require.NoError(d, err)
		require.Equal(d, lifecycle.StateSucceeded, run.State, "%s: %+v", id, run.Error)
		require.Equal(d, id, run.FinalText, "the answer is that of the run")
		require.Equal(d, len(steps), begun[id], id)
	}
	d.Logf("%d runs, %d steps executed twice", len(runs), repeated)
}
