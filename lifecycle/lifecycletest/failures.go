package lifecycletest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
)

// inFolder is a story whose runs have folders.
func inFolder(tell func(w *world, dir string), options ...option) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		t.Helper()
		dir := t.TempDir()
		w := newWorld(t, h, append(options, config(func(c *lifecycle.Config) { c.Dir = dir }))...)
		tell(w, dir)
		w.end()
	}
}

var failures = []story{
	{"I1/a run answered once is started once", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("?"), Done("ok"))
		w.submit("r", lenient(time.Minute))
		w.advance(time.Minute - time.Microsecond)
		w.reply("r", 1, "just in time")
		w.advance(time.Hour)
		w.is("r", fsm.StateSucceeded)
		started := 0
		for _, e := range w.types("r") {
			if e == "queued→running turn.started" {
				started++
			}
		}
		require.Equal(w, 2, started)
	})},
	{"I3/a missing workspace frees the slot once and the next run proceeds", inFolder(func(w *world, dir string) {
		w.agent.Plan("", Done("ok"))
		w.submit("r", func(s *lifecycle.Spec) { s.WorkDir = filepath.Join(dir, "nowhere") })
		w.failedWith("r", fsm.CodeWorkspaceMissing)
		require.Empty(w, w.agent.Turns("r"))
		w.submit("next")
		w.is("next", fsm.StateSucceeded)
		pools, err := w.store.Pools(w.ctx)
		require.NoError(w, err)
		require.Zero(w, pools[0].Held)
	}, capacity(1))},
	{"I4/a queued resume whose files are gone fails once and is not driven again", inFolder(func(w *world, dir string) {
		w.agent.Plan("r", Wonders("?"), Done("ok"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		require.NoError(w, os.RemoveAll(filepath.Join(dir, "r")))
		w.reply("r", 1, "yes")
		run := w.failedWith("r", fsm.CodeWorkspaceMissing)
		w.advance(time.Hour)
		require.Equal(w, run, w.is("r", fsm.StateFailed))
		require.Len(w, w.agent.Turns("r"), 1)
	})},
	{"I5/a slow reader holds no slot and loses no event", inWorld(func(w *world) {
		w.agent.Plan("", Done("ok"))
		done := make(chan int)
		w.submit("slow")
		go func() {
			n := 0
			for _, err := range w.Events(w.ctx, "slow", 0) {
				if err == nil {
					n++
				}
				time.Sleep(5 * time.Minute)
			}
			done <- n
		}()
		for i := range 10 {
			id := fmt.Sprintf("r%d", i)
			w.submit(id)
			w.is(id, fsm.StateSucceeded)
		}
		require.Equal(w, int(w.is("slow", fsm.StateSucceeded).Seq), <-done)
	}, capacity(1))},
	{"I6/a canceled queued run is never started", inWorld(func(w *world) {
		hold := make(chan struct{})
		w.agent.Plan("busy", Until(hold, Done("ok")))
		w.agent.Plan("r", Done("ok"))
		w.submit("busy")
		w.submit("r")
		require.NoError(w, w.Cancel(w.ctx, "r", ""))
		close(hold)
		w.is("busy", fsm.StateSucceeded)
		w.advance(time.Hour)
		w.is("r", fsm.StateCanceled)
		require.Empty(w, w.agent.Turns("r"))
	}, capacity(1))},
	{"I6/cancel ends a running engine, and a result that arrives later changes nothing", inWorld(func(w *world) {
		late := make(chan struct{})
		canceled := make(chan error, 1)
		w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
			<-ctx.Done()
			canceled <- context.Cause(ctx)
			<-late // an agent that takes its time to die
			return Done("Success after all!")(ctx, t, s)
		})
		w.submit("r")
		w.is("r", fsm.StateRunning)
		require.NoError(w, w.Cancel(w.ctx, "r", "stop"))
		require.ErrorIs(w, <-canceled, engine.ErrCanceled)
		run := w.is("r", fsm.StateCanceled)
		require.Equal(w, fsm.CodeRunCanceled, run.Error.Code)
		close(late)
		w.advance(time.Minute)
		require.Equal(w, run, w.is("r", fsm.StateCanceled))
	})},
	{"B1/a turn that exceeds its time limit fails", inWorld(func(w *world) {
		w.agent.Plan("r", Until(never, Done("")))
		w.submit("r", func(s *lifecycle.Spec) { s.TurnTimeout = time.Minute })
		w.advance(59 * time.Second)
		w.is("r", fsm.StateRunning)
		w.advance(2 * time.Second)
		w.failedWith("r", fsm.CodeTurnTimeout)
	})},
	{"I13/thousands of parked runs leave the others alone", inWorld(func(w *world) {
		w.agent.Plan("", Wonders("?"))
		for i := range 2000 {
			run, err := w.Submit(w.ctx, lifecycle.Spec{ID: fmt.Sprintf("p%d", i), Prompt: "x"})
			require.NoError(w, err)
			require.Equal(w, fsm.StateQueued, run.State)
		}
		w.is("p1999", fsm.StateWaitingUser)
		w.agent.Plan("r", Done("ok"))
		w.submit("r")
		w.is("r", fsm.StateSucceeded)
		page, err := w.Inbox(w.ctx, lifecycle.Query{Limit: 1000})
		require.NoError(w, err)
		require.Len(w, page.Runs, 1000)
		require.NotEmpty(w, page.Next)
	})},
	{"A2/keys of one pool take turns, and no key exceeds its capacity", inWorld(func(w *world) {
		hold := make(chan struct{})
		w.agent.Plan("", Until(hold, Done("ok")))
		for i := range 20 {
			_, err := w.Submit(w.ctx, lifecycle.Spec{ID: fmt.Sprintf("a%d", i), Prompt: "x", Pool: "shared", Key: "a"})
			require.NoError(w, err)
		}
		_, err := w.Submit(w.ctx, lifecycle.Spec{ID: "b0", Prompt: "x", Pool: "shared", Key: "b"})
		require.NoError(w, err)
		w.is("b0", fsm.StateRunning)
		running := 0
		for i := range 20 {
			run, err := w.Get(w.ctx, fmt.Sprintf("a%d", i))
			require.NoError(w, err)
			if run.State == fsm.StateRunning {
				running++
			}
		}
		require.Equal(w, 2, running)
		close(hold)
		w.is("a19", fsm.StateSucceeded)
	}, config(func(c *lifecycle.Config) { c.Pools = []slots.Pool{{Name: "shared", Capacity: 3, KeyCapacity: 2}} }))},
}
