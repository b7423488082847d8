package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

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

	temporary bool // the file was not named
	goesOn    bool // the run has not ended, and can go on
}

// misuse is an error in the command line.
type misuse struct{ error }

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

func parse(args []string, out io.Writer) (*options, error) {
	var o options
	var profile string
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.db, "db", "", "SQLite `file` to keep the run in; a temporary one when empty")
	flags.BoolVar(&o.park, "park", false, "exit at the first wait (needs -db)")
	flags.BoolVar(&o.resume, "resume", false, "go on with the last run in the file (needs -db)")
	flags.DurationVar(&o.timeout, "timeout", lifecycle.DefaultSessionTimeout, "how long a question waits, in whole "+
		"seconds")
	flags.BoolVar(&o.strict, "strict", true, "a person must reply; with -strict=false the agent decides at the timeout")
	flags.StringVar(&profile, "profile", string(fsm.ProfileResumable), "resumable or sticky_process")
	flags.StringVar(&o.killAfter, "kill-after", "", "kill -9 this process right after an `event` was stored: its "+
		"type, its trigger, or #N for the Nth (needs -db; - lists the names)")
	flags.BoolVar(&o.verbose, "v", false, "log what the library does")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(out, "Usage of quickstart:")
		flags.SetOutput(out)
		flags.PrintDefaults()
		return nil, err
	} else if err != nil {
		return nil, misusef("%w; see -help", err)
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.profile = fsm.Profile(profile)
	switch {
	case flags.NArg() > 0:
		return nil, misusef("unexpected argument %q; see -help", flags.Arg(0))
	case o.profile != fsm.ProfileResumable && o.profile != fsm.ProfileStickyProcess:
		return nil, misusef("-profile is %q, want %s or %s", profile, fsm.ProfileResumable, fsm.ProfileStickyProcess)
	case o.timeout < time.Second || o.timeout%time.Second != 0:
		return nil, misusef("-timeout is %s, want whole seconds, at least 1s", o.timeout)
	case o.db == "" && (o.park || o.resume || o.killAfter != ""):
		return nil, misusef("-park, -resume and -kill-after need -db FILE: a temporary file would be gone")
	case o.park && o.profile == fsm.ProfileStickyProcess:
		return nil, misusef("-park needs -profile resumable: a sticky process ends with this program")
	case o.resume && (given["timeout"] || given["strict"]):
		return nil, misusef("-timeout and -strict are for a new run, -resume goes on as the run began: leave them out")
	case given["kill-after"] && !mayKill(o.killAfter):
		return nil, misusef("-kill-after is %q, want %s", o.killAfter, killable())
	}
	return &o, nil
}
