package flow_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

var kills = flag.Int("kills", 4, "how often a host is killed, on each store")

// The environment of a host: its store and the ledger.
const (
	storeVariable  = "INTERLUDE_FLOW_STORE"
	ledgerVariable = "INTERLUDE_FLOW_LEDGER"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(storeVariable); name != "" {
		host(name, os.Getenv(ledgerVariable)) // until it is killed
	}
	pgtest.Main(m)
}

// open opens a SQLite file or, by its connection string, a PostgreSQL.
func open(ctx context.Context, name string) (store.Store, error) {
	if strings.HasSuffix(name, ".db") {
		return sqlite.Open(ctx, name, sqlite.Options{})
	}
	return postgres.Open(ctx, name, postgres.Options{})
}

// host executes runs until it is killed.
func host(name, ledger string) {
	ctx := context.Background()
	s, err := open(ctx, name)
	var books engine.Engine
	if err == nil {
		books, err = booksOf(ctx, s, name)
	}
	if err == nil {
		var lc *lifecycle.Lifecycle
		lc, err = lifecycle.New(lifecycle.Config{Store: gated(s), Engine: orders(ledger), Forgiving: true,
			Engines:     map[string]engine.Engine{"tree": tree(ledger), "books": books},
			OnInterrupt: lifecycle.Repeat, Poll: 50 * time.Millisecond, Lease: time.Second,
			Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			err = lc.Serve(ctx)
		}
	}
	fmt.Fprintln(os.Stderr, "host:", err)
	os.Exit(1)
}

// items are what an order has.
const items = 4

// note writes the key of a step into the ledger.
func note(ctx context.Context, ledger string) (string, error) {
	f, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(flow.Key(ctx) + "\n")
	if closing := f.Close(); err == nil {
		err = closing
	}
	return flow.Key(ctx), err
}

// orders charges, asks, ships in a loop, sleeps and writes a mail. Each effect is a line of the ledger.
func orders(ledger string) engine.Engine {
	effect := func(ctx context.Context) (string, error) { return note(ctx, ledger) }
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

// M1 J9: hosts are killed while they execute functions, on SQLite and PostgreSQL.
func TestM1HostsAreKilledOnSQLite(t *testing.T) {
	killHosts(t, filepath.Join(t.TempDir(), "runs.db"))
}

func TestM1HostsAreKilledOnPostgreSQL(t *testing.T) {
	killHosts(t, pgtest.DSN(t))
}

// killHosts submits orders and answers their questions, while one host after the other is killed at a
// time that is drawn, and then checks the ledger.
func killHosts(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(60+5**kills)*time.Second)
	defer cancel()
	_, client := opened(ctx, t, name)
	ledger := filepath.Join(t.TempDir(), "ledger")

	var runs []string
	for n := range *kills + 1 {
		cmd := start(ctx, t, name, ledger)
		for range 5 {
			id := fmt.Sprintf("order-%d", len(runs))
			runs = append(runs, id)
			submit(ctx, t, client, lifecycle.Spec{ID: id, Prompt: "x"})
		}
		last := n == *kills
		for until := time.Now().Add(time.Minute); ; rest(ctx) {
			if answer(ctx, t, client) && !last { // then it is at work
				until = time.Now().Add(rand.N(60 * time.Millisecond))
			}
			if last && ended(ctx, t, client, runs) || !last && time.Now().After(until) {
				break
			}
		}
		kill(t, cmd)
	}
	check(ctx, t, client, runs, ledger)
	t.Logf("%d hosts killed", *kills)
}

// opened opens the store and a client of it, until the test has ended.
func opened(ctx context.Context, t *testing.T, name string) (store.Store, *lifecycle.Client) {
	t.Helper()
	s, err := open(ctx, name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return s, client
}

// start starts a host in a process of its own.
func start(ctx context.Context, t *testing.T, name, ledger string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), storeVariable+"="+name, ledgerVariable+"="+ledger)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait(), "it was killed")
}

// submit submits a run as soon as there is a pool, which the first host makes.
func submit(ctx context.Context, t *testing.T, c *lifecycle.Client, spec lifecycle.Spec) {
	t.Helper()
	spec.MaxRepeats = 1_000_000
	for {
		_, err := c.Submit(ctx, spec)
		if err == nil {
			return
		}
		require.ErrorIs(t, err, lifecycle.ErrUnknownPool)
		rest(ctx)
	}
}

// rest waits a moment for the hosts, which are other processes.
func rest(ctx context.Context) {
	tick, stop := lifecycle.SystemClock{}.Timer(5 * time.Millisecond)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
}

// answer answers all open questions, and reports whether there were any.
func answer(ctx context.Context, t *testing.T, c *lifecycle.Client) bool {
	t.Helper()
	page, err := c.Inbox(ctx, lifecycle.InboxQuery{})
	require.NoError(t, err)
	for _, q := range page.Questions {
		_, err := c.Reply(ctx, q.RunID, lifecycle.Reply{ID: q.Question.ID, Text: q.RunID})
		require.NoError(t, err)
	}
	return len(page.Questions) > 0
}

func ended(ctx context.Context, t *testing.T, c *lifecycle.Client, runs []string) bool {
	t.Helper()
	for _, id := range runs {
		run, err := c.Get(ctx, id)
		require.NoError(t, err)
		if !run.State.Terminal() {
			return false
		}
	}
	return true
}

// check reads the ledger: each step of each run is there, and none after a later one of its run: that
// one began only after the result of the step was kept.
func check(ctx context.Context, t *testing.T, c *lifecycle.Client, runs []string, ledger string) {
	t.Helper()
	steps := []string{"1/charge"}
	for i := range items {
		steps = append(steps, fmt.Sprintf("%d/ship", 3+i))
	}
	steps = append(steps, fmt.Sprintf("%d/mail", 4+items))
	come := make(map[string]int, len(runs)) // how many steps were begun, by run
	f, err := os.Open(ledger)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	repeated := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		run, step, _ := strings.Cut(lines.Text(), "/")
		n := come[run]
		if n > 0 && step == steps[n-1] {
			repeated++
			continue
		}
		require.Less(t, n, len(steps), "%s after the end", lines.Text())
		require.Equal(t, steps[n], step, "%s: the steps are executed in their order, and none that was kept again", run)
		come[run] = n + 1
	}
	for _, id := range runs {
		run, err := c.Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateSucceeded, run.State, "%s: %+v", id, run.Error)
		require.Equal(t, id, run.FinalText, "the answer is that of the run")
		require.Equal(t, len(steps), come[id], id)
	}
	t.Logf("%d runs, %d steps executed twice", len(runs), repeated)
}
