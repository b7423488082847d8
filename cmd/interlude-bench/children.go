package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

const (
	parentEngine  = "parent"
	childPrefix   = "child-"
	childRepliers = 16
)

func parent(children int) engine.Engine {
	return flow.New(parentEngine, func(c *flow.Ctx, _ string) (string, error) {
		all := make([]engine.Child, children)
		for i := range all {
			all[i] = engine.Child{Engine: lifecycle.DefaultEngine, Prompt: "Build the release, ask, and ship it."}
		}
		ends, err := flow.RunAll[string](c, "part", all...)
		return strconv.Itoa(len(ends)), err
	})
}

// endChildren starts a run with children, and answers all of them once they ask and the parent
// waits. It measures the time until the parent has ended.
func (r *report) endChildren(ctx context.Context, h *host, children int, pr *progress) error {
	var asking atomic.Int64
	ids := make(chan string, children)
	waits, over := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(over) }) // a run that has ended may have more commits
	const id = "parent-1"
	defer h.store.Watch(func(hint store.Hint) {
		switch {
		case hint.RunID == id && hint.State.Terminal():
			end()
		case strings.HasPrefix(hint.RunID, childPrefix) && hint.State == fsm.StateWaitingUser:
			ids <- hint.RunID
			if asking.Add(1) == int64(children) {
				close(waits)
			}
		}
	})()
	b := pr.start("children", children)
	defer b.end()
	begun := time.Now()
	if _, err := h.Submit(ctx, lifecycle.Spec{ID: id, Engine: parentEngine, Prompt: "x"}); err != nil {
		return err
	}
	select {
	case <-waits:
	case <-over:
		return h.wentOn(ctx, id, children)
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		run, err := h.Get(ctx, id)
		if err != nil {
			return err
		}
		if run.State == fsm.StateQueued && run.Block != nil && run.Family.Due.IsZero() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	r.ChildrenStarted = time.Since(begun).Seconds()
	begun, cpu := time.Now(), cpuTime()
	var people errgroup.Group
	for range childRepliers {
		people.Go(func() error {
			for {
				select {
				case child := <-ids:
					if err := h.reply(ctx, child, interaction.Reply{ID: 1, Text: "yes"}); err != nil {
						return err
					}
				default:
					return nil
				}
			}
		})
	}
	if err := people.Wait(); err != nil {
		return err
	}
	select {
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.ChildrenEnded, r.ChildCPU = time.Since(begun).Seconds(), float64((cpuTime()-cpu).Microseconds())/float64(children)
	return h.wentOn(ctx, id, children)
}

func (h *host) wentOn(ctx context.Context, id string, children int) error {
	run, err := h.Get(ctx, id)
	if err == nil && (run.State != fsm.StateSucceeded || run.FinalText != strconv.Itoa(children) || run.Attempt != 2) {
		err = fmt.Errorf("run %s is %s after %d turns with %q: %v", id, run.State, run.Attempt, run.FinalText,
			run.Error)
	}
	return err
}
