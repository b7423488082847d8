package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// notified is an observer that records a line for each notice. Tests compare the lines in any
// order: consecutive commits of two goroutines may be reported in reverse.
type notified struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (o *notified) addf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, fmt.Sprintf(format, args...))
}

// drain returns the lines since it was called last.
func (o *notified) drain() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.lines
	o.lines = nil
	return lines
}

func (o *notified) observer() Observer {
	return Observer{
		Transition: func(n Transition) {
			why := ""
			if n.Error != nil {
				why = " " + string(n.Error.Code)
			}
			o.addf("%s v%d: %s -> %s by %s%s", n.RunID, n.Version, n.From, n.To, n.Trigger, why)
		},
		Turn: func(n EndedTurn) {
			o.addf("%s turn %d: %s, stored %t, queued %s, worked %s", n.RunID, n.Attempt, n.State, n.Stored, n.Queued,
				n.Usage.Worked)
		},
		Settled: func(n Settlement) {
			o.addf("%s question %d: %s after %s", n.RunID, n.InteractionID, n.Resolution, n.Waited)
		},
		Blocked:   func(n BlockedRun) { o.addf("%s blocked: %s, %s", n.RunID, n.Block.Kind, n.Block.Reason) },
		LeaseLost: func(n LostLease) { o.addf("lease lost: %t", n.Node != "" && !n.At.IsZero()) },
	}
}

// J13: an observer gets each transition, each turn with its waiting and working time, each answer
// with people's time, and retries. People's time is in no turn.
func TestObserverIsNotifiedOfWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o notified
		lc, stop := serve(t, Config{Observer: o.observer(), Retry: &Retry{Max: 1, Backoff: time.Minute},
			Engine: agent{turn: func(_ context.Context, in engine.Turn) (engine.Outcome, error) {
				time.Sleep(3 * time.Second)
				switch in.Attempt {
				case 1:
					return engine.Outcome{}, engine.Later(0, "overloaded")
				case 2:
					return asking("Go on?"), nil
				}
				return finished(), nil
			}}})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", NotBefore: time.Now().Add(time.Minute)})
		require.NoError(t, err)
		pass(time.Minute + 3*time.Second)
		require.ElementsMatch(t, []string{
			"r v1:  -> queued by ",
			"r v2: queued -> running by turn.started",
			"r v3: running -> queued by turn.yielded",
			"r blocked: retry, overloaded",
			"r turn 1: queued, stored true, queued 0s, worked 3s",
		}, o.drain())
		pass(time.Minute + 3*time.Second)
		require.ElementsMatch(t, []string{
			"r v4: queued -> running by turn.started",
			"r v5: running -> waiting_user by turn.needs_input",
			"r turn 2: waiting_user, stored true, queued 0s, worked 3s",
		}, o.drain())
		pass(20 * time.Minute)
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes", Key: "k"})
		require.NoError(t, err)
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes", Key: "k"})
		require.NoError(t, err, "a repeated one is no news")
		pass(3 * time.Second)
		require.ElementsMatch(t, []string{
			"r v6: waiting_user -> queued by interaction.reply.accepted",
			"r question 1: user_reply after 20m0s",
			"r v7: queued -> running by turn.started",
			"r v8: running -> succeeded by turn.succeeded",
			"r turn 3: succeeded, stored true, queued 0s, worked 3s",
		}, o.drain())
	})
}

// A turn whose run was canceled is reported as not stored, a question of an ended run as abandoned,
// and an automatic decision as automatic.
func TestObserverIsNotifiedOfWhatIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o notified
		lc, stop := serve(t, Config{Observer: o.observer(), Concurrency: 1,
			Engine: agent{turn: func(ctx context.Context, in engine.Turn) (engine.Outcome, error) {
				if in.Prompt == "ask" && in.Attempt == 1 {
					return asking("Go on?"), nil
				}
				<-ctx.Done()
				return engine.Outcome{}, ctx.Err()
			}, profile: func() (engine.Profile, error) {
				return engine.Profile{Kind: fsm.ProfileResumable, Plain: true}, nil
			}}})
		defer stop()
		spec := Spec{ID: "r", Prompt: "ask", AutoDecide: true, SessionTimeout: time.Minute}
		_, err := lc.Submit(t.Context(), spec)
		require.NoError(t, err)
		synctest.Wait()
		o.drain()
		pass(time.Minute)
		require.ElementsMatch(t, []string{
			"r v4: waiting_user -> queued by interaction.auto_decide.timeout",
			"r question 1: auto_decide_timeout after 1m0s",
			"r v5: queued -> running by turn.started",
		}, o.drain())
		_, err = lc.Submit(t.Context(), Spec{ID: "behind", Prompt: "ask"})
		require.NoError(t, err)
		pass(time.Second)
		require.NoError(t, lc.Cancel(t.Context(), "r", "not needed"))
		synctest.Wait()
		require.ElementsMatch(t, []string{
			"behind v1:  -> queued by ",
			"r v6: running -> canceled by run.canceled RUN_CANCELED",
			"r turn 2: canceled, stored false, queued 0s, worked 1s",
			"behind v2: queued -> running by turn.started",
			"behind v3: running -> waiting_user by turn.needs_input",
			"behind turn 1: waiting_user, stored true, queued 1s, worked 0s",
		}, o.drain())
		require.NoError(t, lc.Cancel(t.Context(), "behind", "not needed"))
		synctest.Wait()
		require.ElementsMatch(t, []string{
			"behind v4: waiting_user -> canceled by run.canceled RUN_CANCELED",
			"behind question 1: abandoned after 0s",
		}, o.drain())
	})
}

