package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/procid"
)

// maxOdd bounds how many lines of a turn are reported as broken.
const maxOdd = 20

// errLimit is why the engine itself ended a turn.
type errLimit struct{ what string }

func (e errLimit) Error() string { return "exec: " + e.what }

// reading is a turn as it is read from the agent's output.
type reading struct {
	cfg        *Config
	turn       engine.Turn
	sink       engine.Sink
	transcript *transcript
	resumed    bool

	session string
	held    *engine.Message // the last message: intermediate, unless nothing comes after it
	delta   strings.Builder
	final   *string
	ref     *engine.RawRef
	out     engine.Outcome
	failed  *engine.Process
	lost    bool // a rule says that the session is gone
	odd     int
	ended   bool // a rule says that the turn has ended

	mu      sync.Mutex
	limited error       // guarded by mu; a limit was exceeded
	idle    *time.Timer // nil: no limit
}

// values are what the placeholders stand for.
func (r *reading) values() map[string]string {
	interaction := 0
	if n := len(r.turn.Answers); n > 0 {
		interaction = r.turn.Answers[n-1].ID
	}
	return map[string]string{
		"{prompt}": r.turn.Prompt, "{input}": r.turn.Input(), "{session}": r.session, "{workdir}": r.turn.WorkDir,
		"{artifacts}": r.turn.ArtifactDir, "{transcripts}": r.turn.TranscriptDir, "{run}": r.turn.RunID,
		"{attempt}": strconv.Itoa(r.turn.Attempt), "{mode}": string(r.turn.Mode),
		"{interaction}": strconv.Itoa(interaction),
	}
}

// bound ends the process when the turn is canceled or exceeds a limit, until stop is called.
func (r *reading) bound(ctx context.Context, p *process) (stop func()) {
	done := make(chan struct{})
	exceeded := make(chan error, 2)
	timer := func(d time.Duration, what string) *time.Timer {
		if d == 0 {
			return nil
		}
		return time.AfterFunc(d, func() {
			select {
			case exceeded <- errLimit{what}:
			default:
			}
		})
	}
	wall := timer(r.cfg.TurnLimit, "the turn exceeded its limit of "+r.cfg.TurnLimit.String())
	r.idle = timer(r.cfg.IdleLimit, "no output for "+r.cfg.IdleLimit.String())
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ctx.Done():
		case err := <-exceeded:
			r.mu.Lock()
			r.limited = err
			r.mu.Unlock()
		case <-done:
			return
		}
		p.end()
	})
	return func() {
		close(done)
		watch.Wait()
		for _, t := range []*time.Timer{wall, r.idle} {
			if t != nil {
				t.Stop()
			}
		}
	}
}

func (r *reading) limit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limited
}

// read takes lines until the output or the turn ends. Its error is the sink's.
func (r *reading) read(in *lines) error {
	var text strings.Builder
	for !r.ended || !r.cfg.Resident { // a process of one turn is read to its end
		l, err := in.next()
		if err != nil {
			if r.cfg.Format == Text && text.Len() > 0 {
				s := text.String()
				r.final = &s
			}
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
				return nil
			}
			return err
		}
		if r.idle != nil {
			r.idle.Reset(r.cfg.IdleLimit)
		}
		at := r.keep(l)
		if l.cut {
			r.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a line of %d bytes was cut at %d", l.length, r.cfg.MaxLine))
		}
		if r.cfg.Format == Text {
			if room := r.cfg.MaxOutput - text.Len(); room > 0 {
				text.WriteString(r.valid(string(l.text[:min(room, len(l.text))])) + "\n")
			}
			continue
		}
		if err := r.line(l, at); err != nil {
			return err
		}
	}
	return nil
}

// keep puts the line into the transcript and returns where it stands there.
func (r *reading) keep(l line) *engine.RawRef {
	if r.transcript == nil {
		return nil
	}
	r.transcript.mu.Lock()
	left := r.transcript.left
	r.transcript.mu.Unlock()
	_, _ = r.transcript.Write(append(append(make([]byte, 0, len(l.text)+1), l.text...), '\n'))
	if left < len(l.text)+1 {
		return nil
	}
	return &engine.RawRef{File: r.transcript.name, Offset: int64(r.cfg.MaxTranscript - left), Length: int64(len(l.text))}
}

// valid replaces invalid UTF-8, with a diagnostic.
func (r *reading) valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	r.diagnose(fsm.WarnEngineOutputInvalidUTF8, "invalid UTF-8 in the agent's output was replaced")
	return strings.ToValidUTF8(s, "\uFFFD")
}

func (r *reading) diagnose(code fsm.Warning, detail string) {
	if r.odd++; r.odd <= maxOdd {
		r.out.Diagnostics = append(r.out.Diagnostics, engine.Diagnostic{Code: code, Detail: detail})
	}
}

