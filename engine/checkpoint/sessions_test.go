package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/checkpoint"
	"github.com/interlude-go/interlude/fsm"
)

// attempt is a turn of run r1.
func attempt(n int, epoch uint64, h *engine.SessionHandle) engine.Turn {
	return engine.Turn{RunID: "r1", Attempt: n, Epoch: epoch, Session: h}
}

// save stores a version and must succeed.
func save(tb testing.TB, s checkpoint.Sessions, t engine.Turn, body string) *engine.SessionHandle {
	tb.Helper()
	h, err := s.Save(tb.Context(), t, []byte(body), "interrupt-1")
	require.NoError(tb, err)
	return &h
}

// load reads the handle's version.
func load(tb testing.TB, s checkpoint.Sessions, h *engine.SessionHandle) string {
	tb.Helper()
	body, err := s.Load(tb.Context(), attempt(9, 9, h))
	require.NoError(tb, err)
	return string(body)
}

func check(tb testing.TB, s checkpoint.Sessions, runID string, h engine.SessionHandle) error {
	tb.Helper()
	return s.Resumable("", nil).Check(tb.Context(), runID, h)
}

// code is the failure code of the error.
func code(tb testing.TB, err error) fsm.Code {
	tb.Helper()
	var f *engine.Failure
	require.ErrorAs(tb, err, &f)
	return f.Code
}

func TestLoadWithoutAVersionIsEmpty(t *testing.T) {
	s := checkpoint.Sessions{Engine: "e", Store: checkpoint.Files{Dir: t.TempDir()}}
	fresh, err := s.Fresh(attempt(1, 1, nil))
	require.NoError(t, err)
	require.NoError(t, check(t, s, "r1", fresh))
	for _, h := range []*engine.SessionHandle{nil, &fresh} {
		body, err := s.Load(t.Context(), attempt(1, 2, h))
		require.NoError(t, err)
		require.Nil(t, body)
	}
}

// E4, I2: a repeated or concurrent turn starts from its predecessor's version, and no attempt sees
// another's writes.
func TestEachAttemptSavesItsOwnVersion(t *testing.T) {
	s := checkpoint.Sessions{Engine: "e", Store: checkpoint.Files{Dir: t.TempDir()}}
	one := save(t, s, attempt(1, 1, nil), "one")

	handles := make([]*engine.SessionHandle, 8)
	var all sync.WaitGroup
	for i := range handles {
		all.Go(func() { handles[i] = save(t, s, attempt(2, uint64(2+i%2), one), string(rune('a'+i))) })
	}
	all.Wait()
	for i, h := range handles {
		require.Equal(t, string(rune('a'+i)), load(t, s, h))
	}
	require.Equal(t, "one", load(t, s, one))
}

// I2: a session keeps its current version and the previous one only; an attempt that has lost its
// run removes nothing that the run needs.
func TestOldVersionsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := checkpoint.Sessions{Engine: "e", Store: checkpoint.Files{Dir: dir}}
	var h *engine.SessionHandle
	var passed []*engine.SessionHandle
	for n := 1; n <= 10; n++ {
		if h != nil {
			load(t, s, h)
		}
		h = save(t, s, attempt(n, uint64(n), h), "x")
		passed = append(passed, h)
	}
	require.Len(t, files(t, dir), 3)
	for _, late := range passed[:9] { // late attempts, each with the handle of its start
		if _, err := s.Load(t.Context(), attempt(2, 2, late)); err == nil {
			save(t, s, attempt(2, 2, late), "late")
		}
	}
	require.Equal(t, "x", load(t, s, h))
}

