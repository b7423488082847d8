package lifecycletest

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Opener returns a new, empty store. It is called inside a synctest bubble; the suite closes the
// store.
type Opener func(tb testing.TB) store.Store

// world is one case's host: a store, an agent, and a serving lifecycle.
type world struct {
	testing.TB
	ctx   context.Context
	store store.Store
	agent *plannedAgent
	cfg   lifecycle.Config
	*lifecycle.Lifecycle
	stop func() // ends Serve in good order
	runs map[string]bool

	feedCalls map[string]int // of the readers of a feed, by kind
}

type option func(*world)

func config(change func(*lifecycle.Config)) option { return func(w *world) { change(&w.cfg) } }

func newWorld(tb testing.TB, open Opener, options ...option) *world {
	tb.Helper()
	w := &world{TB: tb, ctx: tb.Context(), store: open(tb), agent: newAgent(fsm.ProfileResumable),
		runs: make(map[string]bool)}
	w.cfg = lifecycle.Config{Logger: slog.New(slog.DiscardHandler), Lease: 30 * time.Second}
	for _, o := range options {
		o(w)
	}
	w.cfg.Store, w.cfg.Engine = w.store, w.agent
	lc, err := lifecycle.New(w.cfg)
	require.NoError(w, err)
	w.Lifecycle = lc
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	w.stop = func() {
		w.Helper()
		cancel()
		require.NoError(w, <-served)
		lc.Close()
	}
	synctest.Wait()
	return w
}

// end stops the world and checks every log.
func (w *world) end() {
	w.Helper()
	w.stop()
	for id := range w.runs {
		w.checkLog(id)
	}
	require.NoError(w, w.store.Close())
}

// fence takes the lease from every node, as if it had gone silent: the lifecycle becomes a zombie.
func (w *world) fence() {
	w.Helper()
	nodes, err := w.store.Nodes(w.ctx)
	require.NoError(w, err)
	for _, n := range nodes {
		_, err = w.store.Expire(w.ctx, time.Now(), n.ID)
		require.NoError(w, err)
	}
}

// submit submits a run; id names it in the case.
func (w *world) submit(id string, change ...func(*lifecycle.Spec)) lifecycle.Run {
	w.Helper()
	spec := lifecycle.Spec{ID: id, Prompt: "Do the job."}
	for _, c := range change {
		c(&spec)
	}
	run, err := w.Submit(w.ctx, spec)
	require.NoError(w, err)
	w.runs[run.ID] = true
	synctest.Wait()
	return run
}

// is waits for quiescence and requires the state.
func (w *world) is(id string, state fsm.State) lifecycle.Run {
	w.Helper()
	synctest.Wait()
	run, err := w.Get(w.ctx, id)
	require.NoError(w, err)
	require.Equal(w, state, run.State, "state of %s: error %+v", id, run.Error)
	return run
}

func (w *world) advance(d time.Duration) {
	time.Sleep(d) // the bubble's time
	synctest.Wait()
}

func (w *world) log(id string) []fcmp.Event {
	w.Helper()
	var all []fcmp.Event
	for {
		after := uint64(len(all))
		page, err := w.store.Events(w.ctx, id, after, 100)
		require.NoError(w, err)
		for _, e := range page {
			event, err := fcmp.Decode(e.Body)
			require.NoError(w, err)
			all = append(all, event)
		}
		if len(page) == 0 {
			return all
		}
	}
}

func (w *world) checkLog(id string) {
	w.Helper()
	var lines bytes.Buffer
	for after := uint64(0); ; {
		page, err := w.store.Events(w.ctx, id, after, 100)
		require.NoError(w, err)
		for _, e := range page {
			lines.Write(e.Body)
			lines.WriteByte('\n')
			after = e.Seq
		}
		if len(page) == 0 {
			break
		}
	}
	report, err := audit.Check(bytes.NewReader(lines.Bytes()))
	require.NoError(w, err)
	require.Nil(w, report.First(), "log of %s:\n%s", id, lines.String())
}

// testCase is one case of the suite.
type testCase struct {
	name string // begins with the requirement's ids
	run  func(t *testing.T, open Opener)
}

// Run runs every case on the store, in parallel: on a durable store each mostly waits.
func Run(t *testing.T, open Opener) {
	all := [][]testCase{races, outages, hints, limits, costs, feeds, children, sequences}
	if !short() {
		all = append(all, moreHints, volumes)
	}
	for _, cases := range all {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { c.run(t, open) })
			})
		}
	}
}

// inWorld is a case that needs only a serving world.
func inWorld(run func(w *world), options ...option) func(*testing.T, Opener) {
	return func(t *testing.T, open Opener) {
		t.Helper()
		w := newWorld(t, open, options...)
		run(w)
		w.end()
	}
}
