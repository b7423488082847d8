package storetest

import (
	"context"
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// The stores below break a promise about families of runs.

// forgetful never says that the relatives of a run are due.
type forgetful struct{ *memory.Store }

func (s forgetful) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	due, next, err := s.Store.Due(ctx, now, limit)
	return slices.DeleteFunc(due, func(r store.Run) bool { return r.Family != nil && r.Deadline.IsZero() }), next, err
}

// hasty says that the relatives of a run are due before their time.
type hasty struct{ *memory.Store }

func (s hasty) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	due, next, err := s.Store.Due(ctx, now, limit)
	if err != nil || next.IsZero() {
		return due, next, err
	}
	early, later, err := s.Store.Due(ctx, next, limit)
	if slices.ContainsFunc(early, func(r store.Run) bool { return r.Family != nil && r.Deadline.IsZero() }) {
		return early, later, err
	}
	return due, next, err
}

// sleepy does not say when the relatives of a run are due next.
type sleepy struct{ *memory.Store }

func (s sleepy) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	due, next, err := s.Store.Due(ctx, now, limit)
	at, _, later := s.Store.Due(ctx, next, store.MaxBatch)
	if slices.ContainsFunc(at, func(r store.Run) bool { return r.Family != nil && r.DueAt().Equal(next) }) {
		next = time.Time{}
	}
	return due, next, errors.Join(err, later)
}

// onlyLiving lists the children of a run that have not ended.
type onlyLiving struct{ *memory.Store }

func (s onlyLiving) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := s.Store.Runs(ctx, q)
	if q.Parent != "" {
		page.Runs = slices.DeleteFunc(page.Runs, func(r store.Run) bool { return r.State.Terminal() })
	}
	return page, err
}

// anyKin lists all below a run for its children.
type anyKin struct{ *memory.Store }

func (s anyKin) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	parent := q.Parent
	q.Parent = ""
	page, err := s.Store.Runs(ctx, q)
	if parent != "" {
		page.Runs = slices.DeleteFunc(page.Runs, func(r store.Run) bool {
			return r.Family == nil || !slices.Contains(r.Family.Ancestors, parent)
		})
	}
	return page, err
}

// rootless stores no more of a child's ancestors than its parent.
type rootless struct{ *memory.Store }

func (s rootless) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		if r := &batch[i].Run; r.Parent() != "" {
			family := *r.Family
			family.Ancestors = []string{r.Parent()}
			r.Family = &family
		}
	}
	return s.Store.Commit(ctx, batch)
}

// lastWins stores decisions about the relatives of a run whatever its version is by then.
type lastWins struct{ *memory.Store }

func (s lastWins) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := s.Store.Commit(ctx, batch)
	for i, c := range batch {
		if r, err := s.Run(ctx, c.Run.ID); err == nil && errors.Is(errs[i], store.ErrConflict) &&
			r.State.Terminal() && r.Family != nil && c.Fence == nil {
			again := withDue(r, c.Run.Family.Due)
			again.Run.Family.Kept = c.Run.Family.Kept
			errs[i] = s.Store.Commit(ctx, []store.Commit{again})[0]
		}
	}
	return errs
}

// unrelated prunes runs while something is due of their relatives.
type unrelated struct{ *memory.Store }

func (s unrelated) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	page, err := s.Runs(ctx, store.Query{Limit: store.MaxBatch})
	if err != nil {
		return 0, err
	}
	for _, r := range page.Runs {
		if r.State.Terminal() && !r.Prunable() && r.FinishedAt.Before(before) {
			s.Commit(ctx, []store.Commit{withDue(r, time.Time{})})
		}
	}
	return s.Store.Prune(ctx, before, limit)
}

// hoarding never prunes a run of a family.
type hoarding struct{ *memory.Store }

func (s hoarding) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i, c := range batch {
		if c.Run.State.Terminal() && c.Run.Family != nil && c.Run.Family.Due.IsZero() {
			batch[i].Run = c.Run.Clone()
			batch[i].Run.Family.Kept = true
		}
	}
	return s.Store.Commit(ctx, batch)
}

// overlooking does not count the runs that wait for their children.
type overlooking struct{ *memory.Store }

func (s overlooking) Survey(ctx context.Context, now time.Time) (store.Survey, error) {
	survey, err := s.Store.Survey(ctx, now)
	page, failed := s.Runs(ctx, store.Query{Limit: store.MaxBatch})
	for i := range page.Runs {
		if page.Runs[i].AwaitsChildren() {
			survey.Queued--
		}
	}
	return survey, errors.Join(err, failed)
}

// refuted is a test that the machine may fail.
type refuted struct {
	testing.TB

	failed bool
}

func (r *refuted) Errorf(string, ...any) { r.failed = true }
func (r *refuted) Fatalf(string, ...any) { r.failed = true }
func (r *refuted) FailNow()              { r.failed = true }
func (r *refuted) Failed() bool          { return r.failed }
func (r *refuted) Logf(string, ...any)   {}
func (r *refuted) Log(...any)            {}

// TestM3TheMachineRefutesStoresThatBreakFamilies: the random machine finds each of these stores,
// and no fault of the store below them.
func TestM3TheMachineRefutesStoresThatBreakFamilies(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s",
		"rapid.checks": "2000"} {
		before := flag.Lookup(name).Value.String()
		require.NoError(t, flag.Set(name, value))
		t.Cleanup(func() { require.NoError(t, flag.Set(name, before)) })
	}
	for name, broken := range map[string]func(*memory.Store) store.Store{
		"forgetful":   func(s *memory.Store) store.Store { return forgetful{s} },
		"hasty":       func(s *memory.Store) store.Store { return hasty{s} },
		"sleepy":      func(s *memory.Store) store.Store { return sleepy{s} },
		"only living": func(s *memory.Store) store.Store { return onlyLiving{s} },
		"any kin":     func(s *memory.Store) store.Store { return anyKin{s} },
		"rootless":    func(s *memory.Store) store.Store { return rootless{s} },
		"last wins":   func(s *memory.Store) store.Store { return lastWins{s} },
		"unrelated":   func(s *memory.Store) store.Store { return unrelated{s} },
		"hoarding":    func(s *memory.Store) store.Store { return hoarding{s} },
		"overlooking": func(s *memory.Store) store.Store { return overlooking{s} },
	} {
		t.Run(name, func(t *testing.T) {
			r := &refuted{TB: t}
			runMachine(r, Harness{Open: func(testing.TB) store.Store { return broken(memory.New()) }})
			require.True(t, r.failed)
		})
	}
}
