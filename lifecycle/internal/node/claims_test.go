package node

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// announcing is a store that counts announcements, and sends none.
type announcing struct {
	store.Store
	announced []fsm.State
}

func (*announcing) Claims(func(store.Hint) bool) (stop func()) { return func() {} }

func (a *announcing) Announce(state fsm.State) { a.announced = append(a.announced, state) }

// sharing returns a node that shares its store with others, whose loops do not run.
func sharing(t *testing.T, peers ...string) (*Node, *announcing) {
	t.Helper()
	a := &announcing{Store: newStore(t)}
	n := alone(t, a, agent{})
	n.cfg.Engines, n.claims.announcer = []string{"a", "b"}, a
	n.claims.noteRank(peers)
	return n, a
}

// R4: a node makes the claim that a commit of its process calls for exactly if the claim can pick
// the run.
func TestNodePromisesOnlyTheClaimsThatItMakes(t *testing.T) {
	n, _ := sharing(t, "n")
	defer n.die(nil)
	queued := func(change func(*store.Run)) store.Hint {
		r := store.Run{ID: "r", State: fsm.StateQueued, Engine: "b", UpdatedAt: noon, NotBefore: noon}
		change(&r)
		return store.Hint{RunID: r.ID, State: r.State, Run: &r}
	}
	for name, c := range map[string]struct {
		want bool
		store.Hint
	}{
		"ready":            {true, queued(func(*store.Run) {})},
		"of another":       {false, queued(func(r *store.Run) { r.Engine = "c" })},
		"later":            {false, queued(func(r *store.Run) { r.NotBefore = noon.Add(1) })},
		"held":             {false, queued(func(r *store.Run) { r.Block = &store.Block{} })},
		"sticky here":      {true, queued(func(r *store.Run) { r.Slot, r.Owner, r.Engine = true, "n", "c" })},
		"sticky elsewhere": {false, queued(func(r *store.Run) { r.Slot, r.Owner = true, "m" })},
		"running":          {true, store.Hint{RunID: "r", State: fsm.StateRunning}},
		"a slot":           {true, store.Hint{RunID: "r", State: fsm.StateFailed}},
	} {
		require.Equal(t, c.want, n.claims.promisesClaim(c.Hint), name)
	}
	ready := queued(func(*store.Run) {})
	require.True(t, n.claims.promisedSlot.Swap(false))
	require.True(t, n.claims.promisesClaim(ready))
	require.False(t, n.claims.promisedSlot.Load())
	n.claims.drained.Store(true)
	require.False(t, n.claims.promisesClaim(store.Hint{RunID: "r", State: fsm.StateFailed}), "no run waits here")
	n.claims.full.Store(true)
	require.False(t, n.claims.promisesClaim(ready))
	n.claims.full.Store(false)
	n.claims.abstains.Store(true)
	require.False(t, n.claims.promisesClaim(ready))
}

// R4: promises that a full or ending node cannot keep are announced, and so is a backlog that waits
// for slots, once.
func TestNodeAnnouncesWhatItDoesNotClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a := sharing(t, "n")
		defer n.die(nil)
		require.True(t, n.cfg.Permits.TryAcquire(8))
		n.claims.promised.Store(true)
		done := make(chan error)
		go func() { done <- n.awaitRoom(t.Context()) }()
		synctest.Wait()
		require.Equal(t, []fsm.State{fsm.StateQueued}, a.announced)
		n.cfg.Permits.Release(8)
		require.NoError(t, <-done)
		ended, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, n.awaitRoom(ended), context.Canceled, "a free permit keeps no ending scheduler busy")

		n.claims.promised.Store(true)
		n.stopClaiming()
		n.stopClaiming()
		require.Len(t, a.announced, 2)

		n.proc.Store = leaving{a, false} // nothing was claimed, and runs are left
		for range 3 {
			n.claims.promised.Store(true)
			if len(a.announced) == 2 {
				n.claims.drained.Store(true)
			}
			_, err := n.claimAndAnnounce(t.Context(), 1)
			require.NoError(t, err)
			require.Len(t, a.announced, 3)
		}
		n.proc.Store = leaving{a, true}
		n.claims.promised.Store(true)
		_, err := n.claimAndAnnounce(t.Context(), 1)
		require.NoError(t, err)
		require.Len(t, a.announced, 3, "another node has claimed the run")
		n.claims.promisedSlot.Store(true)
		_, err = n.claimAndAnnounce(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, fsm.StateWaitingUser, a.announced[3], "a slot that nothing wants here")
	})
}

// leaving is a store whose claims find nothing.
type leaving struct {
	store.Store
	drained bool
}

func (s leaving) Claim(_ context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if req.Drained != nil {
		*req.Drained = s.drained
	}
	return nil, nil
}

