package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// twin is a store with a synchronous standby. While the standby is away, writes are readable, but
// their callers get an unknown outcome. A failover continues with the standby, and loses the
// missing writes.
type twin struct {
	store.Store // nil: the tests make none of the calls that are not below

	mu      sync.Mutex
	primary *memory.Store
	standby *memory.Store
	away    bool
	lossy   bool                  // it does not wait for the standby: writes are acknowledged
	missing []func(*memory.Store) // writes that the standby lacks, in order
}

func newTwin(tb testing.TB) *twin {
	tb.Helper()
	return &twin{primary: newStore(tb), standby: newStore(tb)}
}

func (s *twin) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = true
}

func (s *twin) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, do := range s.missing {
		do(s.standby)
	}
	s.away, s.missing = false, nil
}

// failOver loses the primary.
func (s *twin) failOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.primary, s.away, s.missing = s.standby, false, nil
	s.standby = nil
}

// write does something here and there, and answers for both.
func (s *twin) write(do func(*memory.Store)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.primary)
	switch {
	case s.away:
		s.missing = append(s.missing, do)
		if s.lossy {
			return nil
		}
		return errAway
	case s.standby != nil:
		do(s.standby)
	}
	return nil
}

// now is the store that is read.
func (s *twin) now() *memory.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.primary
}

func (s *twin) Commit(ctx context.Context, batch []store.Commit) (errs []error) {
	batch = slices.Clone(batch)
	err := s.write(func(m *memory.Store) {
		got := m.Commit(context.WithoutCancel(ctx), batch)
		if errs == nil {
			errs = got
		}
	})
	for i := range errs {
		if errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}

func (s *twin) Claim(ctx context.Context, req store.ClaimRequest) (claimed []store.Claimed, refused error) {
	first := true
	err := s.write(func(m *memory.Store) {
		got, err := m.Claim(context.WithoutCancel(ctx), req)
		if first {
			claimed, refused, first = got, err, false
		}
	})
	if err != nil {
		return nil, err
	}
	return claimed, refused
}

func (s *twin) Join(ctx context.Context, n store.Node, now time.Time) (refused error) {
	err := s.write(func(m *memory.Store) { refused = m.Join(context.WithoutCancel(ctx), n, now) })
	return errors.Join(refused, err)
}

func (s *twin) Renew(ctx context.Context, id string, now time.Time) (holds []store.OwnedRun, refused error) {
	first := true
	err := s.write(func(m *memory.Store) {
		got, err := m.Renew(context.WithoutCancel(ctx), id, now)
		if first {
			holds, refused, first = got, err, false
		}
	})
	if err != nil {
		return nil, err
	}
	return holds, refused
}

func (s *twin) Expire(ctx context.Context, now time.Time, ids ...string) (gone []store.Node, refused error) {
	first := true
	err := s.write(func(m *memory.Store) {
		got, err := m.Expire(context.WithoutCancel(ctx), now, ids...)
		if first {
			gone, refused, first = got, err, false
		}
	})
	if err != nil {
		return nil, err
	}
	return gone, refused
}

func (s *twin) SetPool(ctx context.Context, p slots.Pool) (refused error) {
	err := s.write(func(m *memory.Store) { refused = m.SetPool(context.WithoutCancel(ctx), p) })
	return errors.Join(refused, err)
}

func (s *twin) Prune(context.Context, time.Time, int) (int, error) { return 0, errAway }

func (s *twin) Confirm(_ context.Context, read func(store.Reader) error) error {
	m := s.now()
	if err := read(m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away || s.primary != m {
		return errAway
	}
	return nil
}

func (s *twin) Run(ctx context.Context, id string) (Run, error) { return s.now().Run(ctx, id) }

func (s *twin) Spec(ctx context.Context, id string) ([]byte, error) { return s.now().Spec(ctx, id) }

func (s *twin) Runs(ctx context.Context, q Query) (Page, error) { return s.now().Runs(ctx, q) }

func (s *twin) Waiting(ctx context.Context, q store.WaitingQuery) (Page, error) {
	return s.now().Waiting(ctx, q)
}

func (s *twin) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	return s.now().Events(ctx, id, after, limit)
}

func (s *twin) History(ctx context.Context, id string, q store.HistoryQuery) (Run, []interaction.Record, error) {
	return s.now().History(ctx, id, q)
}

func (s *twin) Voted(ctx context.Context, id, key string) (interaction.Record, error) {
	return s.now().Voted(ctx, id, key)
}

func (s *twin) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	return s.now().Settled(ctx, id, key)
}

func (s *twin) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	return s.now().Interaction(ctx, id, number)
}

func (s *twin) Due(ctx context.Context, now time.Time, limit int) ([]Run, time.Time, error) {
	return s.now().Due(ctx, now, limit)
}

func (s *twin) Orphans(ctx context.Context, skip, limit int) ([]Run, error) {
	return s.now().Orphans(ctx, skip, limit)
}

func (s *twin) Nodes(ctx context.Context) ([]store.Node, error) { return s.now().Nodes(ctx) }

func (s *twin) Departures(ctx context.Context) ([]store.Departure, error) {
	return s.now().Departures(ctx)
}

func (s *twin) Pools(ctx context.Context) ([]store.PoolUse, error) { return s.now().Pools(ctx) }

func (s *twin) Close() error { return nil }

