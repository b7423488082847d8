package agents

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// UserHome as Options.Home is the user's own home.
const UserHome = "~"

// Options say how a host wants its agent. With the zero value it is the program that PATH finds
// under the agent's name, with the host's API key, and each run has a home of its own.
type Options struct {
	// Command is the agent's program: a name to be found in PATH, or a path. The agent's own name
	// when empty.
	Command string
	// Model is the agent's model; its own choice when empty.
	Model string
	// BaseURL is where the model is served, http://127.0.0.1:8080 say, without the part of the path
	// that belongs to the protocol, such as /v1. The agent's own choice when empty.
	BaseURL string
	// Args are additional arguments of each call of the agent, in both modes; placeholders as in
	// exec.Config. Flags for unrestricted access belong in AutoArgs.
	Args []string
	// AutoArgs are its full-auto flags, used in auto mode only. The adapter's own when nil;
	// none when empty and not nil.
	AutoArgs []string

	// Env names additional variables of the host that the agent may see. It sees its own key
	// variables, PATH, locale, time zone, proxies, certificates and the temporary folder, and
	// nothing else. Set adds others; placeholders as in exec.Config.
	Env []string
	Set map[string]string
	// Secrets names variables of Env or Set whose values are taken out of all that the agent
	// writes, as its own key variables always are; see exec.Config.
	Secrets []string

	// Home is where the agent keeps settings, login and sessions:
	//
	// Empty: a separate home per run. Nothing is shared, and the agent logs in with a key in the
	// environment; Seed can provide a login file, but if its tokens rotate (as for most account
	// logins), the copies of several runs and the original invalidate each other.
	//
	// UserHome: the user's own home, for account logins. Runs see the user's settings, instructions
	// and memories, and leave their sessions there; removing a run does not remove them.
	//
	// A path: a folder shared by all runs, separate from the user's: log in there once, by hand. It
	// is created if missing.
	Home string
	// Seed are files to be copied into the home of a run before its first turn, by their path in
	// it: ".gitconfig" from "/etc/agents/gitconfig", say. Readable by the user only. Only where
	// Home is empty.
	Seed map[string]string

	// Resident keeps one process for all turns of a run (sticky_process), for an agent that can be
	// run so: Claude Code.
	Resident bool

	// Sandbox may change how the agent of a turn is started, just before; see exec.Config. Settings
	// and Seed are in place by then.
	Sandbox func(cmd *exec.Cmd, t engine.Turn) error

	// StateDir, Grace, TurnLimit, IdleLimit and MaxMemory have the meaning of exec.Config: process
	// records, the time between TERM and KILL, and limits of a turn's time, of silence, and of
	// memory in bytes.
	StateDir                    string
	Grace, TurnLimit, IdleLimit time.Duration
	MaxMemory                   int64
}

// checked validates, and makes paths absolute.
func (o Options) checked() (Options, error) {
	if o.Home != "" && len(o.Seed) > 0 {
		return o, errors.New("agents: Options.Seed is for a home of each run's own: leave Home empty, or put the " +
			"files there by hand")
	}
	if o.Home != "" && o.Home != UserHome {
		abs, err := filepath.Abs(o.Home)
		if err != nil {
			return o, fmt.Errorf("agents: Options.Home: %w", err)
		}
		o.Home = abs
	}
	seed := make(map[string]string, len(o.Seed))
	for name, source := range o.Seed {
		abs, err := filepath.Abs(source)
		if err != nil || !filepath.IsLocal(name) || source == "" {
			return o, fmt.Errorf("agents: Options.Seed has %q from %q: want a path within the home, and the file to "+
				"copy there", name, source)
		}
		seed[name] = abs
	}
	o.Seed = seed
	return o, nil
}

// perRun reports whether each run has a separate home.
func (o Options) perRun() bool { return o.Home == "" }

// home is the agent's home as a template: {home} for one per run. Empty: the user's, as the host's
// variables say.
func (o Options) home() string {
	switch o.Home {
	case "":
		return "{home}"
	case UserHome:
		return ""
	default:
		return o.Home
	}
}
