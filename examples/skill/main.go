// Skill runs a skill folder with an agent, durably on SQLite: it shows what happens, asks on the
// terminal, and goes on where it was, whatever happened to it in between.
//
//	go run ./examples/skill -agent demo examples/skill/hello            nothing needs to be installed
//	go run ./examples/skill -agent codex -offline examples/skill/hello  a real agent with a scripted model: no account, no network
//	go run ./examples/skill -agent claude DIR                           a real agent, your key (or -login), your skill
//	go run ./examples/skill -agent "acp:opencode acp" DIR               any agent that speaks the Agent Client Protocol
//
// Ctrl-C leaves the run parked; the same command goes on with it. So it does after -kill parked and
// -kill running, which have the program kill itself with kill -9, and its agent with it.
//
// Without a terminal, replies are those of -reply, in order, and then the lines of standard input.
// With -json, standard output has the events of the run and nothing else. The exit status is 0 when
// the run succeeded, 1 when it failed or something went wrong, 2 for a wrong command line or skill,
// and 3 when the run goes on with the next call.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/examples/terminal"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// The exit statuses.
const (
	succeeded = 0
	failed    = 1
	misused   = 2
	goesOn    = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C does not wait
	status, err := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "skill:", terminal.Text(err.Error()))
	}
	os.Exit(status)
}

// misuse is an error that the caller can mend: in the command line, the skill, or what is
// installed.
type misuse struct{ error }

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// Unwrap returns the cause.
func (m misuse) Unwrap() error { return m.error }

// run is the program: its arguments, with its name, and what it returns to the shell.
func run(ctx context.Context, args []string, in *os.File, out, side *os.File) (status int, err error) {
	o, err := parse(args[1:], out)
	if errors.Is(err, flag.ErrHelp) {
		return succeeded, nil
	}
	if err == nil {
		status, err = o.play(ctx, args, in, out, side)
	}
	var wrong misuse
	switch {
	case errors.As(err, &wrong), errors.Is(err, lifecycle.ErrInvalidSpec):
		return misused, err
	case err != nil:
		return failed, err
	}
	return status, nil
}

// play runs the skill.
func (o *options) play(ctx context.Context, args []string, in, out, side *os.File) (_ int, err error) {
	j, err := o.job()
	if err != nil {
		return 0, err
	}
	death := newDeath(o.kill)
	eng, err := j.engine(death)
	if err != nil {
		return 0, err
	}
	if c, ok := eng.(io.Closer); ok {
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	defer j.close()

	files, err := j.open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: death.store(files), Engines: map[string]engine.Engine{j.name: eng}, Dir: j.dir, Logger: o.logger(side),
		Grace: -1, // who leaves does not wait for the agent: the turn is repeated
	})
	if err != nil {
		return 0, err
	}
	defer lc.Close()
	r, begun, err := j.begin(ctx, lc)
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

	c := &conversation{
		lc: lc, run: r, dir: j.dir, death: death, again: again(args), in: newPerson(o.replies, in),
		screen: newScreen(out, side, o.json), past: r.Seq,
		served: served, leave: end, warned: make(map[contract.Warning]bool),
	}
	c.opening(j, begun)
	return c.follow(ctx)
}

// logger is for what the library does; silent unless -v.
func (o *options) logger(to io.Writer) *slog.Logger {
	if !o.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(to, nil))
}

var _ interface { // what the program's store must be
	store.Store
	store.Watcher
} = (*sqlite.Store)(nil)
