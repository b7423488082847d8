// Interlude runs agents durably from the command line. Its verbs:
//
//	interlude run [flags] DIR    run a skill folder with an agent, and ask on the terminal
//	interlude new DIR            write a small skill folder to start from
//	interlude version            print the version of the program
//	interlude help [VERB]        print what a verb does, and its flags
//
// For instance:
//
//	interlude new hello
//	interlude run hello                                   nothing needs to be installed
//	interlude run -agent codex -offline hello             a real agent with a scripted model: no account, no network
//	interlude run -agent claude DIR                       a real agent, your key (or -login), your skill
//	interlude run -agent "acp:opencode acp" DIR           any agent that speaks the Agent Client Protocol
//
// The exit status is 0 when all went well, 1 when a run failed or something went wrong, 2 for a
// wrong command line or skill, and 3 when the run goes on with the next call.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// The exit statuses.
const (
	succeeded = 0
	failed    = 1
	misused   = 2
	goesOn    = 3
)

// call is one call of the program, with its arguments and streams.
type call struct {
	program   string   // its name
	args      []string // after the verb
	in        *os.File
	out, side *os.File // standard output, and standard error for what is said beside it
}

// verb is one command of the program. It returns the exit status; an error decides the status
// itself.
type verb struct {
	name, args, does string
	do               func(context.Context, call) (status int, err error)
}

func verbs() []verb {
	return []verb{
		{"run", "[flags] DIR", "run a skill folder with an agent, and ask on the terminal", runSkill},
		{"new", "DIR", "write a small skill folder to start from", newSkill},
		{"version", "", "print the version of the program", printVersion},
		{"help", "[VERB]", "print what a verb does, and its flags", help},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C does not wait
	status, err := perform(ctx, call{os.Args[0], os.Args[1:], os.Stdin, os.Stdout, os.Stderr})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "interlude:", terminal.Text(err.Error()))
	}
	os.Exit(status)
}

// perform executes the verb in the first argument, and returns the exit status.
func perform(ctx context.Context, c call) (int, error) {
	status, err := dispatch(ctx, c)
	switch {
	case err == nil:
		return status, nil
	case errors.Is(err, flag.ErrHelp):
		return succeeded, nil
	case errors.As(err, new(misuse)), errors.Is(err, lifecycle.ErrInvalidSpec):
		return misused, err
	default:
		return failed, err
	}
}

// dispatch calls the verb.
func dispatch(ctx context.Context, c call) (int, error) {
	if len(c.args) == 0 {
		return misused, misusef("name a verb: %s; see interlude help", verbNames())
	}
	name := c.args[0]
	c.args = c.args[1:]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	for _, v := range verbs() {
		if v.name == name {
			return v.do(ctx, c)
		}
	}
	return misused, misusef("there is no verb %.80q: want %s; see interlude help", name, verbNames())
}

func verbNames() string {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return strings.Join(names, ", ")
}

// help is interlude help: it lists all verbs, or explains one.
func help(ctx context.Context, c call) (int, error) {
	if len(c.args) == 0 {
		fmt.Fprint(c.out, "Interlude runs agents durably: they ask, wait, and go on.\n\n")
		for _, v := range verbs() {
			fmt.Fprintf(c.out, "  %-27s  %s\n", strings.TrimSpace("interlude "+v.name+" "+v.args), v.does)
		}
		return succeeded, nil
	}
	if len(c.args) > 1 || strings.HasPrefix(c.args[0], "-") || c.args[0] == "help" {
		return misused, misusef("want one verb after help: %s", verbNames())
	}
	c.args = append(c.args, "-help")
	return dispatch(ctx, c)
}

// printVersion is interlude version.
func printVersion(_ context.Context, c call) (int, error) {
	if _, err := arguments(c, 0, "interlude version\n\nPrints the version of the program.\n"); err != nil {
		return failed, err
	}
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	fmt.Fprintln(c.out, "interlude", version)
	return succeeded, nil
}

// arguments are those of a verb that has no flags but -help, which prints the usage.
func arguments(c call, want int, usage string) ([]string, error) {
	flags := newFlags(c.out, usage)
	if err := flags.parse(c.args); err != nil {
		return nil, err
	}
	if flags.NArg() != want {
		first, _, _ := strings.Cut(usage, "\n")
		return nil, misusef("want: %s", first)
	}
	return flags.Args(), nil
}

// misuse is an error that the caller can correct: in the command line, in the skill, or by
// installing something.
type misuse struct{ error }

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// Unwrap returns the cause.
func (m misuse) Unwrap() error { return m.error }
