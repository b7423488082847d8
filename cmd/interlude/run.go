package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// runSkill is interlude run.
func runSkill(ctx context.Context, c call) (int, error) {
	o, err := parse(c.args, c.out)
	if err != nil {
		return failed, err
	}
	return o.play(ctx, c)
}

// play runs the skill.
func (o *options) play(ctx context.Context, c call) (_ int, err error) {
	j, err := o.job()
	if err != nil {
		return 0, err
	}
	death := newDeath(o.kill)
	eng, err := j.engine(death)
	if err != nil {
		return 0, err
	}
	if closer, ok := eng.(io.Closer); ok {
		defer func() { err = errors.Join(err, closer.Close()) }()
	}
	defer j.close()

	files, err := j.open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: death.store(files), Engines: map[string]engine.Engine{j.name: eng}, Dir: j.dir, Logger: o.logger(c.side),
		Grace: -1, // who leaves does not wait for the agent: the turn is repeated
		Retry: &lifecycle.Retry{Max: 5, Backoff: 5 * time.Second},
	})
	if err != nil {
		return 0, err
	}
	defer lc.Close()
	r, begun, err := j.resumeOrSubmit(ctx, lc)
	if err != nil {
		return 0, err
	}
	serving, end := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		defer close(served)
		served <- lc.Serve(serving)
	}()
	defer func() {
		end()
		for range served { // until nothing uses the store
		}
	}()

	talk := &conversation{
		lc: lc, run: r, dir: j.dir, death: death, resume: resumeCommand(c.program, c.args),
		in:     newPerson(o.replies, c.in),
		screen: newScreen(c.out, c.side, o.json), past: r.Seq,
		served: served, leave: end, warned: make(map[lifecycle.Warning]bool),
	}
	talk.opening(j, begun)
	return talk.follow(ctx)
}

// logger is for what the library does; silent unless -v.
func (o *options) logger(to io.Writer) *slog.Logger {
	if !o.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(to, nil))
}

var _ interface { // what the program's store must be
	lifecycle.Store
	store.Watcher
} = (*sqlite.Store)(nil)
