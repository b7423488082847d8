package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/proof/checkout"
	"github.com/interlude-go/interlude/proof/mutation/chosen"
)

//go:embed chosen/chosen.go
var chosenText string

// chooser tries the mutants of a package with one test program that contains them.
type chooser struct {
	trial
	program string
	in      map[int]bool // the numbers of the mutants that it contains
}

// choose compiles the package's tests once, with all mutants that can be woven in.
func (t trial) choose(ctx context.Context, src *source, temp string, all []mutant) (_ *chooser, spent time.Duration,
	err error) {
	w, err := newWeave(src, all)
	if err != nil {
		return nil, 0, err
	}
	files, err := w.woven(os.ReadFile)
	if err != nil {
		return nil, 0, err
	}
	overlay, err := checkout.Overlay(temp, files)
	if err != nil {
		return nil, 0, err
	}
	c := &chooser{trial: t, program: filepath.Join(temp, "woven.test"), in: w.in}
	spent, err = t.build(ctx, overlay, t.pkg, c.program)
	if err != nil {
		return nil, spent, fmt.Errorf("with all mutants: %w", err)
	}
	var more time.Duration
	c.also, more, err = t.buildAlso(ctx, overlay, temp)
	return c, spent + more, err
}

// settle tries all mutants with this many workers. A mutant that the program does not contain gets
// a separate program.
func (c *chooser) settle(ctx context.Context, all []mutant, workers int) (spent time.Duration, _ error) {
	var mu sync.Mutex // guards spent
	tries, ctx := errgroup.WithContext(ctx)
	tries.SetLimit(workers)
	for i := range all {
		m := &all[i]
		if m.status == notViable {
			continue
		}
		tries.Go(func() error {
			try := func() (status, time.Duration, error) {
				return c.run(ctx, c.program, *m, chosen.Variable+"="+strconv.Itoa(i+1))
			}
			if !c.in[i+1] {
				try = func() (status, time.Duration, error) { return c.try(ctx, *m) }
			}
			became, took, err := try()
			mu.Lock()
			defer mu.Unlock()
			spent += took
			m.status = became
			return err
		})
	}
	err := tries.Wait()
	return spent, err
}
