package acp

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// installed is the agent's program as it was found, and what it says that it can do.
type installed struct {
	program process.Program
	profile engine.Profile
}

// nobody is the run of a process that is asked what it is; what a dead host left of one is ended by
// the next.
const nobody = "acp-probe"

// Profile looks for the agent and says how it goes on after a wait. The program is started and
// asked once for each version that is installed, which takes as long as it takes to start.
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

// forgetful are agents, by the name that they announce, that lose the end of a session which they
// say they can resume.
var forgetful = map[string]string{
	// Seen of 0.15.10: it keeps the last message only after it has answered the prompt, and not
	// when it is ended then.
	"qwen-code": "it writes the end of a session after it has ended its turn",
}

// profileOf reads what an agent announces.
func profileOf(path string, h hello) engine.Profile {
	if why := forgetful[h.Info.Name]; why != "" {
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

// probe starts the agent in folders of its own and asks what it can do.
func (e *Engine) probe(ctx context.Context) (hello, error) {
	dir, err := os.MkdirTemp("", "interlude-probe-")
	if err != nil {
		return hello{}, process.Unavailable("the agent cannot be asked what it is", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = e.processes.Reap(ctx, nobody) // what cannot be ended is found again
	in := engine.Turn{RunID: nobody, Mode: fsm.ModeInteractive, HomeDir: dir, WorkDir: dir, ArtifactDir: dir,
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
		a.leave()
	} else {
		a.End()
	}
	a.Release()
	var known *engine.Failure
	if err != nil && !errors.As(err, &known) {
		return hello{}, process.Unavailable(fmt.Sprintf("the agent does not say what it is: %v: %s", err,
			a.lastWords()), nil)
	}
	return a.hello, err
}
