package node

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// A run that a turn starts is a child; the turn's run is its parent. A child's id is derived from
// the parent's id and a key, so the child is started once, however often the parent's turn is
// repeated.
//
// Three kinds of commits leave work on the run's parent or children:
//
//	a run begins to wait for children    some of them may have ended already
//	a child ends                         its parent may be waiting for it
//	a parent ends                        its children end with it
//
// Each sets Family.Due of its run. Store.Due returns the run until a node has done the work
// (families), also after a crash.

// ChildPrefix begins the ids of children only: anyone can compute a child's id, and could otherwise
// occupy it by a submission.
const ChildPrefix = "child-"

func childID(parent, key string) string {
	body := binary.AppendUvarint(nil, uint64(len(parent)))
	sum := sha256.Sum256(append(append(body, parent...), key...))
	return ChildPrefix + IDEncoding.EncodeToString(sum[:20])
}

// Spawn implements engine.Parent by two commits: the first counts the child in the parent's record,
// under the turn's fence, the second creates the child. After a crash between them, the repeated
// turn calls Spawn again.
func (s *sink) Spawn(ctx context.Context, c engine.Child) (string, error) {
	t := (*turn)(s)
	if c.Key == "" || len(c.Key) > engine.MaxChildKey {
		return "", fmt.Errorf("engine: a child has a key of 1 to %d bytes, not %.80q", engine.MaxChildKey, c.Key)
	}
	parent := t.lastStored()
	id := childID(parent.ID, c.Key)
	if _, err := t.readChild(ctx, id); !errors.Is(err, store.ErrNotFound) {
		return id, err
	}
	cm, err := t.newChild(&parent, id, &c)
	if err != nil {
		return "", err
	}
	if err := s.countChild(ctx); err != nil {
		return "", err
	}
	err = t.untilAnswered(ctx, "child not started", func() error { return t.node.proc.Commit(ctx, cm) })
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, store.ErrExists): // created by an earlier try of this call or a lost turn
		_, err = t.readChild(ctx, id)
		return id, err
	}
	return "", fmt.Errorf("engine: child not started: %w", err)
}

func (t *turn) newChild(parent *store.Run, id string, c *engine.Child) (*store.Commit, error) {
	family := &store.Family{Ancestors: []string{parent.ID}}
	if parent.Family != nil {
		family.Ancestors = append(slices.Clip(parent.Family.Ancestors), parent.ID)
	}
	if len(family.Ancestors) > store.MaxDepth {
		return nil, fmt.Errorf("%w: run %s has %d ancestors", engine.ErrTooManyChildren, parent.ID, store.MaxDepth)
	}
	run, body, err := t.node.cfg.Specs.Child(parent.ID, &t.spec, id, c, t.node.proc.Now())
	if err != nil {
		return nil, fmt.Errorf("engine: child %.80q: %w", c.Key, err)
	}
	run.Family = family // any node with its engine claims it
	return decide.Submission(&run, body)
}

// countChild counts one more child in the parent's record.
func (s *sink) countChild(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("engine: child not started: %w", context.Cause(ctx))
	}
	t := (*turn)(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkOpen(); err != nil {
		return err
	}
	if f := t.record.Family; f != nil && f.Children >= store.MaxChildren {
		return fmt.Errorf("%w: run %s has started %d", engine.ErrTooManyChildren, t.record.ID, f.Children)
	}
	return errorForEngine(t.commitLocked(decide.CountChild))
}

// ChildEnd implements engine.Parent.
func (s *sink) ChildEnd(ctx context.Context, id string) (*engine.ChildEnd, error) {
	child, err := (*turn)(s).readChild(ctx, id)
	if err != nil || !child.State.Terminal() {
		return nil, err
	}
	end := &engine.ChildEnd{Succeeded: child.State == fsm.StateSucceeded, Output: child.Output,
		FinalText: child.FinalText}
	if f := child.Error; f != nil {
		end.Code, end.Message = f.Code, f.Message
	}
	return end, nil
}

// OpenChildren implements engine.Parent.
func (s *sink) OpenChildren(ctx context.Context) (ids []string, _ error) {
	t := (*turn)(s)
	for q := (store.Query{Parent: t.call.RunID, States: OpenStates, Limit: store.MaxBatch}); ; {
		var page store.Page
		err := t.untilAnswered(ctx, "children not read", func() (err error) {
			page, err = t.node.proc.Store.Runs(ctx, q)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("engine: children not read: %w", err)
		}
		for i := range page.Runs {
			ids = append(ids, page.Runs[i].ID)
		}
		if q.After = page.Next; page.Next == "" {
			return ids, nil
		}
	}
}

// readChild reads a child of the turn's run through Confirm, since the turn relies on it. It retries
// failures.
func (t *turn) readChild(ctx context.Context, id string) (child store.Run, _ error) {
	err := t.untilAnswered(ctx, "child not read", func() (err error) {
		child, err = t.node.proc.ConfirmedRun(ctx, id)
		return err
	})
	if err == nil && child.Parent() != t.call.RunID {
		return store.Run{}, fmt.Errorf("engine: run %s is no child of run %s", id, t.call.RunID)
	}
	return child, err
}