// line applies the rules to one JSON line.
func (r *reading) line(l line, at *engine.RawRef) error {
	text := strings.TrimSpace(string(l.text))
	if text == "" {
		return nil
	}
	text = r.valid(text)
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		if !l.cut {
			r.diagnose(fsm.WarnEngineOutputMalformed, "a line of output is no JSON object: "+clip(text, 200))
		}
		return nil
	}
	for _, rule := range r.cfg.Rules {
		if !rule.matches(object) {
			continue
		}
		if err := r.apply(rule, object, at); err != nil {
			return err
		}
	}
	return nil
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// apply does what one rule says with the line.
func (r *reading) apply(rule Rule, object map[string]any, ref *engine.RawRef) error {
	switch rule.Do {
	case TurnEnd:
		r.ended = true
		return nil
	case ResumeFailed:
		r.lost = true
		return nil
	}
	v, ok := at(object, rule.Path)
	if !ok {
		return nil
	}
	text := clipTo(textOf(v), r.cfg.MaxOutput)
	switch rule.Do {
	case Session:
		return r.begin(text)
	case Message:
		return r.message(text, ref)
	case Delta:
		if r.delta.Len()+len(text) <= r.cfg.MaxOutput {
			r.delta.WriteString(text)
		}
	case Final:
		r.final, r.ref = &text, ref
	case Output:
		if body, err := json.Marshal(v); err == nil && len(body) <= r.cfg.MaxOutput {
			r.out.Output = body
		}
	case Failure:
		code := rule.Code
		if code == "" {
			code = fsm.CodeEngineFailed
		}
		r.failed = &engine.Process{Status: engine.Failed, Code: code, Detail: text}
	case Warning:
		r.diagnose(fsm.WarnEngineDiagnostic, text)
	case InputTokens, OutputTokens:
		if n, err := strconv.ParseFloat(text, 64); err == nil && rule.Do == InputTokens {
			r.out.Usage.InputTokens = int64(n)
		} else if err == nil {
			r.out.Usage.OutputTokens = int64(n)
		}
	}
	return nil
}

func clipTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// begin stores the session id as soon as it is known.
func (r *reading) begin(session string) error {
	if session == "" || session == r.session {
		return nil
	}
	r.session = session
	return r.sink.Handle(context.Background(), *r.handle())
}

func (r *reading) handle() *engine.Handle {
	if r.session == "" {
		return nil
	}
	body, _ := json.Marshal(r.session) // a string can be encoded
	return &engine.Handle{Engine: r.cfg.Name, Data: body}
}

func sessionOf(h *engine.Handle) (session string) {
	if h != nil {
		_ = json.Unmarshal(h.Data, &session) // another engine's handle names no session of this one
	}
	return session
}

// message holds the message back until it is known that it is not the last.
func (r *reading) message(text string, ref *engine.RawRef) error {
	before := r.held
	r.held = &engine.Message{Text: text, RawRef: ref}
	if before == nil {
		return nil
	}
	return r.sink.Message(context.Background(), *before)
}

// outcome is the evidence of the turn. Broken is why reading ended early.
func (r *reading) outcome(ctx context.Context, p *process, broken error) (engine.Outcome, error) {
	o := r.out
	o.Handle = r.handle()
	switch {
	case r.final != nil:
		o.FinalText, o.FinalRef = *r.final, r.ref
		if r.held != nil && r.held.Text != *r.final && broken == nil {
			broken = r.sink.Message(context.Background(), *r.held)
		}
	case r.delta.Len() > 0:
		o.FinalText = r.delta.String()
	case r.held != nil:
		o.FinalText, o.FinalRef = r.held.Text, r.held.RawRef
	}
	if broken != nil && !errors.Is(broken, engine.ErrStale) && ctx.Err() == nil {
		return o, broken
	}
	o.Process = r.process(ctx, p, broken)
	return o, nil
}

// process says how the turn's process ended.
func (r *reading) process(ctx context.Context, p *process, broken error) engine.Process {
	switch limit := r.limit(); {
	case ctx.Err() != nil || broken != nil:
		return engine.Process{Status: engine.Interrupted, Detail: "the turn was interrupted"}
	case limit != nil:
		return engine.Process{Status: engine.TimedOut, Code: fsm.CodeTurnTimeout, Detail: limit.Error()}
	case r.ended && p.running():
		if r.failed != nil {
			return *r.failed
		}
		return engine.Process{Status: engine.OK}
	}
	stderr := clip(strings.ToValidUTF8(strings.TrimSpace(p.stderr.String()), "\uFFFD"), 2000)
	var exit *exec.ExitError
	code := 0
	if errors.As(p.result, &exit) {
		code = exit.ExitCode()
	}
	switch {
	case r.lost || r.resumed && (code != 0 || r.failed != nil) && r.cfg.ResumeFailed != nil && r.cfg.ResumeFailed.MatchString(stderr):
		return engine.Process{Status: engine.Failed, Code: fsm.CodeSessionResumeFailed, Detail: "the agent cannot resume its session: " + stderr, ExitCode: code}
	case r.failed != nil:
		r.failed.ExitCode = code
		return *r.failed
	case p.result != nil && !errors.Is(p.result, exec.ErrWaitDelay):
		detail := "the agent's process ended with " + p.result.Error()
		if stderr != "" {
			detail += ": " + stderr
		}
		return engine.Process{Status: engine.Failed, Code: fsm.CodeEngineFailed, Detail: detail, ExitCode: code}
	case r.cfg.Resident:
		return engine.Process{Status: engine.Failed, Code: fsm.CodeInteractionProcessLost, Detail: "the resident process ended during its turn: " + stderr}
	}
	return engine.Process{Status: engine.OK}
}

// running reports whether the process lives.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func alive(identity string) bool { return procid.Alive(identity) != procid.Dead }

// textInput is what a process reads on its standard input.
type textInput struct{ text string }

func newTextInput(text string) *textInput { return &textInput{text} }

// reader is nil for no input, as os/exec wants it.
func (i *textInput) reader() io.Reader {
	if i == nil {
		return nil
	}
	return strings.NewReader(i.text)
}
