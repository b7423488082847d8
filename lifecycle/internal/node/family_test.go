package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// faultyRelatives is a store with small pages whose calls fail where a test says so.
type faultyRelatives struct {
	*memory.Store

	reads   map[string]error // by the run's id
	pages   []error          // of listings, by their number
	listed  int
	commits map[string]error // by the run's id
}

func (s *faultyRelatives) Run(ctx context.Context, id string) (store.Run, error) {
	if err := s.reads[id]; err != nil {
		return store.Run{}, err
	}
	return s.Store.Run(ctx, id)
}

func (s *faultyRelatives) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	s.listed++
	if s.listed <= len(s.pages) && s.pages[s.listed-1] != nil {
		return store.Page{}, s.pages[s.listed-1]
	}
	q.Limit = 1
	return s.Store.Runs(ctx, q)
}

func (s *faultyRelatives) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		if errs[i] = s.commits[batch[i].Run.ID]; errs[i] == nil {
			errs[i] = s.Store.Commit(ctx, batch[i:i+1])[0]
		}
	}
	return errs
}

// relatives are a node's families on a faulty store, with its logs and notices.
type relatives struct {
	unobserved
	families
	faults *faultyRelatives
	logged bytes.Buffer
	stored []string // the ids of runs whose commits were observed
}

func newRelatives(t *testing.T) *relatives {
	t.Helper()
	r := &relatives{faults: &faultyRelatives{Store: newStore(t), reads: make(map[string]error),
		commits: make(map[string]error)}}
	log := slog.New(slog.NewTextHandler(&r.logged, nil))
	p := &Process{Store: r.faults, Clock: machineClock{}, Log: log, Due: NewDueHint(), Notices: r}
	r.families = families{Process: p, open: make(map[string]string)}
	return r
}

// run stores a queued run, as the child of another one if a parent is named. The change is made
// before it is stored.
func (r *relatives) run(t *testing.T, id, parent string, change func(*store.Run)) *store.Run {
	t.Helper()
	run := queued(id, r.Now())
	if parent != "" {
		run.Family = &store.Family{Ancestors: []string{parent}}
	}
	if change != nil {
		change(&run)
	}
	cm, err := decide.Submission(&run, []byte(`{}`))
	require.NoError(t, err)
	require.NoError(t, r.faults.Store.Commit(t.Context(), []store.Commit{*cm})[0])
	return r.read(t, id)
}

// ended stores a run that was canceled.
func (r *relatives) ended(t *testing.T, id, parent string, f store.Family) *store.Run {
	t.Helper()
	cm, err := decide.Cancel(r.run(t, id, parent, nil), "enough", r.Now())
	require.NoError(t, err)
	if own := cm.Run.Family; own != nil {
		f.Ancestors, f.Children = own.Ancestors, own.Children
		cm.Run.Family = &f
	}
	require.NoError(t, r.faults.Store.Commit(t.Context(), []store.Commit{*cm})[0])
	return r.read(t, id)
}

func (r *relatives) read(t *testing.T, id string) *store.Run {
	t.Helper()
	run, err := r.faults.Store.Run(t.Context(), id)
	require.NoError(t, err)
	return &run
}

// Committed notes a commit for an observer.
func (r *relatives) Committed(cm *store.Commit) { r.stored = append(r.stored, cm.Run.ID) }

func awaits(due time.Time, children ...string) func(*store.Run) {
	return func(run *store.Run) {
		run.Block = &store.Block{Kind: store.BlockChildren, Reason: "waits", Children: children}
		run.Family = &store.Family{Children: len(children), Due: due}
	}
}

var errDown = errors.New("the store is down")

// M3: what cannot be done for one run is logged, and stays due, and the others are seen to. A
// failure because the node is shutting down is not logged.
func TestM3ARunWhoseRelativesCannotBeReadHoldsUpNoOther(t *testing.T) {
	r := newRelatives(t)
	now := r.Now()
	first, second := r.run(t, "a", "", awaits(now, "c")), r.run(t, "b", "", awaits(now, "d"))
	other := r.run(t, "o", "", nil)
	r.faults.pages = []error{errDown}
	others, changed := r.serveDue(t.Context(), []store.Run{*first, *second, *other}, now)
	require.True(t, changed)
	require.Equal(t, []store.Run{*other}, others)
	require.Equal(t, first, r.read(t, "a"))
	require.Nil(t, r.read(t, "b").Block, "it has no child that is open, so it goes on")
	require.Equal(t, 1, strings.Count(r.logged.String(), errDown.Error()))

	gone, end := context.WithCancel(t.Context())
	end()
	r.logFailure(gone, "a", errDown)
	require.Equal(t, 1, strings.Count(r.logged.String(), errDown.Error()))
}

// M3: the open child that a node remembers counts only for a wait that it holds up.
func TestM3ARememberedChildHoldsUpItsOwnWaitAlone(t *testing.T) {
	r := newRelatives(t)
	now := r.Now()
	r.run(t, "open", "r", nil)
	r.ended(t, "ended", "r", store.Family{Kept: true})
	for name, c := range map[string]struct {
		block store.Block
		ready bool
	}{
		"all of both":           {store.Block{Children: []string{"ended", "open"}}, false},
		"all of both, in time":  {store.Block{Children: []string{"ended", "open"}, Until: now.Add(1)}, false},
		"all of both, too late": {store.Block{Children: []string{"ended", "open"}, Until: now}, true},
		"any of both":           {store.Block{Children: []string{"ended", "open"}, Any: true}, true},
		"the other one":         {store.Block{Children: []string{"ended"}}, true},
	} {
		r.open = map[string]string{"r": "open"}
		ready, err := r.hasWaitedEnough(t.Context(), &store.Run{ID: "r", Block: &c.block}, now)
		require.NoError(t, err)
		require.Equal(t, c.ready, ready, name)
	}
	r.open = map[string]string{"r": "open"}
	r.faults.reads["open"] = errDown
	both := &store.Block{Children: []string{"ended", "open"}}
	_, err := r.hasWaitedEnough(t.Context(), &store.Run{ID: "r", Block: both}, now)
	require.ErrorIs(t, err, errDown)
}

