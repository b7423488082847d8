// Quickstart is interlude's main job on real input: it runs a skill folder with a child process as its agent, durably on
// SQLite, asks the person on the terminal, and shows states and events as they happen.
//
//	go run ./examples/quickstart                               ask and answer until it is done
//	go run ./examples/quickstart -db job.db -park              stop at the first question …
//	go run ./examples/quickstart -db job.db -resume            … and go on from there, days later
//	go run ./examples/quickstart -timeout 2s -strict=false     nobody answers: it decides by itself
//	go run ./examples/quickstart -profile sticky_process       one process lives through all turns
//	go run ./examples/quickstart -db job.db -kill-after user.input.required
//	                                                           kill -9 itself right after that event was stored
//
// Answers are read from the terminal, or as lines from standard input. The last line it prints is one JSON object.
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
	"time"

	"github.com/interlude-go/interlude/examples/quickstart/agent"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "agent" { // the child process
		os.Exit(agent.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// options are the command line's.
type options struct {
	db        string
	park      bool
	resume    bool
	timeout   time.Duration
	strict    bool
	profile   fsm.Profile
	killAfter string
	verbose   bool
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	var profile string
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.db, "db", "", "SQLite `file` to keep the run in; a temporary one when empty")
	flags.BoolVar(&o.park, "park", false, "exit at the first wait (needs -db)")
	flags.BoolVar(&o.resume, "resume", false, "go on with the last run in the file (needs -db)")
	flags.DurationVar(&o.timeout, "timeout", lifecycle.DefaultSessionTimeout, "how long a question waits, in whole seconds")
	flags.BoolVar(&o.strict, "strict", true, "a person must reply; with -strict=false the agent decides at the timeout")
	flags.StringVar(&profile, "profile", string(fsm.ProfileResumable), "resumable or sticky_process")
	flags.StringVar(&o.killAfter, "kill-after", "", "kill -9 this process right after an `event` was stored: an event type, a trigger, or #N for the Nth event (needs -db)")
	flags.BoolVar(&o.verbose, "v", false, "log what the library does")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.profile = fsm.Profile(profile)
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	case o.profile != fsm.ProfileResumable && o.profile != fsm.ProfileStickyProcess:
		return o, fmt.Errorf("-profile is %q, want %s or %s", profile, fsm.ProfileResumable, fsm.ProfileStickyProcess)
	case o.db == "" && (o.park || o.resume || o.killAfter != ""):
		return o, errors.New("-park, -resume and -kill-after need -db FILE: a temporary file would be gone")
	case o.park && o.profile == fsm.ProfileStickyProcess:
		return o, errors.New("-park needs -profile resumable: a sticky process ends with this program")
	}
	return o, nil
}

// run does the main job.
func run(ctx context.Context, args []string, in *os.File, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	if o.db == "" {
		dir, err := os.MkdirTemp("", "interlude-quickstart-")
		if err != nil {
			return err
		}
		o.db = filepath.Join(dir, "runs.db")
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
	logger := slog.New(slog.DiscardHandler)
	if o.verbose {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: eng, Dir: o.db + ".files", Logger: logger})
	if err != nil {
		return err
	}
	defer lc.Close()
	id, err := begin(ctx, lc, o)
	if err != nil {
		return err
	}
	serving, end := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(serving) }()

	talk := &conversation{lc: lc, id: id, park: o.park, in: newPerson(in), out: out}
	err = talk.follow(ctx)
	end()
	if err := errors.Join(err, <-served); err != nil {
		return err
	}
	return summary(context.WithoutCancel(ctx), lc, id, o.db, out)
}

// begin submits the skill, or finds the run to go on with.
func begin(ctx context.Context, lc *lifecycle.Lifecycle, o options) (id string, _ error) {
	if o.resume {
		page, err := lc.Runs(ctx, lifecycle.Query{Newest: true, Limit: 1})
		if err != nil {
			return "", err
		}
		if len(page.Runs) == 0 {
			return "", fmt.Errorf("nothing to resume: %s has no run", o.db)
		}
		return page.Runs[0].ID, nil
	}
	spec, err := lifecycle.FromSkill(skillFolder(), lifecycle.Interactive)
	if err != nil {
		return "", err
	}
	spec.SessionTimeout, spec.AutoDecide, spec.Repeatable = o.timeout, !o.strict, true
	r, err := lc.Submit(ctx, spec)
	return r.ID, err
}
