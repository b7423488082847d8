package acp_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/sqlite"
)

// host is a process that executes runs with an agent.
type host struct {
	testing.TB
	*lifecycle.Lifecycle
	clock *laterClock // nil: the system's
	dir   string
	stop  func()
}

// laterClock is a clock that a test sets forward.
type laterClock struct {
	lifecycle.SystemClock
	ahead atomic.Int64
}

func (c *laterClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func serving(tb testing.TB, dir string, cfg acp.Config, st store.Store) *host {
	tb.Helper()
	return servingBy(tb, nil, dir, cfg, st)
}

// servingBy is serving with a clock that the test sets forward, and a lease that its jumps do not exceed.
func servingBy(tb testing.TB, clock *laterClock, dir string, cfg acp.Config, st store.Store) *host {
	tb.Helper()
	cfg.StateDir = filepath.Join(dir, "processes")
	config := lifecycle.Config{
		Store: st, Engine: started(tb, cfg), Dir: filepath.Join(dir, "runs"), Logger: slog.New(slog.DiscardHandler),
		Poll: 50 * time.Millisecond, Grace: -1,
	}
	if clock != nil {
		config.Clock, config.Lease = clock, 100*waits
	}
	lc, err := lifecycle.New(config)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	h := &host{TB: tb, Lifecycle: lc, clock: clock, dir: dir}
	errStopped := false
	h.stop = func() {
		if errStopped {
			return
		}
		errStopped = true
		cancel()
		require.NoError(tb, <-served)
		lc.Close()
		require.NoError(tb, st.Close())
	}
	tb.Cleanup(h.stop)
	return h
}

var stores = map[string]func(tb testing.TB, dir string) store.Store{
	"memory": func(testing.TB, string) store.Store { return memory.New() },
	"sqlite": func(tb testing.TB, dir string) store.Store {
		tb.Helper()
		st, err := sqlite.Open(tb.Context(), filepath.Join(dir, "runs.db"), sqlite.Options{})
		require.NoError(tb, err)
		return st
	},
}

// onEveryStore plays a story on each store.
func onEveryStore(t *testing.T, can string, change func(*acp.Config), story func(h *host)) {
	t.Helper()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := scripted(t, dir, can)
			if change != nil {
				change(&cfg)
			}
			story(servingBy(t, new(laterClock), dir, cfg, open(t, dir)))
		})
	}
}

// waits is the limit of a question. It is longer than any test, so that only misses can exceed it.
const waits = time.Hour

// submit submits the run r with the steps.
func (h *host) submit(change func(*lifecycle.Spec), steps ...string) {
	h.Helper()
	spec := lifecycle.Spec{ID: "r", Prompt: enginetest.Script(steps...), SessionTimeout: waits}
	if change != nil {
		change(&spec)
	}
	_, err := h.Submit(h.Context(), spec)
	require.NoError(h, err)
}

func lenient(s *lifecycle.Spec) { s.AutoDecide = true }

// asks waits until the run asks question number.
func (h *host) asks(number int) lifecycle.Run {
	h.Helper()
	var run lifecycle.Run
	until(h, "question "+strconv.Itoa(number)+" is asked", func() bool {
		var err error
		run, err = h.Get(h.Context(), "r")
		require.NoError(h, err)
		require.NotContains(h, []fsm.State{fsm.StateFailed, fsm.StateSucceeded}, run.State, "%+v", run.Error)
		return run.State == fsm.StateWaitingUser && len(run.Open) > 0 && run.Open[0].ID == number
	})
	return run
}

// misses waits until the run asks the question, and sets the clock to a time after its deadline.
func (h *host) misses(number int) {
	h.Helper()
	h.asks(number)
	h.clock.ahead.Add(int64(2 * waits))
}

func (h *host) reply(number int, text string) {
	h.Helper()
	_, err := h.Reply(h.Context(), "r", interaction.Reply{ID: number, Text: text})
	require.NoError(h, err)
}

// ends waits until the run ends.
func (h *host) ends(state fsm.State, code fsm.Code) lifecycle.Run {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	run, err := h.Wait(ctx, "r")
	require.NoError(h, err)
	require.Equal(h, state, run.State, "%+v", run.Error)
	if code != "" {
		require.Equal(h, code, run.Error.Code, run.Error.Message)
	}
	return run
}

// artifact returns a file of the run.
func (h *host) artifact(name string) string {
	h.Helper()
	body, err := os.ReadFile(filepath.Join(h.dir, "runs", "r", "artifacts", name))
	require.NoError(h, err)
	return strings.TrimSpace(string(body))
}

func (h *host) pid(name string) int {
	h.Helper()
	n, err := strconv.Atoi(h.artifact(name))
	require.NoError(h, err)
	return n
}

