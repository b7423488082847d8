package lifecycletest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// never is a channel that nobody closes. It is nil, since one that was made outside a bubble would
// stop its clock.
var never chan struct{}

var recovery = []story{
	{"E1 E8/a parked run survives a restart, and reply and cancel work as before", inWorld(func(w *world) {
		w.agent.Plan("", Wonders("Go on?"))
		w.agent.Plan("a", Wonders("Go on?"), Done("ok"))
		w.submit("a")
		w.submit("b")
		before := w.is("a", fsm.StateWaitingUser)
		require.Equal(w, store.RecoveryNone, before.Recovery)
		w.advance(time.Hour)
		w.restart()
		run := w.is("a", fsm.StateWaitingUser)
		require.Equal(w, store.RecoveredWaiting, run.Recovery)
		require.False(w, run.RecoveredAt.IsZero())
		require.NotEmpty(w, run.RecoveryReason)
		require.Equal(w, before.Pending, run.Pending)
		require.Equal(w, before.Seq, run.Seq, "recovery tells no event of a wait that goes on")
		w.reply("a", 1, "yes")
		w.is("a", fsm.StateSucceeded)
		require.NoError(w, w.Cancel(w.ctx, "b", "no"))
		w.is("b", fsm.StateCanceled)
	})},
	{"E1 D2/a deadline survives a restart", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.submit("r", lenient(time.Hour))
		deadline := w.is("r", fsm.StateWaitingUser).Deadline
		w.advance(30 * time.Minute)
		w.restart()
		require.True(w, deadline.Equal(w.is("r", fsm.StateWaitingUser).Deadline))
		w.advance(30*time.Minute + time.Second)
		w.is("r", fsm.StateSucceeded)
	})},
	{"E1 D2/a deadline that passed while the host was down fires at its start, once", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.submit("r", lenient(time.Minute))
		w.is("r", fsm.StateWaitingUser)
		w.stop()
		w.advance(time.Hour)
		w.start()
		w.advance(5 * time.Second) // recovery and the deadline meet on one run: the loser looks again at the next poll
		w.is("r", fsm.StateSucceeded)
		require.Len(w, w.agent.Turns("r"), 2)
	})},
	{"E2/a parked run whose session the engine refuses fails", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.agent.Refuse("r")
		w.restart()
		run := w.failedWith("r", fsm.CodeSessionResumeFailed)
		require.Equal(w, store.FailedReconciled, run.Recovery)
		require.Contains(w, run.Error.Message, "session expired")
		require.Contains(w, w.types("r"), "waiting_user→failed restart.reconcile_failed",
			"F2: told as every change of state")
	})},
	{"E3 E7/a sticky run whose process's owner is gone fails", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.fence()
		w.advance(time.Minute)
		run := w.failedWith("r", fsm.CodeInteractionProcessLost)
		require.Equal(w, store.FailedReconciled, run.Recovery)
		require.Contains(w, w.agent.reaped, "r")
	}, sticky)},
	{"E3/a queued sticky run whose process's owner is gone fails once and frees its slot", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.agent.Plan("busy", Until(never, Done("")))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.submit("busy")
		w.is("busy", fsm.StateRunning)
		w.reply("r", 1, "yes")
		w.is("r", fsm.StateQueued)
		w.fence()
		w.advance(time.Minute)
		w.failedWith("r", fsm.CodeInteractionProcessLost)
		w.failedWith("busy", fsm.CodeOrchestratorRestartInterrupted)
	}, sticky, config(func(c *lifecycle.Config) { c.Concurrency = 1 }))},
	{"E4 E8/a running turn whose worker is gone fails when it may not be repeated", inWorld(func(w *world) {
		w.agent.Plan("r", Until(never, Done("")))
		w.submit("r")
		w.is("r", fsm.StateRunning)
		w.fence()
		w.advance(time.Minute)
		run := w.failedWith("r", fsm.CodeOrchestratorRestartInterrupted)
		require.Equal(w, store.FailedReconciled, run.Recovery)
		require.Len(w, w.agent.Turns("r"), 1)
	})},
	{"E4/a running turn whose worker is gone is repeated as a new attempt where the spec allows it",
		inWorld(func(w *world) {
			w.agent.Plan("r", Until(never, Done("")), Done("ok"))
			w.submit("r", repeatable)
			w.is("r", fsm.StateRunning)
			w.fence()
			w.advance(time.Minute)
			run := w.is("r", fsm.StateSucceeded)
			require.Equal(w, 2, run.Attempt)
			require.Contains(w, run.Warnings, fsm.WarnTurnRepeated)
			require.Contains(w, w.types("r"), "running→queued restart.requeue")
		})},
	{"E4/the last attempt is not repeated", inWorld(func(w *world) {
		w.agent.Plan("r", Until(never, Done("")))
		w.submit("r", repeatable, attempts(1))
		w.is("r", fsm.StateRunning)
		w.fence()
		w.advance(time.Minute)
		w.failedWith("r", fsm.CodeOrchestratorRestartInterrupted)
	})},
	{"E5/queued runs stay queued and are executed exactly once", inWorld(func(w *world) {
		hold := make(chan struct{})
		w.agent.Plan("busy", Until(hold, Done("")))
		w.agent.Plan("fresh", Done("ok"))
		w.agent.Plan("answered", Wonders("Go on?"), Done("ok"))
		w.submit("answered")
		w.is("answered", fsm.StateWaitingUser)
		w.submit("busy")
		w.submit("fresh")
		w.reply("answered", 1, "yes")
		w.is("fresh", fsm.StateQueued)
		w.is("answered", fsm.StateQueued)
		w.restart()
		w.is("fresh", fsm.StateSucceeded)
		w.is("answered", fsm.StateSucceeded)
		require.Len(w, w.agent.Turns("fresh"), 1)
		turns := w.agent.Turns("answered")
		require.Len(w, turns, 2)
		require.Equal(w, "yes", turns[1].Answers[0].Text, "an accepted reply is never lost")
		close(hold)
	}, capacity(1), config(func(c *lifecycle.Config) { c.Grace = -1 }))},
	{"E5 E4/an accepted reply is given again to a repeated turn", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Until(never, Done("")), Done("ok"))
		w.submit("r", repeatable)
		w.reply("r", 1, "yes")
		w.is("r", fsm.StateRunning)
		w.fence()
		w.advance(time.Minute)
		w.is("r", fsm.StateSucceeded)
		turns := w.agent.Turns("r")
		require.Len(w, turns, 3)
		require.Equal(w, "yes", turns[2].Answers[0].Text)
	})},
	{"E6/recovery twice, and by many at once, has the same result as once", inWorld(func(w *world) {
		w.agent.Plan("", Wonders("Go on?"))
		w.agent.Plan("running", Until(never, Done("")))
		for _, id := range []string{"a", "b", "c"} {
			w.submit(id)
		}
		w.submit("running")
		w.is("running", fsm.StateRunning)
		w.fence()
		var all sync.WaitGroup
		var total lifecycle.Recovery
		var mu sync.Mutex
		for range 8 {
			all.Go(func() {
				done, err := w.Recover(w.ctx)
				mu.Lock()
				defer mu.Unlock()
				require.NoError(w, err)
				total.Preserved += done.Preserved
				total.Failed += done.Failed
			})
		}
		all.Wait()
		require.Equal(w, 3, total.Preserved, "each run is settled once")
		require.Equal(w, 1, total.Failed)
		settled := w.is("a", fsm.StateWaitingUser)
		again, err := w.Recover(w.ctx)
		require.NoError(w, err)
		require.Equal(w, lifecycle.Recovery{}, again)
		require.Equal(w, settled, w.is("a", fsm.StateWaitingUser))
	}, config(func(c *lifecycle.Config) { c.Lease = time.Hour }))},
	{"E7/what a dead worker left is ended first, and a failure to do so is a warning", inWorld(func(w *world) {
		w.agent.Plan("r", Until(never, Done("")))
		w.agent.reapErr = errors.New("permission denied")
		w.submit("r")
		w.is("r", fsm.StateRunning)
		w.fence()
		w.advance(time.Minute)
		run := w.failedWith("r", fsm.CodeOrchestratorRestartInterrupted)
		require.Contains(w, run.Warnings, fsm.WarnOrphanReapFailed)
		require.Contains(w, w.types("r"), fcmp.TypeWarning)
		require.Equal(w, []string{"r"}, w.agent.reaped)
	})},
	{"E4 I2/a worker that was taken over is fenced off: its engine is canceled and its result changes nothing",
		inWorld(func(w *world) {
			cause := make(chan error, 1)
			finish := make(chan struct{})
			w.agent.Plan("r", func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
				<-finish // the process is paused past its lease
				err := s.Message(ctx, engine.Message{Text: "late"})
				<-ctx.Done()
				cause <- err
				return Done("late")(ctx, t, s)
			}, Done("in time"))
			w.submit("r", repeatable)
			w.is("r", fsm.StateRunning)
			w.fence()
			_, err := w.Recover(w.ctx)
			require.NoError(w, err)
			w.is("r", fsm.StateQueued)
			close(finish)
			require.ErrorIs(w, <-cause, engine.ErrStale)
			w.advance(time.Minute)
			run := w.is("r", fsm.StateSucceeded)
			require.Contains(w, run.FinalText, "in time")
			for _, e := range w.log("r") {
				require.NotContains(w, string(e.Data), "late")
			}
		})},
	{"E5/a shutdown lets turns finish within their grace", inWorld(func(w *world) {
		hold := make(chan struct{})
		w.agent.Plan("r", Until(hold, Done("ok")))
		w.submit("r")
		w.is("r", fsm.StateRunning)
		var stopped sync.WaitGroup
		stopped.Go(w.stop)
		time.Sleep(5 * time.Second) // the bubble's time
		close(hold)
		stopped.Wait()
		w.start()
		w.is("r", fsm.StateSucceeded)
	})},
	{"E4/a shutdown returns an interrupted turn to the queue where it may be repeated", inWorld(func(w *world) {
		w.agent.Plan("r", Until(never, Done("")), Done("ok"))
		w.agent.Plan("s", Until(never, Done("")))
		w.submit("r", repeatable)
		w.submit("s")
		w.is("r", fsm.StateRunning)
		w.restart()
		run := w.is("r", fsm.StateSucceeded)
		require.Equal(w, 2, run.Attempt)
		require.Nil(w, run.Error, "an interrupted turn is no failed attempt")
		w.failedWith("s", fsm.CodeOrchestratorRestartInterrupted)
	})},
	{"J3/a turn that takes its worker down again and again is repeated three times, and then its run fails with a " +
		"code of its own", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Until(never, Done("")), Until(never, Done("")), Wonders("And now?"),
			Until(never, Done("")), Until(never, Done("")), Until(never, Done("")), Until(never, Done("")))
		w.submit("r", repeatable)
		lost := func(times int) {
			w.Helper()
			for i := range times {
				w.is("r", fsm.StateRunning)
				w.fence()
				_, err := w.Recover(w.ctx)
				require.NoError(w, err)
				run := w.is("r", fsm.StateQueued)
				require.Equal(w, i+1, run.Repeats)
				require.Equal(w, time.Second<<i, run.NotBefore.Sub(run.QueuedAt))
				w.advance(time.Minute)
			}
		}
		w.reply("r", 1, "yes")
		lost(2)
		require.Zero(w, w.is("r", fsm.StateWaitingUser).Repeats, "a turn that ends well starts the count again")
		w.reply("r", 2, "yes")
		lost(3)
		w.fence()
		w.advance(time.Minute)
		run := w.failedWith("r", fsm.CodeTurnRepeatLimitExceeded)
		require.Contains(w, run.Error.Message, "repeated 3 times in a row")
		require.Equal(w, store.FailedReconciled, run.Recovery)
		require.Len(w, w.agent.Turns("r"), 8)
	})},
	{"J3/the limit on repeats is the spec's", inWorld(func(w *world) {
		w.agent.Plan("r", Until(never, Done("")), Until(never, Done("")))
		w.submit("r", repeatable, func(s *lifecycle.Spec) { s.MaxRepeats = 1 })
		for range 2 {
			w.is("r", fsm.StateRunning)
			w.fence()
			w.advance(time.Minute)
		}
		w.failedWith("r", fsm.CodeTurnRepeatLimitExceeded)
	})},
	{"J3/an orderly shutdown is no fault of the turn and does not count", inWorld(func(w *world) {
		const deploys = 5
		for range deploys {
			w.agent.Plan("r", Until(never, Done("")))
		}
		w.agent.Plan("r", Done("ok"))
		w.submit("r", repeatable)
		for range deploys {
			run := w.is("r", fsm.StateRunning)
			require.Zero(w, run.Repeats)
			w.restart()
		}
		require.Equal(w, deploys+1, w.is("r", fsm.StateSucceeded).Attempt)
	})},
	{"J3/an orderly shutdown fails no turn, however often the turn was repeated before", inWorld(func(w *world) {
		w.agent.Plan("r", Until(never, Done("")), Until(never, Done("")), Done("ok"))
		w.submit("r", repeatable, func(s *lifecycle.Spec) { s.MaxRepeats = 1 })
		w.is("r", fsm.StateRunning)
		w.fence()
		w.advance(time.Minute)
		require.Equal(w, 1, w.is("r", fsm.StateRunning).Repeats)
		w.restart()
		run := w.is("r", fsm.StateSucceeded)
		require.Equal(w, 3, run.Attempt)
	})},
	{"E4 J3/a repeatable turn whose agent was killed while its host lives is repeated within the same limit, and " +
		"others go first", inWorld(func(w *world) {
		killed := func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
			return engine.Outcome{Process: engine.Process{Status: engine.Interrupted, Detail: "killed by signal 9"}},
				nil
		}
		goOn := make(chan struct{})
		w.agent.Plan("busy", Until(goOn, Done("ok")))
		w.agent.Plan("good", Until(goOn, Done("ok")))
		w.agent.Plan("r", killed, killed, killed, killed)
		w.agent.Plan("mended", killed, Done("ok"))
		w.agent.Plan("once", killed)
		w.submit("busy")
		w.submit("r", repeatable)
		w.submit("good")
		w.is("good", fsm.StateQueued)
		close(goOn)
		w.is("good", fsm.StateSucceeded) // it is younger, and did not wait for the other
		run := w.is("r", fsm.StateQueued)
		require.Equal(w, 1, run.Repeats)
		require.Contains(w, run.Warnings, fsm.WarnTurnRepeated)
		w.advance(time.Minute)
		run = w.failedWith("r", fsm.CodeTurnRepeatLimitExceeded)
		require.Contains(w, run.Error.Message, "killed by signal 9")
		require.Equal(w, 4, run.Attempt)

		w.submit("mended", repeatable)
		w.submit("once")
		w.advance(time.Minute)
		require.Equal(w, 2, w.is("mended", fsm.StateSucceeded).Attempt)
		w.failedWith("once", fsm.CodeTurnInterrupted)
	}, capacity(1))},
	{"D6 E3/a shutdown ends resident processes and says so in their runs", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"))
		w.submit("r")
		w.is("r", fsm.StateWaitingUser)
		w.restart()
		w.failedWith("r", fsm.CodeInteractionProcessLost)
		require.False(w, w.agent.Lives("r"))
		_, err := w.Reply(w.ctx, "r", interaction.Reply{ID: 1, Text: "x"})
		require.ErrorIs(w, err, lifecycle.ErrSettled)
	}, sticky)},
}
