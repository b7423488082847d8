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
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Harness opens the store that is to be proven.
type Harness struct {
	// Open returns a new, empty store. It is called inside a synctest bubble and closed by the
	// suite.
	Open func(tb testing.TB) store.Store
	// Reopen closes a durable store and opens it again. Nil: the store lives in memory, and what a
	// case calls a restart leaves it open.
	Reopen func(tb testing.TB, s store.Store) store.Store
}

// world is one case's host: a store, an agent, and a lifecycle that may crash and start again.
type world struct {
	testing.TB
	ctx   context.Context
	h     Harness
	store store.Store
	agent *Agent
	cfg   lifecycle.Config
	*lifecycle.Lifecycle
	stop func() // ends Serve in good order
	runs map[string]bool
}

// option changes a world before it starts.
type option func(*world)

// sticky gives the agent a resident process.
func sticky(w *world) { w.agent.Kind = fsm.ProfileStickyProcess }

// config changes the lifecycle's configuration.
func config(change func(*lifecycle.Config)) option { return func(w *world) { change(&w.cfg) } }

// capacity gives the default pool so many slots.
func capacity(n int) option {
	return config(func(c *lifecycle.Config) { c.Pools = []slots.Pool{{Name: slots.DefaultPool, Capacity: n}} })
}

// lenient lets the engine decide when nobody replies within d.
func lenient(d time.Duration) func(*lifecycle.Spec) {
	return func(s *lifecycle.Spec) { s.AutoDecide, s.SessionTimeout = true, d }
}

// within gives the question a deadline.
func within(d time.Duration) func(*lifecycle.Spec) {
	return func(s *lifecycle.Spec) { s.SessionTimeout = d }
}

// repeatable lets a lost turn be executed again.
func repeatable(s *lifecycle.Spec) { s.Repeatable = true }

// newWorld returns a world whose lifecycle serves.
func newWorld(tb testing.TB, h Harness, options ...option) *world {
	tb.Helper()
	w := &world{TB: tb, ctx: tb.Context(), h: h, store: h.Open(tb), agent: NewAgent(fsm.ProfileResumable),
		runs: make(map[string]bool)}
	w.cfg = lifecycle.Config{Logger: slog.New(slog.DiscardHandler), Lease: 30 * time.Second}
	for _, o := range options {
		o(w)
	}
	w.start()
	return w
}

// start builds a lifecycle on the store and serves.
func (w *world) start() {
	w.Helper()
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
}

// end stops the world and checks every log that it leaves.
func (w *world) end() {
	w.Helper()
	w.stop()
	for id := range w.runs {
		w.checkLog(id)
	}
	require.NoError(w, w.store.Close())
}

// restart stops the host and starts it again, on the reopened store where it is durable.
func (w *world) restart() {
	w.Helper()
	w.stop()
	if w.h.Reopen != nil {
		w.store = w.h.Reopen(w, w.store)
	}
	w.start()
}

// fence takes the lease from every node, as others do with one that went silent: the present
// lifecycle becomes a zombie.
func (w *world) fence() {
	w.Helper()
	nodes, err := w.store.Nodes(w.ctx)
	require.NoError(w, err)
	for _, n := range nodes {
		_, err = w.store.Expire(w.ctx, time.Time{}, n.ID)
		require.NoError(w, err)
	}
}

// submit submits a run; id is its name in the story.
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

// is waits for quiescence and requires the run to be in the state.
func (w *world) is(id string, state fsm.State) lifecycle.Run {
	w.Helper()
	synctest.Wait()
	run, err := w.Get(w.ctx, id)
	require.NoError(w, err)
	require.Equal(w, state, run.State, "state of %s: error %+v", id, run.Error)
	return run
}

// failedWith requires the run to have failed with the code.
func (w *world) failedWith(id string, code fsm.Code) lifecycle.Run {
	w.Helper()
	run := w.is(id, fsm.StateFailed)
	require.NotNil(w, run.Error)
	require.Equal(w, code, run.Error.Code, run.Error.Message)
	require.False(w, run.Slot, "a finished run holds no slot")
	return run
}

// reply answers the interaction and requires that it is accepted.
func (w *world) reply(id string, interactionID int, text string) interaction.Receipt {
	w.Helper()
	receipt, err := w.Reply(w.ctx, id, interaction.Reply{ID: interactionID, Text: text})
	require.NoError(w, err)
	synctest.Wait()
	return receipt
}

// advance lets the time pass.
func (w *world) advance(d time.Duration) {
	time.Sleep(d) // the bubble's time
	synctest.Wait()
}

// log returns all events of the run as they are stored.
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

// types lists the events of the run by type, a state change by what it changes to.
func (w *world) types(id string) []string {
	w.Helper()
	var all []string
	for _, e := range w.log(id) {
		name := e.Type
		if e.Type == fcmp.TypeStateChanged {
			var c fcmp.StateChanged
			require.NoError(w, e.Decode(&c))
			name = c.From + "→" + c.To + " " + c.Trigger
		}
		all = append(all, name)
	}
	return all
}

// checkLog puts the run's log before the contract's invariants.
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

// story is one case of the suite.
type story struct {
	name string // begins with the requirement's ids
	tell func(t *testing.T, h Harness)
}

// Run tells every story on the store.
func Run(t *testing.T, h Harness) {
	for _, section := range [][]story{states, gate, repairs, replies, waiting, recovery, events, failures, outages,
		hints, input, stats, sequences} {
		for _, s := range section {
			t.Run(s.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s.tell(t, h) })
			})
		}
	}
}

// inWorld is a story that needs no more than a served world.
func inWorld(tell func(w *world), options ...option) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		t.Helper()
		w := newWorld(t, h, options...)
		tell(w)
		w.end()
	}
}
