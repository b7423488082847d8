package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

var runVerb = command.Verb{
	Name: "run", Args: "DIR", Does: "run a skill folder with an agent, and ask on the terminal",
	More: `The same command continues a run that has not ended. Without a terminal, the replies are those of -reply, in order, and then the lines of standard input.
	interlude run -agent demo DIR
	interlude run -agent codex -offline DIR`,
	Prepare: func(f *flag.FlagSet) command.Action {
		o := newOptions(f)
		return func(ctx context.Context, c command.Call) (int, error) {
			if err := o.arguments(f, c.Args); err != nil {
				return misused, err
			}
			return o.play(ctx, c)
		}
	},
}

func (o *options) play(ctx context.Context, c command.Call) (_ int, err error) {
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
		Store: death.store(files), Engines: map[string]engine.Engine{j.name: eng}, Dir: j.dir,
		Logger: o.logger(c.Side, quiet),
		Grace:  -1, // do not wait for the agent at exit: the turn is repeated
		Retry:  &lifecycle.Retry{Max: 5, Backoff: 5 * time.Second},
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
		for range served { // until the store is unused
		}
	}()

	talk := &conversation{
		lc: lc, run: r, dir: j.dir, death: death, resume: resumeCommand(c.Program, c.Raw),
		in:     newPerson(o.replies, c.In),
		screen: newScreen(c.Out, c.Side, o.json), past: r.Seq,
		served: served, leave: end, warned: make(map[lifecycle.Warning]bool),
	}
	talk.opening(j, begun)
	status, err := talk.follow(ctx)
	if lost := talk.screen.to.err; err == nil && lost != nil {
		err = fmt.Errorf("the output could not be printed: %w", lost)
	}
	return status, err
}

// quiet is higher than every level of the library's messages.
const quiet = slog.LevelError + 1

var _ interface { // the program's store must be both
	lifecycle.Store
	store.Watcher
} = (*sqlite.Store)(nil)
