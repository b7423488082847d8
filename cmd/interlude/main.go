// Interlude is a command line for durable runs. It lists and answers their questions, shows and
// controls the runs, and runs agents from skill folders:
//
//	interlude inbox -db runs.db         the questions that wait
//	interlude reply -db runs.db RUN     answer one, on the terminal
//	interlude run hello                 run a skill folder with an agent
//
// Without a verb it lists all of them. docs/cli.md is the page for those who use it.
//
// The exit status is 0 for success; 1 when a run failed, or something is wrong; 2 for a wrong
// command line, skill or reply; 3 when the run goes on with the next call; 4 when the run or
// question is not in the state that the call expects (it is settled, say, or claimed by somebody
// else); and 5 when the database cannot be used now.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
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
	About: "Interlude runs agents durably: they ask, wait, and go on.",
	Status: `The exit status is 0 for success; 1 when a run failed, or something is wrong;
2 for a wrong command line; 3 when the run goes on with the next call; 4 when
the run or question is not in the state that the call expects; and 5 when the
database cannot be used now: try again.`,
	Verbs: slices.Concat(console.Verbs(), []command.Verb{serveVerb, runVerb, newVerb, versionVerb}),
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	status, err := program.Run(ctx, command.Call{Program: os.Args[0], Args: os.Args[1:], In: os.Stdin, Out: os.Stdout,
		Side: os.Stderr})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, command.Line(err))
	}
	os.Exit(status)
}

var versionVerb = command.Verb{
	Name: "version", Does: "print the version of the program",
	Prepare: func(*flag.FlagSet) command.Action {
		return func(_ context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return misused, err
			}
			version := "(unknown)"
			if info, ok := debug.ReadBuildInfo(); ok {
				version = info.Main.Version
			}
			fmt.Fprintln(c.Out, "interlude", version)
			return succeeded, nil
		}
	},
}

func misusef(format string, args ...any) error { return command.Misusef(format, args...) }
