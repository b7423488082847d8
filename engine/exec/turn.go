package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// turn is one attempt. Only RunTurn's goroutine uses it, except limits, which timers use too.
type turn struct {
	cfg        *Config
	ctx        context.Context //nolint:containedctx // a turn lives as long as its call
	in         engine.Turn
	sink       engine.Sink
	transcript *transcript.File

	secrets *redact.Redactor // of the process's environment
	session string           // its id; empty until the agent reports one
	resumed bool             // the turn resumes a session
	version string           // of the agent, for its handle

	limits      limits
	messages    messages
	evidence    evidence // without the messages
	diagnostics process.Diagnostics
}

type evidence struct {
	wrote        bool            // the agent wrote a line in this turn
	ended        bool            // a TurnEnd rule matched
	complete     bool            // a Complete rule matched
	sessionLost  bool            // a ResumeFailed rule matched, or the agent began another session
	inputNotRead bool            // the resident agent did not read its input
	failed       *engine.Process // by the last matching Failure rule
	output       json.RawMessage
	usage        engine.Usage
}

func newTurn(ctx context.Context, cfg *Config, in engine.Turn, sink engine.Sink) *turn {
	t := &turn{cfg: cfg, ctx: ctx, in: in, sink: sink}
	t.messages = messages{limit: cfg.MaxOutput, diagnostics: &t.diagnostics,
		send: func(m engine.Message) error { return sink.Message(ctx, m) }}
	return t
}

func (t *turn) setSecrets(r *redact.Redactor) { t.secrets, t.messages.secrets = r, r }

func (t *turn) values() map[string]string {
	interaction := 0
	if n := len(t.in.Answers); n > 0 {
		interaction = t.in.Answers[n-1].ID
	}
	return map[string]string{
		"{prompt}": t.in.Prompt, "{input}": t.in.Input(), "{session}": t.session,
		"{workdir}": t.in.WorkDir, "{artifacts}": t.in.ArtifactDir, "{transcripts}": t.in.TranscriptDir,
		"{home}": t.in.HomeDir, "{run}": t.in.RunID, "{attempt}": strconv.Itoa(t.in.Attempt),
		"{mode}": string(t.in.Mode), "{interaction}": strconv.Itoa(interaction),
	}
}

const maxSession = 4 << 10

// errOtherSession ends a turn whose agent began a new session, without knowledge of the run,
// instead of resuming the run's.
var errOtherSession = errors.New("exec: the agent began a different session instead of resuming the run's")

func (t *turn) storeSession(id string) error {
	if id == "" || id == t.session {
		return nil
	}
	if err := validateSession(id); err != nil {
		t.diagnostics.Add(fsm.WarnEngineDiagnostic, err.Error())
		return nil
	}
	if t.resumed && t.cfg.KeepsSession {
		t.evidence.sessionLost = true
		t.evidence.failed = &engine.Process{Detail: "it began a different one, " + process.Clip(id, 100)}
		return errOtherSession
	}
	t.session = id
	if h := t.handle(); h != nil {
		return t.sink.Session(t.ctx, *h)
	}
	return nil
}

// validateSession refuses a session id that could be parsed as a flag. The agent chooses the id,
// which becomes an argument of its next command line.
func validateSession(id string) error {
	if len(id) > maxSession || strings.HasPrefix(id, "-") || strings.ContainsFunc(id, unicode.IsControl) {
		return fmt.Errorf("the session id %q is refused: want at most %d bytes, no leading dash, no "+
			"control characters", process.Clip(id, 40), maxSession)
	}
	return nil
}

// handle is the session handle; nil if there is no session to resume. A resident agent continues in
// its process, and its handle only shows the session to people.
func (t *turn) handle() *engine.SessionHandle {
	switch {
	case t.cfg.Resident:
	case len(t.cfg.ResumeArgs) == 0, t.session == "" && t.cfg.namesSession():
		return nil
	}
	body, _ := json.Marshal(t.session) // a string can be encoded
	return &engine.SessionHandle{Engine: t.cfg.Name, Version: t.version, Data: body}
}

// namesSession reports whether a session id resumes a turn. Some agents find their session by the
// working folder.
func (c Config) namesSession() bool {
	return process.UsesPlaceholder("{session}", c.Set, append([]string{c.Stdin}, c.ResumeArgs...)...)
}

func (c Config) sessionOf(h engine.SessionHandle) (session string, _ error) {
	switch {
	case h.Engine != c.Name:
		return "", fmt.Errorf("the handle belongs to the engine %q, this is %q", process.Clip(h.Engine, 40), c.Name)
	case len(c.ResumeArgs) == 0:
		return "", errors.New("the agent is configured without a way to resume a session")
	}
	if err := json.Unmarshal(h.Data, &session); err != nil {
		return "", fmt.Errorf("the handle cannot be read: %w", err)
	}
	if session == "" && c.namesSession() {
		return "", errors.New("the handle has no session id")
	}
	return session, validateSession(session)
}

// resume reads the session from the turn's handle. A resident agent continues in its process.
func (t *turn) resume() error {
	if t.cfg.Resident {
		return nil
	}
	var err error
	switch {
	case t.in.Session != nil:
		t.resumed = true
		t.session, err = t.cfg.sessionOf(*t.in.Session)
	case t.in.GoesOn():
		err = errors.New("there is no session to continue")
	}
	if err != nil {
		return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: err.Error()}
	}
	return nil
}

// Check refuses a handle of another engine, or without a session id. Whether the agent still has
// the session is only known after a resume.
func (e *Engine) Check(_ context.Context, _ string, h engine.SessionHandle) error {
	if e.cfg.Resident {
		return nil
	}
	if _, err := e.cfg.sessionOf(h); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrHandleRefused, err)
	}
	return nil
}

type limits struct {
	*process.TurnTimer

	ctx       context.Context //nolint:containedctx // ends with the turn's, or at a limit
	exceed    context.CancelCauseFunc
	lingering *time.Timer // started when the agent reports the end of its turn; nil before
}

type errLimit struct{ what string }

func (e errLimit) Error() string { return "exec: " + e.what }

var errLingering = errors.New("exec: the agent reported the end of its turn, and did not exit")

// startLimits ends the process if the turn is canceled or exceeds a limit, until stop is called.
func (t *turn) startLimits(p *process.Process) (stop func()) {
	l := &t.limits
	l.ctx, l.exceed = context.WithCancelCause(t.ctx)
	l.TurnTimer = process.StartTurnTimer(t.cfg.TurnLimit, t.cfg.IdleLimit, "no output",
		func(what string) { l.exceed(errLimit{what}) })
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.ctx.Done():
			p.End()
		case <-done:
		}
	})
	return func() {
		l.Stop()
		if l.lingering != nil {
			l.lingering.Stop()
		}
		close(done)
		watch.Wait()
		l.exceed(nil)
	}
}

func (t *turn) endLingering() {
	if !t.cfg.Resident && t.limits.exceed != nil {
		t.limits.lingering = time.AfterFunc(t.cfg.Grace, func() { t.limits.exceed(errLingering) })
	}
}

// exceeded is the limit at which the engine ended the process; nil if it did not.
func (l *limits) exceeded() error {
	if l.ctx == nil { // no process was started
		return nil
	}
	why := context.Cause(l.ctx)
	var limit errLimit
	if errors.As(why, &limit) || errors.Is(why, errLingering) {
		return why
	}
	return nil
}
