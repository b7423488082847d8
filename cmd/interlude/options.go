package main

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

type options struct {
	folder string // the skill's

	agent, command, model  string
	auth                   string // the id of an agent's login method
	login, offline, sticky bool
	env                    []string

	data, work, run string
	another         bool

	mode       lifecycle.Mode
	modeText   string
	timeout    time.Duration
	autoDecide bool

	replies       []string
	json, verbose bool
	log           string // the form of the log: text or json
	kill          string

	given map[string]bool // the flags on the command line
}

func newOptions(flags *flag.FlagSet) *options {
	o := &options{}
	o.agentFlags(flags)
	flags.BoolVar(&o.sticky, "sticky", false, "keep one process of the agent for all turns (claude and acp:CMD); the "+
		"run ends with it")
	flags.StringVar(&o.data, "data", "", "`folder` for the runs; default: .interlude next to the skill")
	flags.StringVar(&o.work, "work", "", "`folder` that the agent works in; default: a separate one for the run, "+
		"with a copy of the skill")
	flags.StringVar(&o.run, "run", "", "`id` of the run to continue; default: the newest that has not ended")
	flags.BoolVar(&o.another, "new", false, "start a new run even if one has not ended")
	flags.StringVar(&o.modeText, "mode", "", "interactive or auto; default: interactive if the skill permits it")
	flags.DurationVar(&o.timeout, "timeout", 0, "time limit of a question, in whole seconds; default: the skill's, "+
		"or 20 minutes")
	flags.BoolVar(&o.autoDecide, "auto-decide", false, "let the agent decide if there is no reply in time")
	flags.Func("reply", "`text` of a reply, given in advance (repeatable)", list(&o.replies))
	flags.BoolVar(&o.json, "json", false, "print the events as JSON lines")
	o.logFlags(flags)
	flags.StringVar(&o.kill, "kill", "", "kill -9 this program and its agent: `when` the run is parked, or running "+
		"(a turn)")
	return o
}

func (o *options) agentFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.agent, "agent", "", strings.Join(agentNames(), ", ")+"; default: the skill's choice if it has "+
		"one, otherwise demo")
	flags.StringVar(&o.command, "command", "", "the agent's `program`, if it is not on PATH")
	flags.StringVar(&o.model, "model", "", "the agent's language `model`; default: the agent's choice")
	flags.StringVar(&o.auth, "auth", "", "the `id` of the login method for an agent of acp:CMD; without it, the "+
		"error lists them")
	flags.BoolVar(&o.login, "login", false, "use your login and settings of the agent, instead of a key and a "+
		"separate home for each run")
	flags.BoolVar(&o.offline, "offline", false, "replace the agent's model by a scripted one: no account, no network")
	flags.Func("env", "`name` of another environment variable that the agent may see (repeatable)", list(&o.env))
}

func (o *options) logFlags(flags *flag.FlagSet) {
	flags.BoolVar(&o.verbose, "v", false, "log what the library does")
	flags.Func("log", "the `form` of the log on standard error: text (the default) or json", func(form string) error {
		if form != "text" && form != "json" {
			return errors.New("want text or json")
		}
		o.log = form
		return nil
	})
}

// logger logs from this level on, and everything with -v.
func (o *options) logger(to io.Writer, level slog.Level) *slog.Logger {
	if o.verbose {
		level = slog.LevelInfo
	}
	if o.log == "json" {
		return slog.New(terminal.JSONLogHandler(to, level))
	}
	return slog.New(terminal.LogHandler(to, level))
}

// arguments reads the rest of the command line.
func (o *options) arguments(flags *flag.FlagSet, folders []string) error {
	o.given = make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { o.given[f.Name] = true })
	o.mode = lifecycle.Mode(o.modeText)
	return o.check(folders)
}

func list(to *[]string) func(string) error {
	return func(s string) error {
		*to = append(*to, s)
		return nil
	}
}

func (o *options) check(folders []string) error {
	if len(folders) > 0 {
		o.folder = folders[0]
	}
	switch {
	case len(folders) == 0:
		return misusef("want a skill folder, one with a SKILL.md (interlude new DIR creates one); see -help")
	case len(folders) > 1:
		return misusef("want one skill folder, not %d: %.200q", len(folders), folders)
	case o.given["mode"] && !slices.Contains(fsm.Modes(), o.mode):
		return misusef("-mode is %.80q, want %s or %s", o.mode, lifecycle.Interactive, lifecycle.Auto)
	case o.given["kill"] && o.kill != killParked && o.kill != killRunning:
		return misusef("-kill is %.80q, want %s or %s", o.kill, killParked, killRunning)
	case o.given["timeout"] && (o.timeout < time.Second || o.timeout%time.Second != 0):
		return misusef("-timeout is %s, want whole seconds, at least 1s", o.timeout)
	case o.another && o.run != "":
		return misusef("-new starts a run and -run continues one: leave one of them out")
	case o.auth != "" && !strings.HasPrefix(o.agent, "acp:"):
		return misusef("-auth is only for -agent acp:CMD: leave it out")
	case o.offline && o.login:
		return misusef("-offline uses no login: leave -login out")
	}
	return nil
}