// A front end has an observer too. Calls in a transaction of the host are not reported, and without
// an observer there is no cost.
func TestObserverOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o notified
		s := newStore(t)
		c, err := NewClient(ClientConfig{Store: s, Observer: o.observer()})
		require.NoError(t, err)
		defer c.Close()
		_, err = c.On(viewOf(t, s)).Submit(t.Context(), Spec{ID: "tx", Prompt: "x"})
		require.NoError(t, err)
		_, err = c.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Labels: map[string]string{"team": "a"}})
		require.NoError(t, err)
		require.NoError(t, c.Cancel(t.Context(), "r", ""))
		synctest.Wait()
		require.ElementsMatch(t, []string{
			"r v1:  -> queued by ", "r v2: queued -> canceled by run.canceled RUN_CANCELED",
		}, o.drain())
		require.Nil(t, clientOf(t, s).notices)
	})
}

// An observer that is slow, or never returns, delays nothing: what does not fit is dropped and
// counted, and Close waits for a second.
func TestSlowObserverDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var got, dropped int // written by the goroutine that delivers
		o := Observer{
			Transition: func(Transition) { <-release; got++ },
			Dropped:    func(n int) { dropped += n },
		}
		lc, stop := serve(t, Config{Observer: o, Engine: agent{}})
		const runs = 2000
		began := time.Now()
		for i := range runs {
			_, err := lc.Submit(t.Context(), Spec{ID: fmt.Sprint("r", i), Prompt: "x"})
			require.NoError(t, err)
		}
		synctest.Wait()
		for i := range runs {
			in(t, lc.Client, fmt.Sprint("r", i), fsm.StateSucceeded)
		}
		require.Zero(t, time.Since(began))
		lc.notices.flush()
		require.Equal(t, flushLimit, time.Since(began))
		close(release)
		synctest.Wait()
		require.Equal(t, 3*runs, got+dropped)
		require.Equal(t, MaxNotices+1, got, "one was being delivered")
		stop()
	})
}

// An observer that panics, or ends the goroutine that calls it, changes nothing: every notice is
// delivered once, and the log is not filled.
func TestObserverThatPanicsOrExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		var o notified
		observer := o.observer()
		write := observer.Transition
		calls := 0
		observer.Transition = func(n Transition) {
			write(n)
			if calls++; calls%2 == 0 {
				runtime.Goexit()
			}
			panic(errors.New("no metrics"))
		}
		lc, stop := serve(t, Config{Observer: observer, Engine: asksOnce(), Logger: slog.New(&log)})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		synctest.Wait()
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.ElementsMatch(t, []string{
			"r v1:  -> queued by ",
			"r v2: queued -> running by turn.started",
			"r v3: running -> waiting_user by turn.needs_input",
			"r turn 1: waiting_user, stored true, queued 0s, worked 0s",
			"r v4: waiting_user -> queued by interaction.reply.accepted",
			"r question 1: user_reply after 0s",
			"r v5: queued -> running by turn.started",
			"r v6: running -> succeeded by turn.succeeded",
			"r turn 2: succeeded, stored true, queued 0s, worked 0s",
		}, o.drain())
		stop()
		require.ElementsMatch(t, []string{
			"ERROR observer failed: panic: no metrics", "ERROR observer failed: it ended its goroutine",
			"ERROR observer failed: it ended its goroutine",
		}, log.logged())
	})
}

// A node that has lost its lease says so.
func TestObserverIsNotifiedOfALostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o notified
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Observer: o.observer(), Engine: agent{}})
		synctest.Wait()
		nodes, err := s.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, nodes, 1)
		_, err = s.Expire(t.Context(), time.Now(), nodes[0].ID)
		require.NoError(t, err)
		pass(lc.cfg.Lease)
		require.ElementsMatch(t, []string{"lease lost: true"}, o.drain())
		stop()
	})
}
