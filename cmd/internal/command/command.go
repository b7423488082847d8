// Package command parses the command line of the program interlude: it finds the verb, parses its
// flags, prints help and shell completions, and chooses the exit status. The verbs are in package
// console and in the program, one file each.
//
// Flags are parsed by the standard library, so -json and --json are the same. They may precede or
// follow the other arguments. A missing flag is read from an environment variable: see
// FromEnvironment.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/lifecycle"
)

// The exit statuses.
const (
	Succeeded   = 0
	Failed      = 1 // a run failed, or a problem was found
	Misused     = 2 // an invalid command line, skill or reply: correct it
	GoesOn      = 3 // the next call continues the run
	Refused     = 4 // the state of the run or question does not permit the call: check it again
	Unavailable = 5 // the database is unreachable or full: try again
)

type Call struct {
	Program   string   // the program's name
	Args      []string // the arguments except flags
	Raw       []string // everything after the verb
	Variables []string // the flags that were set by environment variables
	In        *os.File
	Out, Side *os.File // standard output for the result, and standard error for everything else
}

type Verb struct {
	Name string
	Args string // as the help shows them
	Does string // one line
	More string // more paragraphs of the help
	// Prepare defines the flags, and returns the action to call after parsing.
	Prepare func(*flag.FlagSet) Action
}

// Action executes a verb, and returns the exit status. A returned error of a known kind overrides
// it (statusOf).
type Action func(context.Context, Call) (status int, err error)

type Program struct {
	About  string
	Verbs  []Verb
	Status string // the meaning of the exit statuses
}

// Run executes the verb in the first argument, and returns the exit status, with an error to print.
func (p Program) Run(ctx context.Context, c Call) (int, error) {
	status, err := p.dispatch(ctx, c)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return status, nil
	}
	if errors.As(err, new(logged)) {
		return statusOf(err, status), nil
	}
	return statusOf(err, status), err
}

// statusOf returns the exit status for an error. A known kind of error has a fixed status; other
// errors have the action's status, at least Failed.
func statusOf(err error, status int) int {
	switch {
	case errors.As(err, new(misuse)), errors.Is(err, lifecycle.ErrInvalidArgument),
		errors.Is(err, lifecycle.ErrInvalidReply):
		return Misused
	case errors.As(err, new(refusal)):
		return Refused
	case errors.Is(err, lifecycle.ErrUnavailable), errors.Is(err, lifecycle.ErrFull):
		return Unavailable
	}
	if slices.ContainsFunc(refusals, func(known error) bool { return errors.Is(err, known) }) {
		return Refused
	}
	return max(Failed, status)
}

// refusals are the errors of calls that the state of the run or question, or the host's
// authorization, does not permit.
var refusals = []error{
	lifecycle.ErrNotFound, lifecycle.ErrNotAllowed, lifecycle.ErrNotAsked, lifecycle.ErrNotDeputy, lifecycle.ErrSettled,
	lifecycle.ErrNotWaiting, lifecycle.ErrQuestionChanged, lifecycle.ErrClaimed, lifecycle.ErrReassigned,
	lifecycle.ErrVoted, lifecycle.ErrKeyConflict, lifecycle.ErrSpecConflict, lifecycle.ErrTerminal,
	lifecycle.ErrNotHeld, lifecycle.ErrRunChanged, lifecycle.ErrCannotFork, lifecycle.ErrCursorBeyondEnd,
	lifecycle.ErrTooMany,
}

func (p Program) dispatch(ctx context.Context, c Call) (int, error) {
	if len(c.Args) == 0 {
		return Succeeded, p.overview(c.Out)
	}
	name, args := c.Args[0], c.Args[1:]
	switch strings.TrimLeft(name, "-") {
	case "h", "help":
		return p.help(c, args)
	case "version":
		name = "version"
	case "completion":
		return p.completion(c, args)
	case completing:
		return Succeeded, p.complete(c.Out, args)
	}
	v := p.verb(name)
	if v == nil {
		return Misused, Misusef("there is no verb %.80q%s; interlude help lists all verbs", name, p.nearest(name))
	}
	if c.Raw = args; v.Prepare == nil {
		return Misused, Misusef("the verb %s has no action", name)
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	action := v.Prepare(flags)
	var err error
	if c.Args, err = parse(flags, args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			v.help(c.Out, flags)
			return Succeeded, nil
		}
		return Misused, Misusef("%w; see interlude help %s", err, name)
	}
	if c.Variables, err = FromEnvironment(flags, Prefix); err != nil {
		return Misused, err
	}
	return action(ctx, c)
}

func (p Program) verb(name string) *Verb {
	if i := slices.IndexFunc(p.Verbs, func(v Verb) bool { return v.Name == name }); i >= 0 {
		return &p.Verbs[i]
	}
	return nil
}

// nearest proposes the first verb that begins with the name, or with which the name begins.
func (p Program) nearest(name string) string {
	for _, v := range p.Verbs {
		if len(name) > 1 && (strings.HasPrefix(v.Name, name) || strings.HasPrefix(name, v.Name)) {
			return ": did you mean " + v.Name + "?"
		}
	}
	return ""
}

// parse parses flags between the other arguments, which it returns. "--" ends the flags.
func parse(flags *flag.FlagSet, args []string) (others []string, _ error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		ended := len(rest) < len(args) && args[len(args)-len(rest)-1] == "--"
		if len(rest) == 0 || ended {
			return append(others, rest...), nil
		}
		others, args = append(others, rest[0]), rest[1:]
	}
}

// Want returns the arguments if their number matches the words of usage.
func (c Call) Want(usage string) ([]string, error) {
	if n := len(strings.Fields(usage)); len(c.Args) != n {
		if n == 0 {
			return nil, Misusef("want no arguments, got %.80q: leave them out", c.Args)
		}
		return nil, Misusef("want %s, got %d arguments", usage, len(c.Args))
	}
	return c.Args, nil
}

// misuse is an error that the caller can correct.
type misuse struct{ error }

// Misusef returns an error with the exit status Misused.
func Misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

func (m misuse) Unwrap() error { return m.error }

type refusal struct{ error }

// Refusef returns an error with the exit status Refused.
func Refusef(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

func (r refusal) Unwrap() error { return r.error }

type logged struct{ error }

// Logged marks an error that is already in the log, so that Run does not return it.
func Logged(err error) error { return logged{err} }

func (l logged) Unwrap() error { return l.error }
