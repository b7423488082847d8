package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// finding is what became of one bug.
type finding struct {
	bug  bug
	said string        // by the check that failed
	took time.Duration // to compile and run it
	err  error         // why the bug is not shown to be seen
}

// lanes is how many bugs are tried at one time; each compiles and runs on as many processors as
// there are.
const lanes = 2

// show tries every bug.
func show(ctx context.Context, root string, bugs []bug) (_ []finding, err error) {
	temp, err := os.MkdirTemp("", "museum")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	m := museum{tree: tree{root, temp}, sound: make(map[string]*once)}
	all := make([]finding, len(bugs))
	var work errgroup.Group
	work.SetLimit(lanes)
	for i, b := range bugs {
		work.Go(func() error {
			all[i] = m.try(ctx, b)
			return nil
		})
	}
	return all, work.Wait()
}

// museum remembers what it knows of checks without a bug.
type museum struct {
	tree

	mu    sync.Mutex
	sound map[string]*once // guarded by mu; by package or check
}

// once is something that is found out once.
type once struct {
	do      sync.Once
	program string
	err     error
}

func (m *museum) outcomeOf(name string) *once {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sound[name] == nil {
		m.sound[name] = &once{}
	}
	return m.sound[name]
}

// passes says whether the check passes on the tree as it is.
func (m *museum) passes(ctx context.Context, c check) error {
	whole := m.outcomeOf(c.pkg)
	whole.do.Do(func() { whole.program, whole.err = m.build(ctx, fmt.Sprintf("tree-%p", whole), "", c) })
	if whole.err != nil {
		return whole.err
	}
	outcome := m.outcomeOf(c.String())
	outcome.do.Do(func() {
		failed, said, err := m.run(ctx, whole.program, "", c)
		if outcome.err = err; failed {
			outcome.err = fmt.Errorf("%s fails without the bug: %s", c, said)
		}
	})
	return outcome.err
}

// try looks whether the bug's check sees it.
func (m *museum) try(ctx context.Context, b bug) finding {
	f := finding{bug: b}
	if f.err = m.passes(ctx, b.check); f.err != nil {
		return f
	}
	began := time.Now()
	f.said, f.err = m.seen(ctx, b)
	f.took = time.Since(began)
	return f
}

func (m *museum) seen(ctx context.Context, b bug) (said string, _ error) {
	files, err := patched(m.root, b.diff)
	if err != nil {
		return "", err
	}
	overlay, err := m.overlay(b.name, files)
	if err != nil {
		return "", err
	}
	program, err := m.build(ctx, b.name, overlay, b.check)
	if err != nil {
		return "", err
	}
	failed, said, err := m.run(ctx, program, overlay, b.check)
	if err == nil && !failed {
		err = fmt.Errorf("%s passes with the bug: nobody sees it", b.check)
	}
	return said, err
}