// TestAcknowledgedReadsSurviveAFailover: J8, J9. Each call was made while the standby is away, and
// its outcome is unknown. Repeated, as documented, it finds the primary's data, and returns nothing
// before the standby is back. Its result then survives a failover; after an earlier failover, the
// call is executed again.
func TestAcknowledgedReadsSurviveAFailover(t *testing.T) {
	reply := func(key string) func(*Client) error {
		return func(c *Client) error {
			_, err := c.Reply(context.Background(), "waits", interaction.Reply{ID: 1, Text: "yes", Key: key})
			return err
		}
	}
	for name, c := range map[string]struct {
		call func(*Client) error
		is   func(*Run) bool // the effect of the call
		says error           // of a call that has come back
	}{
		"submit": {func(c *Client) error {
			_, err := c.Submit(context.Background(), Spec{ID: "new", Prompt: "x"})
			return err
		}, func(r *Run) bool { return r.ID == "new" }, nil},
		"reply with a key": {reply("k"), func(r *Run) bool { return r.ID == "waits" && len(r.Answers) > 0 }, nil},
		"reply without a key": {reply(""), func(r *Run) bool { return r.ID == "waits" && len(r.Answers) > 0 },
			ErrSettled},
		"cancel": {func(c *Client) error {
			return c.Cancel(context.Background(), "waits", "enough")
		}, func(r *Run) bool { return r.ID == "waits" && r.State == fsm.StateCanceled }, ErrTerminal},
	} {
		for _, failsOver := range []bool{false, true} {
			story := func(t *testing.T) {
				s := newTwin(t)
				lc, stop := serve(t, Config{Store: s, Engine: asksThrice()})
				submit(t, lc, "waits")
				pass(time.Second)
				stop() // from here on only the client's calls change anything
				client := lc.Client
				stands := func() bool {
					page, err := s.Runs(t.Context(), Query{})
					require.NoError(t, err)
					return slices.ContainsFunc(page.Runs, func(r Run) bool { return c.is(&r) })
				}

				s.leave()
				require.ErrorIs(t, c.call(client), errAway)
				require.True(t, stands(), "it can be read")
				for range 2 {
					err := c.call(client)
					require.ErrorIs(t, err, errAway)
					for _, acknowledgement := range []error{ErrSettled, ErrTerminal, ErrNotWaiting} {
						require.NotErrorIs(t, err, acknowledgement)
					}
				}
				if failsOver {
					s.failOver()
					require.False(t, stands())
					require.NoError(t, c.call(client), "it is the first")
					require.True(t, stands())
					return
				}
				s.comeBack()
				require.ErrorIs(t, c.call(client), c.says)
				s.failOver()
				require.True(t, stands(), "what was acknowledged is there")
			}
			t.Run(name, func(t *testing.T) { synctest.Test(t, story) })
		}
	}
}

// TestTurnIsRemovedOnlyWhenItsOutcomeIsDurable: J8. The turn's end is on the primary, and not on
// the standby: its worker continues, and stores it again if a failover has undone it. The turn is
// executed once.
func TestTurnIsRemovedOnlyWhenItsOutcomeIsDurable(t *testing.T) {
	for name, failsOver := range map[string]bool{"the standby is back": false, "it takes over": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTwin(t)
				executed := 0
				lc, stop := serve(t, Config{Store: s, Lease: time.Hour, Engine: agent{turn: func(context.Context,
					engine.Turn) (engine.Outcome, error) {
					executed++
					s.leave()
					return finished(), nil
				}}})
				submit(t, lc, "r")
				pass(time.Minute)
				in(t, lc.Client, "r", fsm.StateSucceeded)
				if failsOver {
					s.failOver()
					in(t, lc.Client, "r", fsm.StateRunning)
				} else {
					s.comeBack()
					s.failOver()
				}
				pass(time.Minute)
				in(t, lc.Client, "r", fsm.StateSucceeded)
				require.Equal(t, 1, executed)
				stop()
			})
		})
	}
}

// TestTurnIsNotExecutedTwiceWhenItsEndIsLost: J9 E4. A standby that commits did not wait for takes
// over, and does not have the end of a turn, or not even its claim, though both were acknowledged.
// The turn counts as interrupted: it is executed again only where the spec allows it.
func TestTurnIsNotExecutedTwiceWhenItsEndIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		claimLost, executes bool
	}{
		"its end":                      {},
		"its claim and its end":        {claimLost: true},
		"its claim, while it executes": {claimLost: true, executes: true},
		"nothing":                      {executes: true},
	} {
		for repeatable, want := range map[bool]struct {
			state    fsm.State
			executed int
		}{false: {fsm.StateFailed, 1}, true: {fsm.StateSucceeded, 2}} {
			if c.executes && !c.claimLost {
				want.state, want.executed = fsm.StateSucceeded, 1
			}
			story := func(t *testing.T) {
				s := newTwin(t)
				s.lossy = true
				executed := 0
				lc, stop := serve(t, Config{Store: s, Engine: agent{turn: func(ctx context.Context,
					_ engine.Turn) (engine.Outcome, error) {
					executed++
					if !c.claimLost {
						s.leave()
					}
					if c.executes && executed == 1 {
						select {
						case <-ctx.Done():
							return engine.Outcome{}, context.Cause(ctx)
						case <-time.After(20 * time.Second):
						}
					}
					return finished(), nil
				}}})
				_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Repeatable: repeatable,
					NotBefore: time.Now().Add(time.Second)})
				require.NoError(t, err)
				if c.claimLost {
					s.leave()
				}
				pass(2 * time.Second)
				require.Equal(t, 1, executed)
				s.failOver()
				pass(time.Minute)
				in(t, lc.Client, "r", want.state)
				require.Equal(t, want.executed, executed)
				stop()
			}
			t.Run(fmt.Sprintf("%s lost, repeatable %t", name, repeatable), func(t *testing.T) {
				synctest.Test(t, story)
			})
		}
	}
}