// D1, D5: a resumable run that asks for a permission waits without a time limit, a process or a
// slot, and continues with the answer.
func TestRunThatAsksForAPermissionWaitsWithoutAProcess(t *testing.T) {
	onEveryStore(t, "load", nil, func(h *host) {
		h.submit(nil, "pid self", permit(removing("build")), "done cleaned")
		run := h.asks(1)
		require.False(h, run.Slot)
		require.Equal(h, fsm.ProfileResumable, run.Profile)
		require.Equal(h, interaction.Approval, run.Open[0].Kind)
		require.True(h, run.Deadline.IsZero())
		require.False(h, lives(h.pid("self")))
		h.reply(1, "Allow once")
		h.ends(fsm.StateSucceeded, "")
		require.Equal(h, "rm -r build: canceled\nrm -r build: once", h.artifact("decisions"))
	})
}

// D2: without an answer the agent gets an automatic decision, which is no permission: it asks
// again.
func TestAutoDecisionOfAParkedRunPermitsNothing(t *testing.T) {
	onEveryStore(t, "load", nil, func(h *host) {
		h.submit(lenient, permit(removing("build")), "done without it")
		h.misses(1)
		h.asks(2)
		h.reply(2, "no")
		run := h.ends(fsm.StateSucceeded, "")
		require.Equal(h, 1, run.AutoDecisions)
		require.Equal(h, "rm -r build: canceled\nrm -r build: canceled\nrm -r build: no", h.artifact("decisions"))
	})
}

// D3: a strict run with a resident process fails at its deadline, and its process ends.
func TestStrictStickyRunFailsAtItsDeadline(t *testing.T) {
	for _, d := range []time.Duration{0, time.Hour} {
		onEveryStore(t, "", func(c *acp.Config) { c.PermissionWait = d }, func(h *host) {
			h.submit(nil, "pid self", permit(removing("build")), "done cleaned")
			h.misses(1)
			h.ends(fsm.StateFailed, fsm.CodeInteractionWaitTimeout)
			until(h, "the process is gone", func() bool { return !lives(h.pid("self")) })
		})
	}
}

// D4: a run that is not strict continues in the same process at its deadline, without a permission.
func TestStickyRunWithAutoDecideGoesOnAtItsDeadline(t *testing.T) {
	for _, d := range []time.Duration{0, time.Hour} {
		onEveryStore(t, "", func(c *acp.Config) { c.PermissionWait = d }, func(h *host) {
			h.submit(lenient, "pid first", permit(removing("build")), "pid second", "done without it")
			h.misses(1)
			require.True(h, h.asks(2).Slot)
			h.reply(2, "once")
			h.ends(fsm.StateSucceeded, "")
			require.Equal(h, h.artifact("first"), h.artifact("second"))
			require.Equal(h, "rm -r build: canceled", strings.SplitN(h.artifact("decisions"), "\n", 2)[0])
		})
	}
}

// D6: a run whose process dies during the wait fails.
func TestRunThatLosesItsProcessFails(t *testing.T) {
	for _, change := range []func(*lifecycle.Spec){nil, lenient} {
		onEveryStore(t, "", nil, func(h *host) {
			h.submit(change, "pid self", "ask What next?")
			h.asks(1)
			p, err := os.FindProcess(h.pid("self"))
			require.NoError(h, err)
			require.NoError(h, p.Kill())
			run := h.ends(fsm.StateFailed, fsm.CodeInteractionProcessLost)
			require.False(h, run.Slot)
		})
	}
}

// I6: canceling a waiting run leaves no process.
func TestCancelOfAWaitingRunEndsItsProcess(t *testing.T) {
	for _, can := range []string{"load", ""} {
		onEveryStore(t, can, nil, func(h *host) {
			h.submit(nil, "pid self", permit(removing("build")))
			h.asks(1)
			require.NoError(h, h.Cancel(h.Context(), "r", "no longer needed"))
			h.ends(fsm.StateCanceled, fsm.CodeRunCanceled)
			until(h, "the process is gone", func() bool { return !lives(h.pid("self")) })
		})
	}
}

// B3: an output that fails its schema is repaired in the same session.
func TestInvalidOutputIsRepairedInTheSameSession(t *testing.T) {
	for _, can := range []string{"load", ""} {
		onEveryStore(t, can, nil, func(h *host) {
			h.submit(func(s *lifecycle.Spec) {
				s.RepairRounds, s.OutputSchema = 1,
					[]byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
			}, `later output {"n":1,"__SKILL_DONE__":true}`, `output {"n":"one","__SKILL_DONE__":true}`)
			run := h.ends(fsm.StateSucceeded, "")
			require.Equal(h, 1, run.Attempt)
			out, err := os.ReadFile(filepath.Join(h.dir, "runs", "r", "transcripts", "attempt-1.out"))
			require.NoError(h, err)
			require.Equal(h, 2, strings.Count(string(out), `"method":"session/prompt"`))
			require.Equal(h, 1, strings.Count(string(out), `"method":"session/new"`))
		})
	}
}
