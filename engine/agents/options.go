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

// Options configure an agent. With the zero value it is the program on PATH under the agent's name,
// with the host's API key, and each run has a separate home.
type Options struct {
	// Command is the agent's program: a name on PATH, or a path. Empty: the agent's name.
	Command string
	// Model is the agent's model. Empty: the agent's choice.
	Model string
	// BaseURL is the model's server, for example http://127.0.0.1:8080, without the protocol's part
	// of the path, such as /v1. Empty: the agent's choice.
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
	// Secrets names variables of Env or Set whose values are redacted from the agent's output, like
	// its key variables; see exec.Config.
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
	// Seed are files to copy into a run's home before its first turn, by their path in it: for
	// example ".gitconfig" from "/etc/agents/gitconfig". Readable only by the user. Requires an
	// empty Home.
	Seed map[string]string

	// Resident keeps one process for all turns of a run (sticky_process), for agents that support
	// it: Claude Code.
	Resident bool

	// Sandbox may change how a turn's agent is started; see exec.Config. Settings and Seed are
	// written before.
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
		return o, errors.New("agents: Options.Seed needs a separate home for each run: leave Home empty, or put the " +
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
