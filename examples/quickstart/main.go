// Quickstart is interlude's main job on real input: it runs a skill folder with a child process as
// its agent, durably on SQLite, asks the person on the terminal, and shows states and events as
// they happen.
//
//	go run ./examples/quickstart                               ask and answer until it is done
//	go run ./examples/quickstart -db job.db -park              stop at the first question …
//	go run ./examples/quickstart -db job.db -resume            … and go on from there, days later
//	go run ./examples/quickstart -timeout 2s -strict=false     nobody answers: it decides by itself
//	go run ./examples/quickstart -profile sticky_process       one process lives through all turns
//	go run ./examples/quickstart -db job.db -kill-after user.input.required
//	                                                           kill -9 itself right after that event was stored
//
// Answers are read from the terminal, or as lines from standard input. Ctrl-C leaves the run as it
// is and says how to go on. The last line that it prints is one JSON object. The exit status is 0
// when the run succeeded or waits for an answer, 1 when it failed or something went wrong, 2 for a
// wrong command line, and 130 after Ctrl-C.
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
	"path/filepath"
	"syscall"

	"github.com/interlude-go/interlude/examples/quickstart/agent"
	"github.com/interlude-go/interlude/examples/terminal"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "agent" { // the child process
		os.Exit(agent.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // the second Ctrl-C does not wait
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	interrupted := ctx.Err() != nil
	stop()
	if interrupted && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted before the run was begun")
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "quickstart:", terminal.Text(err.Error()))
	}
	os.Exit(status(err, interrupted))
}

// status is what the program returns to the shell.
func status(err error, interrupted bool) int {
	switch {
	case interrupted:
		return 130
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(misuse)):
		return 2
	default:
		return 1
	}
}

// run does the main job.
func run(ctx context.Context, args []string, in *os.File, out io.Writer) (err error) {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	if o.db == "" {
		dir, err := os.MkdirTemp("", "interlude-quickstart-")
		if err != nil {
			return err
		}
		defer func() { // kept when the run can go on
			if !o.goesOn {
				err = errors.Join(err, os.RemoveAll(dir))
			}
		}()
		o.db, o.temporary = filepath.Join(dir, "runs.db"), true
	}
	if o.resume {
		if _, err := os.Stat(o.db); err != nil {
			return fmt.Errorf("nothing to resume: %w", err)
		}
	}
	files, err := sqlite.Open(ctx, o.db, sqlite.Options{})
	if err != nil {
		return err
	}
	defer files.Close()
	var st store.Store = files
	if o.killAfter != "" {
		st = fatal{Store: files, Watcher: files, event: o.killAfter}
	}
	eng, err := newEngine(o)
	if err != nil {
		return err
	}
	defer eng.Close()
	logger := slog.New(slog.DiscardHandler)
	if o.verbose {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	lc, err := lifecycle.New(lifecycle.Config{
		Store: st, Engine: eng, Dir: o.db + ".files", Logger: logger,
		Grace: -1, // Ctrl-C does not wait for the turn: it may be repeated
	})
	if err != nil {
		return err
	}
	defer lc.Close()
	r, err := begin(ctx, lc, o)
	if err != nil {
		return err
	}

	talking, hush := context.WithCancel(ctx)
	defer hush()
	serving, end := context.WithCancel(ctx)
	defer end()
	served := make(chan error, 1)
	go func() {
		served <- lc.Serve(serving)
		hush() // nothing happens any more
	}()
	talk := &conversation{lc: lc, run: r, park: o.park, in: newPerson(in), out: out}
	err = talk.follow(talking)
	end()
	if err := errors.Join(err, <-served); err != nil {
		return err
	}
	return o.summary(ctx, lc, r.ID, out)
}

// begin submits the skill, or finds the run to go on with.
func begin(ctx context.Context, lc *lifecycle.Lifecycle, o *options) (lifecycle.Run, error) {
	if o.resume {
		page, err := lc.Runs(ctx, lifecycle.Query{Newest: true, Limit: 1})
		if err != nil {
			return lifecycle.Run{}, err
		}
		if len(page.Runs) == 0 {
			return lifecycle.Run{}, fmt.Errorf("nothing to resume: %s has no run", o.db)
		}
		return page.Runs[0], nil
	}
	spec, err := lifecycle.FromSkill(skillFolder(), lifecycle.Interactive)
	if err != nil {
		return lifecycle.Run{}, err
	}
	spec.SessionTimeout, spec.AutoDecide, spec.Repeatable = o.timeout, !o.strict, true
	return lc.Submit(ctx, spec)
}
