package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// finding is the result of trying one bug.
type finding struct {
	bug  bug
	said string        // the message of the check that failed
	took time.Duration // the time to compile and run it
	err  error         // why it is not proved that the check detects the bug
}

// parallelBugs is how many bugs are tried at one time. Each compiles and runs on all processors.
const parallelBugs = 2

// show tries every bug.
func show(ctx context.Context, root string, bugs []bug) (_ []finding, err error) {
	temp, err := os.MkdirTemp("", "museum")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	m := museum{tree: tree{root, temp}, outcomes: make(map[string]*once)}
	if err := m.weave(bugs); err != nil {
		return nil, err
	}
	all := make([]finding, len(bugs))
	var work errgroup.Group
	work.SetLimit(parallelBugs)
	for i, b := range bugs {
		work.Go(func() error {
			all[i] = m.try(ctx, b)
			return nil
		})
	}
	return all, work.Wait()
}

// museum tries bugs. Each package's test program is compiled once, with all the bugs that can be
// woven in. None is active unless the environment names it.
type museum struct {
	tree

	woven   map[string]bool // by the bug's name
	overlay string          // with the bugs that are woven in

	mu       sync.Mutex
	outcomes map[string]*once // guarded by mu; by package or check
}

// once is a result that is computed once.
type once struct {
	do      sync.Once
	program program
	err     error
}

func (m *museum) once(name string) *once {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.outcomes[name] == nil {
		m.outcomes[name] = &once{}
	}
	return m.outcomes[name]
}

func (m *museum) weave(bugs []bug) error {
	w, err := newWeave(m.root, bugs)
	if err != nil {
		return err
	}
	files, err := w.woven()
	if err != nil {
		return err
	}
	m.woven = w.bugs
	m.overlay, err = m.writeOverlay(files)
	return err
}

// program returns the test program of a package with all the bugs that are woven in.
func (m *museum) program(ctx context.Context, pkg string) (program, error) {
	whole := m.once(pkg)
	whole.do.Do(func() {
		whole.program, whole.err = m.build(ctx, strings.ReplaceAll(pkg, "/", "_"), m.overlay, pkg)
	})
	return whole.program, whole.err
}

// passes returns an error when the check fails without a bug.
func (m *museum) passes(ctx context.Context, c check) error {
	outcome := m.once(c.String())
	outcome.do.Do(func() {
		var p program
		if p, outcome.err = m.program(ctx, c.pkg); outcome.err != nil {
			return
		}
		failed, said, err := m.run(ctx, p, "", c)
		if outcome.err = err; failed {
			outcome.err = fmt.Errorf("%s fails without the bug: %s", c, said)
		}
	})
	return outcome.err
}

// try runs the bug's check without the bug and with it.
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
	p, err := m.programWith(ctx, b)
	if err != nil {
		return "", err
	}
	failed, said, err := m.run(ctx, p, b.name, b.check)
	if err == nil && !failed {
		err = fmt.Errorf("%s passes with the bug: nobody sees it", b.check)
	}
	return said, err
}

// programWith returns a test program in which the bug can be activated. A bug that changes more
// than the bodies of functions has a separate program.
func (m *museum) programWith(ctx context.Context, b bug) (program, error) {
	if m.woven[b.name] {
		return m.program(ctx, b.check.pkg)
	}
	files, err := patched(m.root, b.diff)
	if err != nil {
		return program{}, err
	}
	overlay, err := m.writeOverlay(files)
	if err != nil {
		return program{}, err
	}
	return m.build(ctx, b.name, overlay, b.check.pkg)
}
