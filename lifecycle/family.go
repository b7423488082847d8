package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// families sees to the relatives of runs where that is due, as often as need be, and then commits that
// nothing is due any more. All that it does may be done twice, and by several nodes at once: what
// decides is what the store has, and each commit compares the version. It is for one goroutine.
//
// A parent may have a thousand children, and each that ends may be the last one. So that not each end
// reads them all, families remembers one child of each parent that was open when all were read: as
// long as the store still has that one as open, the others need not be read. The child is the one whose id
// comes first, and ids are hashes: so it is about as likely as any other to end last, and all are read
// some eight times for a thousand children, in whatever order these end.
type families struct {
	*node

	open map[string]string // by the parent's id; no more than maxKnownOpen
}

// maxKnownOpen bounds the children that a node remembers as open. Whoever is forgotten is read again.
const maxKnownOpen = 1024

// openStates are those of runs that have not ended.
var openStates = []fsm.State{fsm.StateQueued, fsm.StateRunning, fsm.StateWaitingUser}

// seeTo sees to the relatives of those of the runs where that is due, and returns the others. It reports
// whether that has changed something.
func (f *families) seeTo(ctx context.Context, due []Run, now time.Time) (others []Run, changed bool) {
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
			cm, err := f.awaiting(ctx, &run, now)
			if err != nil {
				f.failed(ctx, run.ID, err)
				continue
			}
			batch = append(batch, takeCommit(cm))
		}
	}
	for _, of := range byParent(ended) {
		at, ready := f.inform(ctx, of, now)
		for i := 0; i < len(of) && ready; i++ {
			if of[i].Family.Children > 0 {
				over, err := f.endChildren(ctx, of[i], now)
				if err != nil {
					f.failed(ctx, of[i].ID, err)
				}
				if !over {
					continue
				}
			}
			batch = append(batch, takeCommit(decideFamilyDue(of[i], at)))
		}
	}
	return others, f.commitDue(ctx, batch) > 0
}

// byParent groups runs by their parent; those without one are a group, too.
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

// failed logs that something could not be seen to. It stays due.
func (f *families) failed(ctx context.Context, id string, err error) {
	if ctx.Err() == nil {
		f.log.Error("relatives of the run not seen to; trying again", "run", id, "err", err)
	}
}

// awaiting returns the commit of a run that has not ended: it goes on, or waits on.
func (f *families) awaiting(ctx context.Context, run *store.Run, now time.Time) (*store.Commit, error) {
	if !run.AwaitsChildren() {
		return decideFamilyDue(run, time.Time{}), nil
	}
	goesOn, err := f.goesOn(ctx, run, now)
	switch {
	case err != nil:
		return nil, err
	case goesOn:
		return decideGoOn(run, now), nil
	}
	return decideFamilyDue(run, run.Block.Until), nil
}

// goesOn reports whether a run that waits for children goes on now.
func (f *families) goesOn(ctx context.Context, run *store.Run, now time.Time) (bool, error) {
	b := run.Block
	if one, ok := f.open[run.ID]; ok && !b.Any && slices.Contains(b.Children, one) &&
		(b.Until.IsZero() || b.Until.After(now)) {
		child, err := f.store.Run(ctx, one)
		if err == nil && !child.State.Terminal() {
			return false, nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	delete(f.open, run.ID)
	open := make(map[string]bool)
	err := f.eachChild(ctx, store.Query{Parent: run.ID, States: openStates}, func(page []store.Run) error {
		for i := range page {
			open[page[i].ID] = true
		}
		return nil
	})
	if err != nil || waitedEnough(b, func(id string) bool { return !open[id] }, now) {
		return err == nil, err
	}
	f.remember(run, open)
	return false, nil
}

// remember remembers one of the children of a run that it waits for and that are open.
func (f *families) remember(run *store.Run, open map[string]bool) {
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

// inform lets the parent of runs that have ended go on, if it has waited for that. It returns when the
// runs are due next, and false if that is to be tried again.
func (f *families) inform(ctx context.Context, ended []*store.Run, now time.Time) (due time.Time, ready bool) {
	id := ended[0].Parent()
	if id == "" {
		return due, true
	}
	parent, err := f.store.Run(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && parent.State.Terminal():
		return due, true
	case err != nil:
		f.failed(ctx, ended[0].ID, err)
		return due, false
	}
	awaited := func(run *store.Run) bool { return slices.Contains(parent.Block.Children, run.ID) }
	if !parent.AwaitsChildren() || !slices.ContainsFunc(ended, awaited) {
		return store.EndedChild, true
	}
	goesOn := parent.Block.Any
	if !goesOn {
		goesOn, err = f.goesOn(ctx, &parent, now)
	}
	if err != nil {
		f.failed(ctx, ended[0].ID, err)
		return due, false
	}
	if goesOn && f.commitDue(ctx, []store.Commit{takeCommit(decideGoOn(&parent, now))}) == 0 {
		return due, false
	}
	return store.EndedChild, true
}

// endChildren ends the children of a run that has ended, and reports whether nothing of them is left to
// do: they have ended, their own children have, and none need stay for its parent any more.
func (f *families) endChildren(ctx context.Context, parent *store.Run, now time.Time) (over bool, _ error) {
	over = true
	err := f.eachChild(ctx, store.Query{Parent: parent.ID}, func(page []store.Run) error {
		var stay, live []store.Commit
		for i := range page {
			child := &page[i]
			switch {
			case child.State.Terminal() && child.Family.Due.IsZero():
			case child.State.Terminal() && child.Family.Due.Equal(store.EndedChild):
				stay = append(stay, takeCommit(decideFamilyDue(child, time.Time{})))
			case child.State.Terminal():
				over = false // it is seen to first
			default:
				cm, err := decideCancel(child, parentEnded(parent), now)
				if err != nil {
					return err
				}
				live = append(live, takeCommit(cm))
			}
		}
		over = over && len(live) == 0
		if f.commitDue(ctx, stay) < len(stay) {
			over = false
		}
		if len(live) == 0 {
			return nil
		}
		_, err := f.noteStored(live, f.commitBatch(ctx, live))
		return err
	})
	return over && err == nil, err
}

// parentEnded is the reason for which a child is canceled.
func parentEnded(parent *store.Run) string {
	return fmt.Sprintf("its parent run %s has ended: %s", parent.ID, parent.State)
}

// eachChild calls each for the pages of a listing of children.
func (f *families) eachChild(ctx context.Context, q store.Query, each func(page []store.Run) error) error {
	for q.Limit = store.MaxBatch; ; {
		page, err := f.store.Runs(ctx, q)
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

// commitDue stores commits that have no event, and returns how many were stored. Of the others somebody
// else has changed the run, or what they were made for stays due.
func (f *families) commitDue(ctx context.Context, batch []store.Commit) int {
	if len(batch) == 0 {
		return 0
	}
	stored, err := f.noteStored(batch, f.store.Commit(ctx, batch))
	if err != nil {
		f.failed(ctx, batch[0].Run.ID, err)
	}
	return stored
}

// noteStored notes when the runs of commits that were stored are due, and counts them. What others were
// faster with is no error.
func (f *families) noteStored(batch []store.Commit, errs []error) (stored int, _ error) {
	var failed error
	for i, err := range errs {
		switch {
		case err == nil:
			stored++
			f.due.noteRun(&batch[i].Run)
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound):
			failed = errors.Join(failed, err)
		}
	}
	return stored, failed
}
