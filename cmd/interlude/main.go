// Interlude is the command line for durable runs: answer questions, inspect and control runs, and
// run agents from skill folders.
//
//	interlude inbox -db runs.db         list the open questions
//	interlude reply -db runs.db RUN     answer one, on the terminal
//	interlude run hello                 run a skill folder with an agent
//
// Without a verb it lists all verbs. docs/cli.md is the page for users.
//
// The exit status is 0 for success; 1 if a run failed or a problem was found; 2 for an invalid
// command line, skill or reply; 3 if the next call continues the run; 4 if the state of the run or
// question does not permit the call (for example, it is settled, or claimed by another person); and
// 5 if the database is unavailable.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
)

// The exit statuses.
const (
	succeeded = command.Succeeded
	failed    = command.Failed
	misused   = command.Misused
	goesOn    = command.GoesOn
)

var program = command.Program{
	About: "Interlude runs agents that ask people, wait for answers, and survive crashes.",
	Status: `The exit status is 0 for success; 1 if a run failed or a problem was found;
2 for an invalid command line; 3 if the next call continues the run; 4 if the
state of the run or question does not permit the call; and 5 if the database
is unavailable: try again.`,
	Verbs: append(console.Verbs(), serveVerb, devVerb, mcpVerb, tokenVerb, policyVerb, runVerb, newVerb, versionVerb),
}

// gcPercent makes the collector run a quarter as often: a host allocates much and retains little.
// On PostgreSQL this saves a sixth of its processor time, for about 35 MB. GOGC overrides it.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program immediately
	status, err := program.Run(ctx, command.Call{Program: os.Args[0], Args: os.Args[1:], In: os.Stdin, Out: os.Stdout,
		Side: os.Stderr})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, command.Line(err))
	}
	os.Exit(status)
}

// release is the version of a released binary, which the linker sets.
var release string

// version is the program's version: of the release, or else of the module.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && release == "" {
		return info.Main.Version
	}
	return cmp.Or(release, "(unknown)")
}

var versionVerb = command.Verb{
	Name: "version", Does: "print the program's version",
	Prepare: func(*flag.FlagSet) command.Action {
		return func(_ context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return misused, err
			}
			if _, err := fmt.Fprintln(c.Out, "interlude", version()); err != nil {
				return failed, err
			}
			return succeeded, nil
		}
	},
}

func misusef(format string, args ...any) error { return command.Misusef(format, args...) }