// E2: a handle that cannot be resumed is refused; an unknown state is not a refusal.
func TestCheckSaysWhyItRefusesAHandle(t *testing.T) {
	dir := t.TempDir()
	s := checkpoint.Sessions{Engine: "e", Version: "1", Revision: "blue", Store: checkpoint.Files{Dir: dir}}
	h := *save(t, s, attempt(1, 1, nil), "one")
	require.NoError(t, check(t, s, "r1", h))
	require.LessOrEqual(t, len(h.Data), engine.MaxSessionHandle)

	green := s
	green.Revision = "green"
	newer := s
	newer.Version = "2"
	for name, refused := range map[string]func() (checkpoint.Sessions, string, engine.SessionHandle){
		"another engine": func() (checkpoint.Sessions, string, engine.SessionHandle) {
			return s, "r1", engine.SessionHandle{Engine: "f", Data: h.Data}
		},
		"another version":  func() (checkpoint.Sessions, string, engine.SessionHandle) { return newer, "r1", h },
		"another revision": func() (checkpoint.Sessions, string, engine.SessionHandle) { return green, "r1", h },
		"another run":      func() (checkpoint.Sessions, string, engine.SessionHandle) { return s, "r2", h },
		"no handle at all": func() (checkpoint.Sessions, string, engine.SessionHandle) {
			return s, "r1", engine.SessionHandle{Engine: "e", Version: "1", Data: []byte("?")}
		},
	} {
		s, run, h := refused()
		require.ErrorIs(t, check(t, s, run, h), engine.ErrHandleRefused, name)
		_, err := s.Load(t.Context(), engine.Turn{RunID: run, Attempt: 2, Session: &h})
		require.Equal(t, fsm.CodeSessionResumeFailed, code(t, err), name)
	}

	file := filepath.Join(dir, filepath.FromSlash(files(t, dir)[0]))
	require.NoError(t, os.WriteFile(file, []byte("two"), 0o600))
	require.ErrorIs(t, check(t, s, "r1", h), engine.ErrHandleRefused, "it is not what was stored")
	require.NoError(t, os.Remove(file))
	err := check(t, s, "r1", h)
	require.ErrorIs(t, err, engine.ErrHandleRefused)
	require.ErrorContains(t, err, "missing")

	away := s
	away.Store = &failing{Files: checkpoint.Files{Dir: dir}, times: -1, err: errAway}
	err = check(t, away, "r1", h)
	require.Error(t, err)
	require.NotErrorIs(t, err, engine.ErrHandleRefused, "a store that is away has not said that it is gone")
}

// failing is a store whose calls fail so many times, -1 for always. A failed write may still have
// been stored.
type failing struct {
	checkpoint.Files

	times int
	err   error
	calls int
	keys  []string
}

var errAway = errors.New("the store is away")

func (f *failing) fails() bool {
	f.calls++
	if f.times > 0 {
		f.times--
		return true
	}
	return f.times < 0
}

func (f *failing) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if f.fails() {
		return nil, false, f.err
	}
	return f.Files.Get(ctx, key)
}

func (f *failing) Set(ctx context.Context, key string, body []byte) error {
	f.keys = append(f.keys, key)
	err := f.Files.Set(ctx, key, body)
	if f.fails() {
		return f.err
	}
	return err
}

// J2, J10: a transient store error is retried, so that the turn's answer is not lost; a lasting one
// fails the turn in a bounded time, a permanent one at once. An ended turn stops waiting.
func TestPassingErrorIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &failing{Files: checkpoint.Files{Dir: t.TempDir()}}
		s := checkpoint.Sessions{Engine: "e", Store: st}
		from := save(t, s, attempt(1, 1, nil), "one")
		calls := map[string]func(context.Context) error{
			"Get": func(ctx context.Context) error {
				body, err := s.Load(ctx, attempt(2, 2, from))
				if err == nil {
					require.Equal(t, "one", string(body))
				}
				return err
			},
			"Set": func(ctx context.Context) error {
				h, err := s.Save(ctx, attempt(2, 2, from), []byte("two"))
				if err == nil {
					require.Equal(t, "two", load(t, s, &h))
				}
				return err
			},
		}
		for name, call := range calls {
			st.times, st.err = 7, errAway
			require.NoError(t, call(t.Context()), name)

			began := time.Now()
			st.times, st.calls = -1, 0
			err := call(t.Context())
			require.ErrorIs(t, err, errAway, name)
			require.ErrorContains(t, err, "failed 8 times", name)
			require.Equal(t, fsm.CodeEngineFailed, code(t, err), name)
			require.Equal(t, 8, st.calls, name)
			require.Less(t, time.Since(began), 15*time.Second, name)

			st.calls, st.err = 0, fmt.Errorf("%w: no such bucket", checkpoint.ErrPermanent)
			require.ErrorContains(t, call(t.Context()), "no such bucket", name)
			require.Equal(t, 1, st.calls, name)

			st.calls, st.err = 0, errAway
			ctx, cancel := context.WithTimeoutCause(t.Context(), 250*time.Millisecond, engine.ErrTurnTimeout)
			err = call(ctx)
			require.ErrorIs(t, err, engine.ErrTurnTimeout, name)
			require.Equal(t, fsm.CodeTurnTimeout, code(t, err), name)
			require.Equal(t, 2, st.calls, name)
			cancel()
		}
		slices.Sort(st.keys)
		require.Len(t, slices.Compact(slices.Clone(st.keys)), len(st.keys), "no key is used twice: nobody knows what "+
			"a failed write left")
	})
}

