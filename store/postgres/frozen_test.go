package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// A node that freezes in the middle of a claim holds the row of the pool. After two seconds the
// server ends its transaction, and the other nodes claim its picks. The frozen node's own call ends
// with Options.Timeout.
func TestFrozenClaimHoldsUpNoOtherNode(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t, postgres.Options{})
	p, dsn := newProxy(t, w.dsn)
	frozen := openInTime(t, func() (*postgres.Store, error) {
		return postgres.Open(t.Context(), dsn, postgres.Options{Schema: w.schema, Timeout: 3 * time.Second,
			NoListen: true})
	})
	w.commit(s, created("r"))

	froze := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		for {
			_, err := frozen.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 5, Hinted: true,
				Start: func(r store.Run, spec []byte) (store.Commit, error) {
					p.freeze() // the pool and the run are locked by now
					close(froze)
					return start(r, spec)
				}})
			select {
			case <-froze:
			default:
				if errors.Is(err, postgres.ErrTimeout) { // a busy machine may need longer to begin
					continue
				}
			}
			ended <- err
			return
		}
	}()
	select {
	case <-froze:
	case err := <-ended:
		require.FailNow(t, "the claim did not begin", "%v", err)
	}
	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 5, Hinted: true, Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 1, "the run is free again")
	require.ErrorIs(t, <-ended, postgres.ErrTimeout)
	require.EqualValues(t, 2, w.load(s, "r").Version, "it was started once")
	require.NoError(t, frozen.Close())
}

// When the connection is dead without an error, calls end with Options.Timeout, and work again once
// it is alive. The error of a write also says that its outcome is unknown: sent data may still
// arrive.
func TestDeadConnectionEndsCalls(t *testing.T) {
	w, direct := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	p, dsn := newProxy(t, w.dsn)
	s := openInTime(t, func() (*postgres.Store, error) {
		return postgres.Open(t.Context(), dsn, postgres.Options{Schema: w.schema, Timeout: time.Second})
	})
	defer s.Close()
	r := w.commit(direct, report(w.commit(direct, created("r")))) // which may take longer on a busy machine
	var began time.Time
	require.Eventually(t, func() bool {
		if second(s.Run(t.Context(), "r")) != nil {
			return false
		}
		p.freeze()
		began = time.Now()
		err := w.try(s, report(r))
		require.ErrorIs(t, err, postgres.ErrTimeout)
		if strings.Contains(err.Error(), "outcome unknown") {
			return true
		}
		p.cut() // a busy machine has not sent it in time
		p.thaw()
		return false
	}, patience, time.Millisecond)
	require.ErrorIs(t, second(s.Run(t.Context(), "r")), postgres.ErrTimeout)
	require.ErrorIs(t, second(s.Runs(t.Context(), store.Query{})), postgres.ErrTimeout)
	require.Less(t, time.Since(began), 10*time.Second)
	require.Equal(t, r, w.load(direct, "r"))
	p.cut() // data in transit is lost
	p.thaw()
	require.Eventually(t, func() bool { return second(s.Run(t.Context(), "r")) == nil }, patience, time.Millisecond)
	w.commitInTime(s, direct, "r")
}
