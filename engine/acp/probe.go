package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// installed is the agent's program as it was found, and what it says that it can do.
type installed struct {
	program process.Program
	profile engine.Profile
}

// probeRun is the run of a process that is asked what it can do. Each probe ends what a dead host
// left of an earlier one.
const probeRun = "acp-probe"

// Profile looks for the agent and says how it goes on after a wait. It starts the program once for
// each version that is installed and asks what it can do.
func (e *Engine) Profile(ctx context.Context) (engine.Profile, error) {
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		return engine.Profile{}, process.NotStarted(err)
	}
	if e.cfg.Resident {
		return engine.Profile{Kind: fsm.ProfileStickyProcess,
			Reason: program.Path + " is configured to stay resident"}, nil
	}
	e.asking.Lock()
	defer e.asking.Unlock()
	if e.known.program == program {
		return e.known.profile, nil
	}
	hello, err := e.probe(ctx)
	if err != nil {
		return engine.Profile{}, err
	}
	e.known = installed{program: program, profile: profileOf(program.Path, hello)}
	return e.known.profile, nil
}

// losesSessionEnd are agents, by the name that they announce, that lose the end of a session though
// they announce that they can resume it.
var losesSessionEnd = map[string]string{
	// Seen of 0.15.10: it keeps the last message only after it has answered the prompt, and not
	// when it is ended then.
	"qwen-code": "it writes the end of a session after it has ended its turn",
}

// profileOf reads what an agent announces.
func profileOf(path string, h hello) engine.Profile {
	if why := losesSessionEnd[h.Info.Name]; why != "" {
		return engine.Profile{Kind: fsm.ProfileStickyProcess,
			Reason: fmt.Sprintf("%s (%s) is not relied on to resume a session, so its process is kept: %s", path, h,
				why)}
	}
	if ways := h.ways(); ways != "" {
		return engine.Profile{Kind: fsm.ProfileResumable, Reason: fmt.Sprintf("%s (%s) announces %s", path, h, ways)}
	}
	return engine.Profile{
		Kind:   fsm.ProfileStickyProcess,
		Reason: fmt.Sprintf("%s (%s) announces no way to resume a session, so its process is kept", path, h),
	}
}

// probe starts the agent in a temporary folder and asks what it can do.
func (e *Engine) probe(ctx context.Context) (hello, error) {
	dir, err := os.MkdirTemp("", "interlude-probe-")
	if err != nil {
		return hello{}, process.Unavailable("the agent cannot be asked what it is", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = e.processes.Reap(ctx, probeRun) // what cannot be ended is found again
	in := engine.Turn{RunID: probeRun, Mode: fsm.ModeInteractive, HomeDir: dir, WorkDir: dir, ArtifactDir: dir,
		TranscriptDir: dir}
	if err := process.CallPrepare(ctx, e.cfg.Prepare, in); err != nil {
		return hello{}, err
	}
	a, err := e.launch(in, nil)
	if err != nil {
		return hello{}, err
	}
	limited, stop := context.WithTimeoutCause(ctx, e.cfg.StartLimit, errStart)
	defer stop()
	err = a.initialize(limited, "")
	if errors.Is(err, errGone) || err == nil {
		a.closeInput()
	} else {
		a.End()
	}
	a.Release()
	var known *engine.Failure
	if err != nil && !errors.As(err, &known) {
		return hello{}, process.Unavailable(fmt.Sprintf("the agent does not say what it is: %v: %s", err,
			a.errorOutput()), nil)
	}
	return a.hello, err
}

// hello is an agent's answer to initialize, as far as it is used: what else it holds may be of any
// shape.
//
//nolint:tagliatelle // the protocol's words
type hello struct {
	ProtocolVersion int `json:"protocolVersion"`
	Info            struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Logins []struct {
		ID string `json:"id"`
	} `json:"authMethods"`
	Capabilities struct {
		LoadSession bool `json:"loadSession"`
		Session     struct {
			Resume json.RawMessage `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
}

// String names the agent.
func (h hello) String() string {
	name := h.Info.Title
	if name == "" {
		name = h.Info.Name
	}
	if name == "" {
		name = "an agent without a name"
	}
	return process.Clip(strings.TrimSpace(name+" "+h.Info.Version), 200)
}

// resumes reports whether the agent announces session/resume.
func (h hello) resumes() bool {
	able := string(h.Capabilities.Session.Resume)
	return able != "" && able != "null" && able != "false"
}

// ways names the ways to resume a session, "" when there is none.
func (h hello) ways() string {
	var ways []string
	if h.resumes() {
		ways = append(ways, sdk.AgentMethodSessionResume)
	}
	if h.Capabilities.LoadSession {
		ways = append(ways, sdk.AgentMethodSessionLoad)
	}
	return strings.Join(ways, " and ")
}

// methods names the ways to log in.
func (h hello) methods() string {
	ids := make([]string, 0, len(h.Logins))
	for _, l := range h.Logins {
		ids = append(ids, l.ID)
	}
	if len(ids) == 0 {
		return "none"
	}
	return process.Clip(strings.Join(ids, ", "), 500)
}