// E1, E2: versions in the run's own folder.
func TestVersionsAreKeptInTheRunsHomeByDefault(t *testing.T) {
	s := checkpoint.Sessions{Engine: "e"}
	home := filepath.Join(t.TempDir(), "home")
	turn := attempt(1, 1, nil)
	_, err := s.Save(t.Context(), turn, []byte("one"))
	require.Equal(t, fsm.CodeEngineUnavailable, code(t, err))
	require.ErrorContains(t, err, "configure one for runs")

	turn.HomeDir = home
	h := save(t, s, turn, "one")
	require.NoError(t, check(t, s, "r1", *h))

	moved := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Rename(home, moved))
	err = check(t, s, "r1", *h)
	require.Error(t, err)
	require.NotErrorIs(t, err, engine.ErrHandleRefused, "only the turn is told where the folder is now")
	next := attempt(2, 2, h)
	next.HomeDir = moved
	body, err := s.Load(t.Context(), next)
	require.NoError(t, err)
	require.Equal(t, "one", string(body))

	require.NoError(t, os.RemoveAll(filepath.Join(moved, "checkpoints")))
	_, err = s.Load(t.Context(), next)
	require.Equal(t, fsm.CodeSessionResumeFailed, code(t, err))
}

func TestSaveRefusesATooLargeBody(t *testing.T) {
	s := checkpoint.Sessions{Engine: "e", Store: checkpoint.Files{Dir: t.TempDir()}}
	_, err := s.Save(t.Context(), attempt(1, 1, nil), make([]byte, checkpoint.MaxBody+1))
	require.ErrorContains(t, err, "want at most")

	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = strings.Repeat("i", 4096)
	}
	h, err := s.Save(t.Context(), attempt(1, 1, nil), []byte("one"), ids...)
	require.NoError(t, err)
	require.LessOrEqual(t, len(h.Data), engine.MaxSessionHandle)
	require.True(t, json.Valid(h.Data))
}

// J6: a branch copies one version of a session into the new run's folder or the store, and does not
// follow the session. A deleted version cannot be branched.
func TestJ6ABranchIsAVersionOfItsOwn(t *testing.T) {
	for name, kept := range map[string]checkpoint.Store{"in folders": nil,
		"in a store": checkpoint.Files{Dir: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			s, home := checkpoint.Sessions{Engine: "e", Store: kept}, t.TempDir()
			turn := func(n int, h *engine.SessionHandle) engine.Turn {
				return engine.Turn{RunID: "r1", Attempt: n, Epoch: uint64(n), Session: h, HomeDir: home}
			}
			one := save(t, s, turn(1, nil), "one")
			point := engine.BranchPoint{RunID: "r1", Session: *one, HomeDir: home}
			e := s.Resumable("", func(_ context.Context, _ engine.Turn, body []byte) ([]byte, error) {
				return body, nil
			})
			require.NoError(t, e.CanBranch(t.Context(), point))
			to := engine.Turn{RunID: "r2", Attempt: 1, Epoch: 1, HomeDir: t.TempDir()}
			branch, err := e.Branch(t.Context(), point, to)
			require.NoError(t, err)
			to.Session = &branch

			h := one
			for n := 2; n <= 5; n++ { // the session continues, and its first version is deleted
				_, err := s.Load(t.Context(), turn(n, h))
				require.NoError(t, err)
				h = save(t, s, turn(n, h), "later")
			}
			body, err := s.Load(t.Context(), to)
			require.NoError(t, err)
			require.Equal(t, "one", string(body))
			require.ErrorIs(t, e.CanBranch(t.Context(), point), engine.ErrHandleRefused)
			_, err = e.Branch(t.Context(), point, to)
			require.Equal(t, fsm.CodeSessionResumeFailed, code(t, err))
		})
	}
}

// J6: a branch of a session without a version starts empty.
func TestJ6ABranchOfNothingBeginsAnew(t *testing.T) {
	s := checkpoint.Sessions{Engine: "e", Store: checkpoint.Files{Dir: t.TempDir()}}
	fresh, err := s.Fresh(attempt(1, 1, nil))
	require.NoError(t, err)
	to := engine.Turn{RunID: "r2", Attempt: 1, Epoch: 1}
	branch, err := s.Resumable("", nil).Branch(t.Context(), engine.BranchPoint{RunID: "r1", Session: fresh}, to)
	require.NoError(t, err)
	to.Session = &branch
	body, err := s.Load(t.Context(), to)
	require.NoError(t, err)
	require.Nil(t, body)
}

// J6: a reply that answers no question is accepted only if the version waits for no answer.
func TestJ6CheckReply(t *testing.T) {
	said := engine.Turn{Answers: []engine.Answer{{Text: "And now ship it."}}}
	require.NoError(t, checkpoint.CheckReply(said, false))
	require.Equal(t, fsm.CodeSessionResumeFailed, code(t, checkpoint.CheckReply(said, true)))
	answered := engine.Turn{Answers: []engine.Answer{{ID: 1, Text: "yes"}}}
	require.NoError(t, checkpoint.CheckReply(answered, true))
}
