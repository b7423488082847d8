package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// probeRun is the run id of probe processes. Each probe ends leftovers of an earlier one.
const probeRun = "acp-probe"

// Profile finds the agent and returns its profile, by starting the program once until its file is
// replaced. An agent that announces a way to resume is started again with the first session: if it
// lacks the method, it becomes a resident process. Without an answer the announcement counts, and
// is tried again after five minutes.
func (e *Engine) Profile(ctx context.Context) (engine.Profile, error) {
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		return engine.Profile{}, process.NotStarted(err)
	}
	if e.cfg.Resident {
		return engine.Profile{Kind: fsm.ProfileStickyProcess,
			Reason: program.Path + " is configured to stay resident"}, nil
	}
	return e.profile.Answer(program, func() (engine.Profile, time.Duration, error) {
		announced, tried, err := e.probe(ctx)
		if err != nil {
			return engine.Profile{}, 0, err
		}
		holds := time.Duration(0)
		if tried.undecided {
			holds = e.provisional
		}
		return profileOf(program.Path, announced, tried), holds, nil
	})
}

// provisional is the lifetime of the profile of an agent whose announcement could not be tried.
const provisional = 5 * time.Minute

// unreliableAgents lists agents, by announced name, whose sessions are not used: a probe cannot
// find these faults, which need a session with a prompt.
var unreliableAgents = map[string]struct {
	before [2]int // the first reliable version, as major and minor; zero if none
	why    string
}{
	// Seen with 0.15.10: it stores the last message after it has answered the prompt. When its
	// process is ended in between, the message is lost. 0.24.4 resumes after kill -9.
	"qwen-code": {[2]int{0, 24}, "it writes the end of a session after it has ended its turn"},
	// Seen with 0.61.0, with a session that had a prompt: session/load is refused with "No previous
	// sessions found for this project."
	"gemini-cli": {why: "it refuses to load sessions that it has begun"},
}

// unreliable says why the agent's sessions are not used; else empty. An agent without a version
// counts as old.
func (a announcement) unreliable() string {
	known, found := unreliableAgents[a.Info.Name]
	if !found {
		return ""
	}
	var version [2]int
	_, err := fmt.Sscanf(a.Info.Version, "%d.%d", &version[0], &version[1])
	if known.before != [2]int{} && err == nil && slices.Compare(version[:], known.before[:]) >= 0 {
		return ""
	}
	return known.why
}

// trial is the result of a try to resume a session without a prompt. The zero trial does not refute
// the announcement: some agents store a session with its first prompt, and so cannot find this one.
type trial struct {
	refusal   string // the agent does not know the method
	undecided bool   // the agent opened no session, or did not answer
}

func profileOf(path string, a announcement, tried trial) engine.Profile {
	kind, ways := fsm.ProfileStickyProcess, a.ways()
	reason := "announces " + ways
	switch why := a.unreliable(); {
	case why != "":
		reason = "is not relied on to resume a session, so its process is kept: " + why
	case ways == "":
		reason = "announces no way to resume a session, so its process is kept"
	case tried.refusal != "":
		reason += " and does not know it, so its process is kept: " + tried.refusal
	case tried.undecided:
		kind, reason = fsm.ProfileResumable, reason+", which could not be tried"
	default:
		kind = fsm.ProfileResumable
	}
	return engine.Profile{Kind: kind, Reason: fmt.Sprintf("%s (%s) %s", path, a, reason)}
}

// probe starts the agent in a temporary folder, asks for its capabilities, and tries to resume a
// session if announced.
func (e *Engine) probe(ctx context.Context) (_ announcement, tried trial, _ error) {
	dir, err := os.MkdirTemp("", "interlude-probe-")
	if err != nil {
		return announcement{}, tried, process.Unavailable("the agent cannot be asked what it is", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = e.processes.Reap(ctx, probeRun) // the next probe tries again
	in := engine.Turn{RunID: probeRun, Mode: fsm.ModeInteractive, HomeDir: dir, WorkDir: dir, ArtifactDir: dir,
		TranscriptDir: dir}
	if err := process.CallPrepare(ctx, e.cfg.Prepare, in); err != nil {
		return announcement{}, tried, err
	}
	session := ""
	announced, err := e.ask(ctx, in, func(ctx context.Context, a *agent) {
		if a.announced.ways() == "" || a.announced.unreliable() != "" {
			return
		}
		tried.undecided = true
		if a.logIn(ctx, e.cfg.AuthMethod) == nil {
			session, _ = a.newSession(ctx, dir)
		}
	})
	if err != nil || validateSession(session) != nil {
		return announced, tried, err
	}
	_, err = e.ask(ctx, in, func(ctx context.Context, a *agent) {
		if a.logIn(ctx, e.cfg.AuthMethod) != nil {
			return
		}
		_, err := a.resumeSession(ctx, dir, session)
		tried = judge(ctx, err)
		tried.refusal = process.Clip(a.redacted(tried.refusal), 500)
	})
	return announced, tried, err
}

func judge(ctx context.Context, err error) trial {
	switch {
	case unanswered(ctx, err), wantsLogin(err):
		return trial{undecided: true}
	case refusesMethod(err):
		return trial{refusal: describe(err)}
	}
	return trial{}
}

var methodRefused = regexp.MustCompile(`(?i)\bmethod not found\b|\bnot (supported|implemented)\b|\bunsupported\b`)

func refusesMethod(err error) bool {
	var said *sdk.RequestError
	return errors.As(err, &said) && (said.Code == codeMethodNotFound || methodRefused.MatchString(describe(said)))
}

// ask starts the agent, reads its capabilities, and calls next with it. It returns an error if the
// agent exits or does not respond in time.
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

// announcement is the used part of an agent's answer to initialize. Other members may have any
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

func (a announcement) resumes() bool {
	resume := string(a.Capabilities.Session.Resume)
	return resume != "" && resume != "null" && resume != "false"
}

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
