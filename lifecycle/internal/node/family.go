package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// families does the work that Family.Due announces (children.go): it lets parents continue, and
// cancels the children of ended runs. Then it clears Family.Due. The work may be repeated, also
// by several nodes at once. Only one goroutine uses a families.
//
// If the parent read all children at the end of each of a thousand, that would be a million
// reads. So families remembers the open child with the lowest id; while that child is open, the
// others are not read. Ids are hashes, so the child ends at a random time among the others, and
// all are read about eight times.
type families struct {
	*Process

	open map[string]string // an open child by its parent's id; at most maxKnownOpen
}

// maxKnownOpen limits the remembered parents. At the limit all are forgotten.
const maxKnownOpen = 1024

// neverDue is the zero time: no work on the run's parent or children is planned.
var neverDue time.Time

// OpenStates are the states of unended runs.
var OpenStates = []fsm.State{fsm.StateQueued, fsm.StateRunning, fsm.StateWaitingUser}

// serveDue updates the parents and children of the given runs whose Family.Due has passed. It
// returns the runs that are due for another reason, and whether it stored a commit.
func (f *families) serveDue(ctx context.Context, due []store.Run, now time.Time) (others []store.Run, changed bool) {
	others = due[:0]
	var ended []*store.Run
	var batch []store.Commit
	for i := range due {
		run := due[i]
		switch {
		case run.Family == nil || run.Family.Due.IsZero() || run.Family.Due.After(now):
			others = append(others, run)
		case run.State.Terminal():
			ended = append(ended, &run)
		default:
			cm, err := f.decideWaiting(ctx, &run, now)
			if err != nil {
				f.logFailure(ctx, run.ID, err)
				continue
			}
			batch = append(batch, decide.Detach(cm))
		}
	}
	for _, siblings := range byParent(ended) {
		batch = append(batch, f.serveEnded(ctx, siblings, now)...)
	}
	return others, f.commitDue(ctx, batch) > 0
}

// serveEnded processes ended children of one parent. It lets the parent continue if it can, and
// cancels the ended runs' own children. It returns the commits for the runs that need no more
// work.
func (f *families) serveEnded(ctx context.Context, siblings []*store.Run, now time.Time) (done []store.Commit) {
	keep, informed := f.informParent(ctx, siblings, now)
	if !informed {
		return nil
	}
	for _, run := range siblings {
		if run.Family.Children > 0 && !f.endChildren(ctx, run, now) {
			continue
		}
		if keep {
			done = append(done, decide.Detach(decide.RetainForParent(run)))
		} else {
			done = append(done, decide.Detach(decide.FamilyDue(run, neverDue)))
		}
	}
	return done
}

// byParent groups runs by parent. Runs without one are a group, too.
func byParent(runs []*store.Run) (groups [][]*store.Run) {
	index := make(map[string]int)
	for _, run := range runs {
		i, ok := index[run.Parent()]
		if !ok {
			i = len(groups)
			index[run.Parent()], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], run)
	}
	return groups
}

// logFailure logs a failure; the work stays due and is retried.
func (f *families) logFailure(ctx context.Context, id string, err error) {
	if ctx.Err() == nil {
		f.Log.Error("processing a run's due relatives failed; trying again", "run", id, "err", err)
	}
}

// decideWaiting makes the commit of an unfinished run: it continues, or keeps waiting for its
// children.
func (f *families) decideWaiting(ctx context.Context, run *store.Run, now time.Time) (*store.Commit, error) {
	if !run.AwaitsChildren() {
		return decide.FamilyDue(run, neverDue), nil
	}
	ready, err := f.hasWaitedEnough(ctx, run, now)
	switch {
	case err != nil:
		return nil, err
	case ready:
		return decide.Continue(run, now)
	}
	return decide.FamilyDue(run, run.Block.Until), nil
}

