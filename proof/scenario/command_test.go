package scenario_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
)

// command is one that stories know.
type command struct {
	doc   string   // what it does
	words []string // that it takes, in order; those that end with ? may be left out
	named []string // what it takes as name=value
	flags []string // what it takes as a mere name
	body  string   // what the lines below it are; empty: there must be none
	do    func(w *world, a *args) (string, error)
}

// commands are all of them, by name.
var commands = func() map[string]command {
	all := make(map[string]command)
	for _, some := range []map[string]command{people, processes, looks, rulings} {
		maps.Copy(all, some)
	}
	return all
}()

// usage is how a command is written.
func (c command) usage(name string) string {
	text := name
	for _, w := range c.words {
		if word, optional := strings.CutSuffix(w, "?"); optional {
			text += " [" + word + "]"
		} else {
			text += " " + w
		}
	}
	for _, f := range c.flags {
		text += " [" + f + "]"
	}
	for _, n := range c.named {
		text += " [" + n + "=]"
	}
	return text
}

// args are what a command is given.
type args struct {
	words, named map[string]string
	flags        map[string]bool
	body         string
	err          error // the first value that cannot be read
}

// read says what the command is given, or what is wrong with it.
func (c command) read(d *datadriven.TestData) (*args, error) {
	a := &args{words: make(map[string]string), named: make(map[string]string), flags: make(map[string]bool),
		body: d.Input}
	left := c.words
	for _, arg := range d.CmdArgs {
		switch {
		case len(arg.Vals) == 1 && slices.Contains(c.named, arg.Key) && a.named[arg.Key] == "":
			a.named[arg.Key] = arg.Vals[0]
		case len(arg.Vals) == 0 && slices.Contains(c.flags, arg.Key) && !a.flags[arg.Key]:
			a.flags[arg.Key] = true
		case len(arg.Vals) == 0 && len(left) > 0:
			a.words[strings.TrimSuffix(left[0], "?")] = arg.Key
			left = left[1:]
		default:
			return nil, fmt.Errorf("unknown argument %s: write %s", arg, c.usage(d.Cmd))
		}
	}
	switch {
	case len(left) > 0 && !strings.HasSuffix(left[0], "?"):
		return nil, fmt.Errorf("%s is missing: write %s", left[0], c.usage(d.Cmd))
	case c.body == "" && d.Input != "":
		return nil, fmt.Errorf("nothing may stand between %s and its dashes, as %q does", d.Cmd, firstLine(d.Input))
	}
	return a, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// value is read from a named argument; the zero value when it is not given.
func value[T any](a *args, text string, read func(string) (T, error)) (v T) {
	if text == "" {
		return v
	}
	v, err := read(text)
	if err != nil && a.err == nil {
		a.err = err
	}
	return v
}

func (a *args) duration(name string) time.Duration {
	return value(a, a.named[name], time.ParseDuration)
}

func (a *args) number(name string) int { return value(a, a.named[name], strconv.Atoi) }

// do has the world do what one command of a file says, and returns what there is to tell.
func (w *world) do(d *datadriven.TestData) (string, error) {
	c, ok := commands[d.Cmd]
	if !ok {
		return "", fmt.Errorf("unknown command %s: there are %s", d.Cmd,
			strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
	}
	if d.Expected == "" && !d.Rewrite {
		return "", fmt.Errorf("%s has no dashes, or nothing stands below them: what it tells is missing", d.Cmd)
	}
	a, err := c.read(d)
	if err != nil {
		return "", err
	}
	answer, err := c.do(w, a)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return "", err
	}
	w.timers.advance(0)
	news, err := w.news()
	if err != nil {
		return "", err
	}
	if answer+news == "" {
		return "ok\n", nil
	}
	return strings.ReplaceAll(answer+news, w.dir, "DIR"), nil // which has another name each time
}
