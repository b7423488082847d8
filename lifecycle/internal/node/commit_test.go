package node

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// TestFindCommittedReportsIfAnUnknownCommitWasStored: I2, a commit of unknown outcome was stored if
// the store has the version and state that it was to store, of the same epoch, or what can only
// have followed from it here.
func TestFindCommittedReportsIfAnUnknownCommitWasStored(t *testing.T) {
	held := func(version uint64, state fsm.State, owner string, epoch uint64) store.Run {
		return store.Run{ID: "r", Version: version, State: state, Owner: owner, Epoch: epoch}
	}
	for name, c := range map[string]struct {
		committed fsm.State // the state in version 6; the record has version 5
		stored    store.Run
		want      commitStatus
	}{
		"end stored":               {fsm.StateSucceeded, held(6, fsm.StateSucceeded, "", 2), commitStored},
		"report stored":            {fsm.StateRunning, held(6, fsm.StateRunning, "n", 2), commitStored},
		"wait stored and answered": {fsm.StateWaitingUser, held(7, fsm.StateQueued, "n", 2), commitStored},
		"not stored":               {fsm.StateSucceeded, held(5, fsm.StateRunning, "n", 2), commitNotStored},
		"canceled instead":         {fsm.StateSucceeded, held(6, fsm.StateCanceled, "", 2), runChanged},
		"same state, later":        {fsm.StateSucceeded, held(7, fsm.StateSucceeded, "", 2), runChanged},
		"another epoch":            {fsm.StateRunning, held(6, fsm.StateRunning, "n", 3), runChanged},
		"wait answered, no owner":  {fsm.StateWaitingUser, held(7, fsm.StateQueued, "", 2), runChanged},
		"wait taken over":          {fsm.StateWaitingUser, held(7, fsm.StateWaitingUser, "m", 2), runChanged},
		"queued instead of wait":   {fsm.StateWaitingUser, held(6, fsm.StateQueued, "n", 2), runChanged},
		"queued after a report":    {fsm.StateRunning, held(7, fsm.StateQueued, "n", 2), runChanged},
		"version of another epoch": {fsm.StateSucceeded, held(4, fsm.StateRunning, "m", 1), runChanged},
	} {
		t.Run(name, func(t *testing.T) {
			worker, n := workerAt5(t, saying{newStore(t), c.stored, nil, nil})
			defer n.die(nil)
			before, next := *worker.record, held(6, c.committed, "n", 2)
			got, lost := worker.findCommitted(&next)
			require.NoError(t, lost)
			require.Equal(t, c.want, got)
			if got == commitStored {
				require.Equal(t, c.stored, *worker.record)
			} else {
				require.Equal(t, before, *worker.record)
			}
			require.Equal(t, c.stored, *worker.reload(), "the run as others left it")
		})
	}
	t.Run("store cannot be read", func(t *testing.T) {
		worker, n := workerAt5(t, saying{newStore(t), store.Run{}, errors.New("connection refused"), nil})
		defer n.die(nil)
		before, next := *worker.record, held(6, fsm.StateSucceeded, "n", 2)
		got, lost := worker.findCommitted(&next)
		require.NoError(t, lost)
		require.Equal(t, commitUnknown, got)
		require.Equal(t, before, *worker.reload(), "as the worker stored it last")
	})
	t.Run("acknowledged commit lost", func(t *testing.T) {
		worker, n := workerAt5(t, saying{newStore(t), held(4, fsm.StateRunning, "n", 2), nil, nil})
		defer n.die(nil)
		next := held(6, fsm.StateSucceeded, "n", 2)
		_, lost := worker.findCommitted(&next)
		require.ErrorIs(t, lost, engine.ErrStale)
		require.ErrorContains(t, lost, "run r is at version 4, and was at 5")
	})
}

// After a restore or a failover, a version does not identify a record. The turn continues only if the
// store has its record, or the record that a try of its commit would have stored.
func TestR5FindCommittedComparesRecordsAfterARestore(t *testing.T) {
	at5 := store.Run{ID: "r", Version: 5, State: fsm.StateRunning, Owner: "n", Epoch: 2}
	taken := at5
	taken.Epoch, taken.Version = 3, 6
	with := func(r store.Run, version uint64, trace string) store.Run {
		r.Version, r.Trace = version, trace
		return r
	}
	for name, c := range map[string]struct {
		stored store.Run
		want   commitStatus
		lost   bool
	}{
		"as it was":                     {at5, commitNotStored, false},
		"the last try":                  {with(at5, 6, "last"), commitStored, false},
		"an earlier try":                {with(at5, 6, "earlier"), commitStored, false},
		"the same version by another":   {with(at5, 5, "other"), runChanged, true},
		"the next version by another":   {with(at5, 6, "other"), runChanged, true},
		"an earlier version by another": {with(at5, 4, "other"), runChanged, true},
		"a later version":               {with(at5, 7, "last"), runChanged, true},
		"another epoch":                 {taken, runChanged, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.stored.Incarnation = 9
			worker, n := workerAt5(t, saying{newStore(t), c.stored, nil, nil})
			defer n.die(nil)
			earlier, last := with(at5, 6, "earlier"), with(at5, 6, "last")
			worker.tries = []recordHash{hashRecord(&earlier), hashRecord(&last)}
			got, err := worker.findCommitted(&last)
			require.Equal(t, c.want, got)
			require.Equal(t, c.lost, errors.Is(err, errCommitsLost))
			if c.want == runChanged {
				require.Zero(t, worker.record.Incarnation)
			} else {
				require.Equal(t, c.stored, *worker.record, "the next commit is decided on it")
			}
		})
	}
}

// workerAt5 is a worker of epoch 2 that stored version 5 of its run last.
func workerAt5(t *testing.T, s store.Store) (*turn, *Node) {
	t.Helper()
	n := alone(t, s, agent{})
	record := store.Run{ID: "r", Version: 5, State: fsm.StateRunning, Owner: "n", Epoch: 2}
	return &turn{node: &n.member, owner: n, epoch: 2, record: &record}, n
}

// M3: a store that is down is asked more and more rarely, until it answers.
func TestM3ReadsForAnEngineWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		n := alone(t, newStore(t), agent{})
		defer n.die(nil)
		n.proc.Log = slog.New(slog.NewTextHandler(&logged, nil))
		errDown := errors.New("the store is down")
		begun := time.Now()
		var asked []time.Duration
		worker := &turn{node: &n.member, call: EngineCall{RunID: "r"}}
		err := worker.untilAnswered(t.Context(), "child not read", func() error {
			asked = append(asked, time.Since(begun))
			if len(asked) < 5 {
				return errDown
			}
			return store.ErrNotFound
		})
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Equal(t, []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 140 * time.Millisecond,
			300 * time.Millisecond}, asked)
		require.Equal(t, 4, strings.Count(logged.String(), "child not read; trying again"))
	})
}
