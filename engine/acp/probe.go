package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// probeRun is the run id of the processes that are only asked what they can do. Each probe ends
// what a dead host left of an earlier one.
const probeRun = "acp-probe"

// Profile finds the agent and says how it goes on after a wait. It starts the program and asks what
// it can do, once as long as its file is not replaced. An agent that announces a way to resume a
// session is started a second time, and has to resume one.
func (e *Engine) Profile(ctx context.Context) (engine.Profile, error) {
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		return engine.Profile{}, process.NotStarted(err)
	}
	if e.cfg.Resident {
		return engine.Profile{Kind: fsm.ProfileStickyProcess,
			Reason: program.Path + " is configured to stay resident"}, nil
	}
	return e.profile.Answer(program, func() (engine.Profile, error) {
		announced, refusal, err := e.probe(ctx)
		if err != nil {
			return engine.Profile{}, err
		}
		return profileOf(program.Path, announced, refusal), nil
	})
}

// losesSessionEnd are agents, by the name that they announce, whose sessions are not used though
// the agents announce that they can resume them: the end of a session may be missing.
var losesSessionEnd = map[string]struct {
	before [2]int // the first version that does not, as major and minor
	why    string
}{
	// Seen with 0.15.10: it stores the last message after it has answered the prompt. When its
	// process is ended in between, the message is lost. 0.24.4 resumes after kill -9.
	"qwen-code": {[2]int{0, 24}, "it writes the end of a session after it has ended its turn"},
}

// losesEnd says why the sessions of the agent are not used; empty if they are. An agent that does
// not announce a version counts as an old one.
func (a announcement) losesEnd() string {
	known, found := losesSessionEnd[a.Info.Name]
	if !found {
		return ""
	}
	var version [2]int
	_, err := fmt.Sscanf(a.Info.Version, "%d.%d", &version[0], &version[1])
	if err == nil && slices.Compare(version[:], known.before[:]) >= 0 {
		return ""
	}
	return known.why
}

// profileOf returns the profile of an agent that announces this. refusal says why it did not resume
// a session.
func profileOf(path string, a announcement, refusal string) engine.Profile {
	if why := a.losesEnd(); why != "" {
		return engine.Profile{Kind: fsm.ProfileStickyProcess,
			Reason: fmt.Sprintf("%s (%s) is not relied on to resume a session, so its process is kept: %s", path, a,
				why)}
	}
	ways := a.ways()
	if ways != "" && refusal != "" {
		return engine.Profile{Kind: fsm.ProfileStickyProcess,
			Reason: fmt.Sprintf("%s (%s) announces %s and does not resume a session, so its process is kept: %s", path,
				a, ways, refusal)}
	}
	if ways != "" {
		return engine.Profile{Kind: fsm.ProfileResumable, Reason: fmt.Sprintf("%s (%s) announces %s", path, a, ways)}
	}
	return engine.Profile{
		Kind:   fsm.ProfileStickyProcess,
		Reason: fmt.Sprintf("%s (%s) announces no way to resume a session, so its process is kept", path, a),
	}
}

// probe starts the agent in a temporary folder and asks what it can do. Announcements are not
// believed: Gemini CLI 0.61 announces session/load and refuses it. The refusal is "" for an agent
// that resumed a session, and for one that opens none here (it wants a login, say): then its turns
// will fail for the same reason.
func (e *Engine) probe(ctx context.Context) (_ announcement, refusal string, _ error) {
	dir, err := os.MkdirTemp("", "interlude-probe-")
	if err != nil {
		return announcement{}, "", process.Unavailable("the agent cannot be asked what it is", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = e.processes.Reap(ctx, probeRun) // the next probe tries again
	in := engine.Turn{RunID: probeRun, Mode: fsm.ModeInteractive, HomeDir: dir, WorkDir: dir, ArtifactDir: dir,
		TranscriptDir: dir}
	if err := process.CallPrepare(ctx, e.cfg.Prepare, in); err != nil {
		return announcement{}, "", err
	}
	session := ""
	announced, err := e.ask(ctx, in, func(ctx context.Context, a *agent) {
		if a.announced.ways() == "" || a.announced.losesEnd() != "" ||
			a.logIn(ctx, e.cfg.AuthMethod) != nil {
			return
		}
		session, _ = a.newSession(ctx, dir)
	})
	if err != nil || checkSession(session) != nil {
		return announced, "", err
	}
	_, err = e.ask(ctx, in, func(ctx context.Context, a *agent) {
		err := a.logIn(ctx, e.cfg.AuthMethod)
		if err == nil {
			_, err = a.resumeSession(ctx, dir, session)
		}
		if err != nil {
			refusal = process.Clip(a.redacted(describe(err)), 500)
		}
	})
	return announced, refusal, err
}

// ask starts the agent, asks what it can do, and calls further with it. An agent that ends
// meanwhile, or does not answer in time, has an error.
func (e *Engine) ask(ctx context.Context, in engine.Turn,
	further func(context.Context, *agent)) (announcement, error) {
	a, err := e.launch(in, nil)
	if err != nil {
		return announcement{}, err
	}
	limited, stop := context.WithTimeoutCause(ctx, e.cfg.StartLimit, errStart)
	defer stop()
	err = a.initialize(limited)
	if err == nil {
		further(limited, a)
	}
	if errors.Is(err, errEnded) || err == nil && limited.Err() == nil {
		a.closeInput()
	} else {
		a.End()
	}
	a.Release()
	var failure *engine.Failure
	if err != nil && !errors.As(err, &failure) {
		return announcement{}, process.Unavailable(fmt.Sprintf("the agent does not say what it is: %v: %s", err,
			a.errorOutput()), nil)
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return a.announced, err
}

// announcement is an agent's answer to initialize, as far as it is used. Other members may have any
// type.
//
//nolint:tagliatelle // the protocol's words
type announcement struct {
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
func (a announcement) String() string {
	name := a.Info.Title
	if name == "" {
		name = a.Info.Name
	}
	if name == "" {
		name = "an agent without a name"
	}
	return process.Clip(strings.TrimSpace(name+" "+a.Info.Version), 200)
}

// resumes reports whether the agent announces session/resume.
func (a announcement) resumes() bool {
	resume := string(a.Capabilities.Session.Resume)
	return resume != "" && resume != "null" && resume != "false"
}

// ways names the ways to resume a session, "" when there is none.
func (a announcement) ways() string {
	var ways []string
	if a.resumes() {
		ways = append(ways, sdk.AgentMethodSessionResume)
	}
	if a.Capabilities.LoadSession {
		ways = append(ways, sdk.AgentMethodSessionLoad)
	}
	return strings.Join(ways, " and ")
}

// methods names the ways to log in.
func (a announcement) methods() string {
	ids := make([]string, 0, len(a.Logins))
	for _, l := range a.Logins {
		ids = append(ids, l.ID)
	}
	if len(ids) == 0 {
		return "none"
	}
	return process.Clip(strings.Join(ids, ", "), 500)
}
