package main

import (
	"flag"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// options are the flags of the command line.
type options struct {
	folder string // the skill's

	agent, command, model  string
	auth                   string // the id of an agent's way to log in
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
	kill          string

	given map[string]bool // the flags that were given
}

// newOptions defines the flags.
func newOptions(flags *flag.FlagSet) *options {
	o := &options{}
	o.agentFlags(flags)
	flags.BoolVar(&o.sticky, "sticky", false, "keep one process of the agent for all turns (claude and acp:CMD); the "+
		"run ends with it")
	flags.StringVar(&o.data, "data", "", "`folder` to keep runs in; .interlude beside the skill when empty")
	flags.StringVar(&o.work, "work", "", "`folder` that the agent works in; one of the run's own, with a copy of the "+
		"skill, when empty")
	flags.StringVar(&o.run, "run", "", "`id` of the run to go on with; the newest that has not ended when empty")
	flags.BoolVar(&o.another, "new", false, "begin another run, though one has not ended")
	flags.StringVar(&o.modeText, "mode", "", "interactive or auto; interactive when the skill can")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long a question waits, in whole seconds; the skill's own, or 20 "+
		"minutes")
	flags.BoolVar(&o.autoDecide, "auto-decide", false, "let the agent decide when nobody replies in time")
	flags.Func("reply", "`text` of a reply, instead of asking (again for more)", list(&o.replies))
	flags.BoolVar(&o.json, "json", false, "print the events as JSON lines")
	flags.BoolVar(&o.verbose, "v", false, "log what the library does")
	flags.StringVar(&o.kill, "kill", "", "kill -9 this program and its agent: `when` the run is parked, or running "+
		"(a turn)")
	return o
}

// agentFlags defines the flags that choose an agent.
func (o *options) agentFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.agent, "agent", "", strings.Join(agentNames(), ", ")+"; the skill's own choice when there is "+
		"one, otherwise demo")
	flags.StringVar(&o.command, "command", "", "the agent's `program`, when PATH does not find it")
	flags.StringVar(&o.model, "model", "", "the `model` that the agent asks; its own choice when empty")
	flags.StringVar(&o.auth, "auth", "", "the `id` of the way in which an agent of acp:CMD logs in; its error lists them")
	flags.BoolVar(&o.login, "login", false, "use the agent's login and settings of yours, instead of a key and a "+
		"home of the run's own")
	flags.BoolVar(&o.offline, "offline", false, "have a scripted model answer the agent: no account, no network")
	flags.Func("env", "`name` of a further variable of yours that the agent may see (again for more)", list(&o.env))
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

// check returns what is wrong with the command line.
func (o *options) check(folders []string) error {
	if len(folders) > 0 {
		o.folder = folders[0]
	}
	switch {
	case len(folders) == 0:
		return misusef("name a skill folder, one with a SKILL.md (interlude new DIR writes one); see -help")
	case len(folders) > 1:
		return misusef("want one skill folder, not %d: %.200q", len(folders), folders)
	case o.given["mode"] && !slices.Contains(fsm.Modes(), o.mode):
		return misusef("-mode is %.80q, want %s or %s", o.mode, lifecycle.Interactive, lifecycle.Auto)
	case o.given["kill"] && o.kill != killParked && o.kill != killRunning:
		return misusef("-kill is %.80q, want %s or %s", o.kill, killParked, killRunning)
	case o.given["timeout"] && (o.timeout < time.Second || o.timeout%time.Second != 0):
		return misusef("-timeout is %s, want whole seconds, at least 1s", o.timeout)
	case o.another && o.run != "":
		return misusef("-new begins another run and -run goes on with one: leave one of them out")
	case o.auth != "" && !strings.HasPrefix(o.agent, "acp:"):
		return misusef("-auth is for -agent acp:CMD: leave it out")
	case o.offline && o.login:
		return misusef("-offline needs no login: leave -login out")
	}
	return nil
}
