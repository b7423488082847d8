package agents

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/exec"
)

type agent struct {
	// name is the engine's, in handles, and the program's.
	name string
	// tried are the oldest and the newest tested version.
	tried [2]string
	// keys are the host's variables with keys: the agent may see them, and their values are
	// redacted from its output. It may also see the variables in env.
	keys, env []string
	// set are variables for the agent.
	set map[string]string
	// settings writes missing settings into a home before each turn, but never into the user's
	// home; nil: no settings. Runs that share a home share these settings.
	settings func(*home) error
	// turn writes a turn's files into the run's folder for the engine, which is its home or, if the
	// home is the user's or shared, next to it; nil: nothing.
	turn func(*home, engine.Turn) error

	// help makes the program list its options; the agent can resume a session if resumes matches
	// the list.
	help    []string
	resumes *regexp.Regexp
	// turns runs a process for each turn; resident runs one for all turns of a run, nil if the
	// agent cannot.
	turns    exec.Config
	resident *exec.Config
}

// common lists the variables of the host that every agent may see.
var common = []string{
	"PATH", "SHELL", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// ofUser are the variables that locate the user's home.
var ofUser = []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}

func assemble(o Options, a agent) (*Engine, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	if o.Resident && a.resident == nil {
		return nil, fmt.Errorf("agents: %s has no resident mode: leave Options.Resident false", a.name)
	}
	if o.Command == "" {
		o.Command = a.name
	}
	e := &Engine{name: a.name, command: o.Command, help: a.help, resumes: a.resumes, only: o.Resident}
	if e.turns, err = exec.New(o.complete(a, a.turns, a.name)); err != nil {
		return nil, fmt.Errorf("agents: %s: %w", a.name, err)
	}
	if a.resident == nil {
		return e, nil
	}
	cfg := *a.resident
	cfg.Resident, cfg.StdinJSON = true, true
	if e.resident, err = exec.New(o.complete(a, cfg, a.name+residentSuffix)); err != nil {
		return nil, fmt.Errorf("agents: %s: %w", a.name, err)
	}
	return e, nil
}

// complete adds the common configuration of all forms and agents.
func (o Options) complete(a agent, cfg exec.Config, name string) exec.Config {
	cfg.Name, cfg.Command = name, o.Command
	cfg.VersionArgs, cfg.Tried = []string{"--version"}, a.tried
	cfg.Env = slices.Concat(common, a.keys, a.env, o.Env)
	cfg.Set = map[string]string{"NO_COLOR": "1"}
	if home := o.home(); home != "" {
		cfg.Set["HOME"] = home
	} else {
		cfg.Env = append(cfg.Env, ofUser...)
	}
	maps.Copy(cfg.Set, a.set)
	maps.Copy(cfg.Set, o.Set)
	// A variable that is set is not also inherited.
	cfg.Env = slices.DeleteFunc(cfg.Env, func(name string) bool { _, set := cfg.Set[name]; return set })
	if o.AutoArgs != nil {
		cfg.AutoArgs = o.AutoArgs
	}
	cfg.Secrets = slices.Concat(a.keys, o.Secrets)
	cfg.Prepare, cfg.Sandbox = o.prepare(a), o.Sandbox
	cfg.StateDir, cfg.Grace, cfg.TurnLimit, cfg.IdleLimit, cfg.MaxMemory = o.StateDir, o.Grace, o.TurnLimit,
		o.IdleLimit, o.MaxMemory
	return cfg
}

// variable is the value that the agent will get: set by the host, or inherited.
func (o Options) variable(name string) string {
	if v, ok := o.Set[name]; ok {
		return v
	}
	return os.Getenv(name)
}

const autoArg = "{auto}"

func with(call []string, more ...string) []string { return slices.Concat(call, more) }