// hasWaitedEnough reports whether a run that waits for children may continue.
func (f *families) hasWaitedEnough(ctx context.Context, run *store.Run, now time.Time) (bool, error) {
	b := run.Block
	if one, ok := f.open[run.ID]; ok && !b.Any && slices.Contains(b.Children, one) &&
		(b.Until.IsZero() || b.Until.After(now)) {
		child, err := f.Store.Run(ctx, one)
		if err == nil && !child.State.Terminal() {
			return false, nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	delete(f.open, run.ID)
	open := make(map[string]bool)
	err := f.eachChild(ctx, store.Query{Parent: run.ID, States: OpenStates}, func(page []store.Run) error {
		for i := range page {
			open[page[i].ID] = true
		}
		return nil
	})
	if err != nil || decide.WaitedEnough(b, func(child string) bool { return open[child] }, now) {
		return err == nil, err
	}
	f.rememberOpen(run, open)
	return false, nil
}

func (f *families) rememberOpen(run *store.Run, open map[string]bool) {
	first := ""
	for _, id := range run.Block.Children {
		if open[id] && (first == "" || id < first) {
			first = id
		}
	}
	if len(f.open) >= maxKnownOpen {
		clear(f.open)
	}
	f.open[run.ID] = first
}

// informParent lets the parent of these ended runs continue if it has waited enough. keep: the
// parent is not ended and may read the runs. If informed is false, the work stays due.
func (f *families) informParent(ctx context.Context, ended []*store.Run, now time.Time) (keep, informed bool) {
	id := ended[0].Parent()
	if id == "" {
		return false, true
	}
	parent, err := f.Store.Run(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && parent.State.Terminal():
		return false, true
	case err != nil:
		f.logFailure(ctx, ended[0].ID, err)
		return false, false
	}
	awaited := func(run *store.Run) bool { return slices.Contains(parent.Block.Children, run.ID) }
	if !parent.AwaitsChildren() || !slices.ContainsFunc(ended, awaited) {
		return true, true
	}
	ready := parent.Block.Any
	if !ready {
		ready, err = f.hasWaitedEnough(ctx, &parent, now)
	}
	if err != nil {
		f.logFailure(ctx, ended[0].ID, err)
		return false, false
	}
	if !ready {
		return true, true
	}
	cm, err := decide.Continue(&parent, now)
	if err != nil {
		f.logFailure(ctx, id, err)
		return false, false
	}
	return true, f.commitDue(ctx, []store.Commit{decide.Detach(cm)}) > 0
}

// endChildren cancels the children of an ended run. It reports whether all its descendants have
// ended and none is kept for its parent.
func (f *families) endChildren(ctx context.Context, parent *store.Run, now time.Time) (over bool) {
	over = true
	err := f.eachChild(ctx, store.Query{Parent: parent.ID}, func(page []store.Run) error {
		pageOver, err := f.endPage(ctx, page, ParentEnded(parent), now)
		over = over && pageOver
		return err
	})
	if err != nil {
		f.logFailure(ctx, parent.ID, err)
	}
	return over && err == nil
}

// endPage does the work of endChildren for a page of children.
func (f *families) endPage(ctx context.Context, page []store.Run, reason string, now time.Time) (over bool, _ error) {
	over = true
	var release, cancel []store.Commit
	for i := range page {
		child := &page[i]
		switch {
		case child.KeptForParent():
			release = append(release, decide.Detach(decide.FamilyDue(child, neverDue)))
		case child.State.Terminal() && child.Family.Due.IsZero():
		case child.State.Terminal():
			over = false // its own children come first
		default:
			cm, err := decide.Cancel(child, reason, now)
			if err != nil {
				return false, err
			}
			cancel = append(cancel, decide.Detach(cm))
		}
	}
	if f.commitDue(ctx, release) < len(release) {
		over = false
	}
	if len(cancel) == 0 {
		return over, nil
	}
	_, err := f.countStored(cancel, f.CommitBatch(ctx, cancel))
	return false, err
}

// ParentEnded returns the reason with which a child is canceled.
func ParentEnded(parent *store.Run) string {
	return fmt.Sprintf("its parent run %s has ended: %s", parent.ID, parent.State)
}

func (f *families) eachChild(ctx context.Context, q store.Query, each func(page []store.Run) error) error {
	for q.Limit = store.MaxBatch; ; {
		page, err := f.Store.Runs(ctx, q)
		if err != nil {
			return err
		}
		if err := each(page.Runs); err != nil {
			return err
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// commitDue stores commits for due runs, and returns how many were stored; the other runs stay
// due. The observer gets notices only for commits with events.
func (f *families) commitDue(ctx context.Context, batch []store.Commit) int {
	if len(batch) == 0 {
		return 0
	}
	errs := f.Store.Commit(ctx, batch)
	for i := range batch {
		if errs[i] == nil && len(batch[i].Events) > 0 {
			f.Notices.Committed(&batch[i])
		}
	}
	stored, err := f.countStored(batch, errs)
	if err != nil {
		f.logFailure(ctx, batch[0].Run.ID, err)
	}
	return stored
}

// countStored counts the stored commits, and notes when their runs are due next. A lost race is no
// error.
func (f *families) countStored(batch []store.Commit, errs []error) (stored int, _ error) {
	var failed error
	for i, err := range errs {
		switch {
		case err == nil:
			stored++
			f.Due.NoteRun(&batch[i].Run)
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound):
			failed = errors.Join(failed, err)
		}
	}
	return stored, failed
}