// R4: each run that another process announces has one node that looks at once. The others follow
// one by one, and only if nobody has claimed the run by then.
func TestNodesLookForAnnouncedRunsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := []string{"n0", "n1", "n2", "n3"}
		begun := time.Now()
		looked := make(chan time.Duration, len(ids))
		for i := range ids {
			n, _ := sharing(t, ids...)
			defer n.die(nil)
			n.id = ids[i]
			n.claims.noteRank(ids)
			go func() { _ = n.claims.serveDeferred(t.Context()) }()
			n.handleHint(store.Hint{RunID: "claimed", State: fsm.StateQueued, Claimed: true})
			n.handleHint(store.Hint{RunID: "r", State: fsm.StateQueued})
			n.handleHint(store.Hint{RunID: "r", State: fsm.StateQueued})
			go func() {
				<-n.claims.wakeup
				looked <- time.Since(begun)
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, looked, len(ids))
		for i := range ids {
			require.Equal(t, time.Duration(i)*claimGap, <-looked)
		}

		again, _ := sharing(t, ids...)
		defer again.die(nil)
		go func() { _ = again.claims.serveDeferred(t.Context()) }()
		for range 3 { // an announcement counts, though the node has looked for the run before
			again.handleHint(store.Hint{RunID: "r", State: fsm.StateQueued})
			<-again.claims.wakeup
		}

		n, _ := sharing(t, ids...)
		defer n.die(nil)
		go func() { _ = n.claims.serveDeferred(t.Context()) }()
		n.claims.deferClaim(store.Hint{RunID: "r", State: fsm.StateQueued}, 1)
		n.handleHint(store.Hint{RunID: "r", State: fsm.StateRunning})
		n.claims.deferClaim(store.Hint{RunID: "s", State: fsm.StateQueued}, 1)
		n.claims.begun.Add(1)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, n.claims.wakeup)

		// A slot was freed during a claim, which then left no run for it.
		n.handleHint(store.Hint{RunID: "u", State: fsm.StateSucceeded})
		n.claims.drained.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, n.claims.wakeup)
		n.claims.drained.Store(false)
		n.handleHint(store.Hint{RunID: "u", State: fsm.StateQueued})
		n.handleHint(store.Hint{RunID: "u", State: fsm.StateSucceeded}) // and still for the first hint
		n.claims.drained.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, n.claims.wakeup, 1)
		<-n.claims.wakeup

		// The hint of the run's earlier claim arrives after that of the reply to the claimed turn.
		n.handleHint(store.Hint{RunID: "v", State: fsm.StateQueued, Seq: 9})
		n.handleHint(store.Hint{RunID: "v", State: fsm.StateWaitingUser, Seq: 7, Claimed: true})
		time.Sleep(time.Second)
		synctest.Wait()
		require.NotEmpty(t, n.claims.wakeup)
	})
}

// R4: a claim that asks only for suspects says nothing about other runs. Otherwise a node without work
// would look again for every slot that another node frees.
func TestScanForSuspectsKeepsWhatIsKnownAboutOtherRuns(t *testing.T) {
	n, a := sharing(t, "n", "m")
	defer n.die(nil)
	n.proc.Store = leaving{a, true}
	for _, drained := range []bool{true, false} {
		n.claims.drained.Store(drained)
		n.quarantine.scansNext = true
		_, err := n.claimAndAnnounce(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, n.quarantine.scanned)
		require.Equal(t, drained, n.claims.drained.Load())
		require.Equal(t, !drained, n.claims.backlog.Load())
	}
}

// lookingStore counts the reads of due runs.
type lookingStore struct {
	store.Store
	reads atomic.Int64
}

func (s *lookingStore) Due(context.Context, time.Time, int) ([]store.Run, time.Time, error) {
	s.reads.Add(1)
	return nil, time.Time{}, nil
}

// R4: deadlines cost an idle node no transactions of their own while its claims look for them; they are
// read when they are due, once if that changes nothing, and at every poll when no claim looks.
func TestDeadlinesAreReadOnlyWithoutALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &lookingStore{}
		p := processOn(s, fakeEngine{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = (&Deadlines{Process: p, Poll: time.Second, Wake: func(bool) {}}).Serve(ctx) }()
		reads := func(want int, during time.Duration) {
			t.Helper()
			s.reads.Store(0)
			time.Sleep(during)
			synctest.Wait()
			require.Equal(t, int64(want), s.reads.Load())
		}
		look := func(due time.Duration) {
			now := time.Now()
			p.Due.NoteLook(now, now, now.Add(due))
		}
		reads(3, 2*time.Second) // and one at the beginning
		for range 10 {
			look(time.Hour)
			reads(0, 1100*time.Millisecond)
		}
		look(50 * time.Millisecond)
		reads(1, 100*time.Millisecond)
		look(-time.Minute) // an earlier read has failed to do the work
		reads(1, 900*time.Millisecond)
		reads(10, 10*time.Second)
	})
}