// M3: a child stays due until its parent continues, whatever happens to the parent's commit.
func TestM3AnEndedChildIsDueUntilItsParentGoesOn(t *testing.T) {
	r := newRelatives(t)
	now := r.Now()
	r.run(t, "r", "", awaits(time.Time{}, "c"))
	child := []*store.Run{r.ended(t, "c", "r", store.Family{Due: now})}
	for _, lost := range []error{store.ErrConflict, errDown} {
		r.faults.commits["r"] = lost
		_, informed := r.informParent(t.Context(), child, now)
		require.False(t, informed)
	}
	require.Equal(t, 1, strings.Count(r.logged.String(), errDown.Error()), "a conflict is no failure")
	require.NotContains(t, r.logged.String(), store.ErrConflict.Error())
	delete(r.faults.commits, "r")
	keep, informed := r.informParent(t.Context(), child, now)
	require.True(t, informed)
	require.True(t, keep)
	require.Nil(t, r.read(t, "r").Block)
}

// M3: nothing is left to do for an ended parent when every page of its children was read and each
// of them is over with its own children.
func TestM3AParentIsDoneWithAllPagesOfItsChildren(t *testing.T) {
	over, due := store.Family{}, store.Family{Due: time.Unix(100, 0).UTC()}
	for name, c := range map[string]struct {
		ended []store.Family // of ended children, in pages of one
		pages []error
		over  bool
	}{
		"all are over":           {[]store.Family{over, {Kept: true}, over}, nil, true},
		"the first is not":       {[]store.Family{due, over}, nil, false},
		"the last is not":        {[]store.Family{over, due}, nil, false},
		"the last is not read":   {[]store.Family{over, over}, []error{nil, errDown}, false},
		"the first is not read":  {[]store.Family{over, over}, []error{errDown}, false},
		"one is kept, not freed": {[]store.Family{{Kept: true}}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelatives(t)
			for i, f := range c.ended {
				r.ended(t, string(rune('a'+i)), "r", f)
			}
			r.faults.pages = c.pages
			parent := &store.Run{ID: "r", State: fsm.StateCanceled}
			require.Equal(t, c.over, r.endChildren(t.Context(), parent, r.Now()))
			require.Equal(t, c.pages != nil, strings.Contains(r.logged.String(), errDown.Error()))
			for i, f := range c.ended {
				left := r.read(t, string(rune('a'+i))).Family
				require.Equal(t, f.Due, left.Due)
				require.False(t, left.Kept, "its parent has ended")
			}
		})
	}
}

// M3: no more children are read when those before could not be seen to.
func TestM3APageThatFailsEndsTheListing(t *testing.T) {
	r := newRelatives(t)
	r.run(t, "a", "r", nil)
	r.run(t, "b", "r", nil)
	err := r.eachChild(t.Context(), store.Query{Parent: "r"}, func([]store.Run) error { return errDown })
	require.ErrorIs(t, err, errDown)
	require.Equal(t, 1, r.faults.listed)
}

// L5 M3: an observer sees stored commits with events: not a commit that lost, and not a node's
// check of a run which keeps waiting.
func TestL5M3ObserversSeeStoredEventsOfRelatives(t *testing.T) {
	r := newRelatives(t)
	now := r.Now()
	waits := decide.FamilyDue(r.run(t, "waits", "", awaits(now, "c")), time.Time{})
	stored, err := decide.Cancel(r.run(t, "stored", "", nil), "enough", now)
	require.NoError(t, err)
	lost, err := decide.Cancel(r.run(t, "lost", "", nil), "enough", now)
	require.NoError(t, err)
	r.faults.commits["lost"] = store.ErrConflict
	require.Equal(t, 2, r.commitDue(t.Context(), []store.Commit{*waits, *stored, *lost}))
	require.Equal(t, []string{"stored"}, r.stored)
	require.Empty(t, r.logged.String())
	r.faults.commits["stored"] = errDown
	require.Zero(t, r.commitDue(t.Context(), []store.Commit{*stored}))
	require.Contains(t, r.logged.String(), errDown.Error())
}

// M3: of the open children that a run waits for, a node remembers the one with the lowest id, for a
// limited number of runs.
func TestM3TheOpenChildThatIsRemembered(t *testing.T) {
	f := families{open: map[string]string{"other": "x"}}
	run := &store.Run{ID: "r", Block: &store.Block{Children: []string{"c", "a", "b", "d"}}}
	f.rememberOpen(run, map[string]bool{"b": true, "c": true, "d": true})
	require.Equal(t, map[string]string{"other": "x", "r": "b"}, f.open)
	for i := range maxKnownOpen - 2 {
		f.open[strconv.Itoa(i)] = "x"
	}
	f.rememberOpen(run, map[string]bool{"d": true})
	require.Equal(t, map[string]string{"r": "d"}, f.open)
}
