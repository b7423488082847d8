package stories

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

type command struct {
	doc   string   // for README.md
	words []string // its words, in order; words that end with ? are optional
	named []string // its options of the form name=value
	flags []string // its options that are a mere name
	body  string   // the content of the lines below it; empty: not allowed
	do    func(w *world, a *args) (string, error)
}

var commands = func() map[string]command {
	all := make(map[string]command)
	for _, group := range []map[string]command{clientCommands, nodeCommands, queryCommands, contractCommands} {
		maps.Copy(all, group)
	}
	return all
}()

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

type args struct {
	words, named map[string]string
	flags        map[string]bool
	body         string
	err          error // the first value that cannot be read
}

func (c command) read(name string, words []string, body string) (*args, error) {
	a := &args{words: make(map[string]string), named: make(map[string]string), flags: make(map[string]bool),
		body: body}
	left := c.words
	for _, word := range words {
		key, text, isNamed := strings.Cut(word, "=")
		switch {
		case isNamed && slices.Contains(c.named, key) && a.named[key] == "":
			a.named[key] = text
		case !isNamed && slices.Contains(c.flags, key) && !a.flags[key]:
			a.flags[key] = true
		case !isNamed && len(left) > 0:
			a.words[strings.TrimSuffix(left[0], "?")] = key
			left = left[1:]
		default:
			return nil, fmt.Errorf("unknown argument %s: write %s", word, c.usage(name))
		}
	}
	if len(left) > 0 && !strings.HasSuffix(left[0], "?") {
		return nil, fmt.Errorf("%s is missing: write %s", left[0], c.usage(name))
	}
	if line, _, _ := strings.Cut(body, "\n"); c.body == "" && line != "" {
		return nil, fmt.Errorf("nothing may stand between %s and its dashes, as %q does", name, line)
	}
	return a, nil
}

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

// run executes one command of a story, and returns its answer and all its effects.
func (w *world) run(line, body string) (string, error) {
	words := strings.Fields(w.withIDs(line))
	c, ok := commands[words[0]]
	if !ok {
		return "", fmt.Errorf("unknown command %s: there are %s", words[0],
			strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
	}
	a, err := c.read(words[0], words[1:], body)
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
	if err := w.findChildren(); err != nil {
		return "", err
	}
	changes, err := w.reportChanges()
	if err != nil {
		return "", err
	}
	if answer+changes == "" {
		return "ok\n", nil
	}
	return w.withNames(strings.ReplaceAll(answer+changes, w.dir, "DIR")), nil // which has another name each time
}
