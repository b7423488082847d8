package node

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// TestSettleLostProcessLeavesOtherRunsAlone: an engine may report a process whose run has ended,
// was answered, is gone, or continued elsewhere.
func TestSettleLostProcessLeavesOtherRunsAlone(t *testing.T) {
	ends := func(t *testing.T, n *Node, cm *store.Commit, err error) {
		t.Helper()
		require.NoError(t, err)
		require.NoError(t, n.proc.Commit(t.Context(), cm))
	}
	for name, prepare := range map[string]func(t *testing.T, n *Node){
		"it never was": func(*testing.T, *Node) {},
		"it is queued": func(t *testing.T, n *Node) {
			t.Helper()
			run := queued("r", n.proc.Now())
			submit(t, n.proc.Store, &run)
		},
		"it has ended": func(t *testing.T, n *Node) {
			t.Helper()
			run := queued("r", n.proc.Now())
			run = submit(t, n.proc.Store, &run)
			cm, err := decide.Cancel(&run, "", n.proc.Now())
			ends(t, n, cm, err)
		},
		"it waits elsewhere": func(t *testing.T, n *Node) {
			t.Helper()
			run := started(t, n.proc.Store, "another", 1, func(r *store.Run) { r.ID = "r" })[0]
			asks := decide.Read(engine.Outcome{Process: engine.Process{Status: engine.OK},
				Questions: []interaction.Question{interaction.Baseline("Go on?")}},
				&decide.Terms{Profile: fsm.ProfileStickyProcess})
			cm, err := decide.Turn(&run, asks, "another", n.proc.Now())
			ends(t, n, cm, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				n := alone(t, newStore(t), agent{})
				n.proc.Log = slog.New(slog.NewTextHandler(&logged, nil))
				defer n.die(nil)
				prepare(t, n)
				before, _ := n.proc.Store.Run(t.Context(), "r")
				start := time.Now()
				n.settleLostProcess(t.Context(), "r", lostWhileWaiting)
				after, _ := n.proc.Store.Run(t.Context(), "r")
				require.Equal(t, before, after)
				require.Empty(t, logged.String())
				require.Equal(t, start, time.Now())
			})
		})
	}
}

// D3 J10: an engine has its time to end a process, also once the node is at its end. A call that is
// under way then is cut short, since the node ends all processes together.
func TestEndResidentIsGivenItsTime(t *testing.T) {
	for name, c := range map[string]struct{ end, want time.Duration }{
		"the node goes on":               {time.Hour, EndLimit},
		"the node comes to its end":      {time.Second, time.Second},
		"the node was at its end before": {-1, EndLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := alone(t, newStore(t), holder{end: func(ctx context.Context, _ string) error {
					<-ctx.Done()
					return context.Cause(ctx)
				}})
				defer n.die(nil)
				if c.end < 0 {
					n.cancelEnd()
				} else {
					defer time.AfterFunc(c.end, n.cancelEnd).Stop()
				}
				began := time.Now()
				n.endResident("r", "default", EndLimit)
				require.Equal(t, c.want, time.Since(began))
			})
		})
	}
}

// D6: each engine that has processes is asked for its reports, whatever other engines there are,
// and each report is ended.
func TestWatchResidentsAsksEachEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := alone(t, newStore(t), agent{})
		defer n.die(nil)
		var subscribed, ended atomic.Int64
		for i := range 8 {
			n.proc.Engines[fmt.Sprint("plain-", i)] = agent{}
			n.proc.Engines[fmt.Sprint("sticky-", i)] = holder{onLoss: func() func() {
				subscribed.Add(1)
				return func() { ended.Add(1) }
			}}
		}
		stop := n.watchResidents()
		require.EqualValues(t, 8, subscribed.Load())
		stop()
		require.EqualValues(t, 8, ended.Load())
	})
}

// D6 J10: a node does not wait for an OnLoss that hangs for longer than its lease allows.
func TestWatchResidentsWaitsWithinTheLease(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{4 * time.Second: time.Second, time.Hour: LossLimit} {
		synctest.Test(t, func(t *testing.T) {
			goOn := make(chan struct{})
			n := alone(t, newStore(t), holder{onLoss: func() func() {
				<-goOn
				return func() {}
			}})
			defer n.die(nil)
			n.cfg.Lease = lease
			began := time.Now()
			stop := n.watchResidents()
			require.Equal(t, want+CallReturnLimit, time.Since(began))
			close(goOn)
			stop()
		})
	}
}
