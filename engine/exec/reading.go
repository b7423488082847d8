package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// maxCost bounds what a turn is said to have cost.
const maxCost = 1e15

// maxOdd bounds how many oddities of a turn are reported, and maxWarning how much of an agent's
// warning, in bytes.
const (
	maxOdd     = 20
	maxWarning = 4 << 10
)

// reading is a turn as it is read from the agent's output.
type reading struct {
	cfg        *Config
	ctx        context.Context //nolint:containedctx // a reading lives as long as its turn
	turn       engine.Turn
	sink       engine.Sink
	transcript *transcript.File
	resumed    bool
	surroundings

	session string
	version string          // of the agent, for its handle
	held    *engine.Message // the last message: intermediate, unless nothing comes after it
	delta   strings.Builder
	// deltaCut says that pieces were left out.
	deltaCut bool
	final    *string
	ref      *engine.RawRef
	out      engine.Outcome
	failed   *engine.Process
	lost     bool // a rule says that the session is gone
	odd      int
	heard    bool // the agent wrote something in this turn
	ended    bool // a rule says that the turn has ended
	complete bool // a rule says that all was said
	untaken  bool // the agent did not take its input

	mu      sync.Mutex
	limited error       // guarded by mu; a limit was exceeded
	idle    *time.Timer // nil: no limit
	over    func()      // the turn is over; the process has a grace to end. Nil: it is to stay
}

// values are what the placeholders stand for.
func (r *reading) values() map[string]string {
	interaction := 0
	if n := len(r.turn.Answers); n > 0 {
		interaction = r.turn.Answers[n-1].ID
	}
	return map[string]string{
		"{prompt}": r.turn.Prompt, "{input}": r.turn.Input(), "{session}": r.session, "{workdir}": r.turn.WorkDir,
		"{artifacts}": r.turn.ArtifactDir, "{transcripts}": r.turn.TranscriptDir, "{home}": r.turn.HomeDir,
		"{run}":     r.turn.RunID,
		"{attempt}": strconv.Itoa(r.turn.Attempt), "{mode}": string(r.turn.Mode),
		"{interaction}": strconv.Itoa(interaction),
	}
}

// read takes lines until the output or the turn ends. Its error is the sink's.
func (r *reading) read(in *lines) error {
	var text strings.Builder
	for !r.ended || !r.cfg.Resident { // a process of one turn is read to its end
		if r.idle != nil {
			r.idle.Reset(r.cfg.IdleLimit)
		}
		l, err := in.next()
		if r.idle != nil {
			r.idle.Stop() // a slow store is not an idle agent
		}
		if err != nil {
			if r.cfg.Format == Text && text.Len() > 0 {
				s := r.bounded(r.secrets.String(text.String()))
				r.final = &s
			}
			if r.idle != nil && !r.cfg.Resident {
				r.idle.Reset(r.cfg.IdleLimit) // an agent that closed its output and goes on is as idle as a silent one
			}
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
				return nil
			}
			return err
		}
		r.heard = true
		object := r.object(&l)
		at := r.transcript.Line("", l.text)
		if l.cut {
			r.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a line of %d bytes was cut at %d", l.length,
				r.cfg.MaxLine))
		}
		if r.cfg.Format == Text {
			if text.Len() <= r.cfg.MaxOutput {
				text.WriteString(r.valid(string(l.text)) + "\n") // one line beyond the limit at most; bounded cuts it
			}
			continue
		}
		if err := r.line(object, at); err != nil {
			return err
		}
	}
	return nil
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

// object reads one JSON line, nil when it is none. A line whose texts spell a secret that its bytes
// did not is written anew without it.
func (r *reading) object(l *line) map[string]any {
	text := strings.TrimSpace(string(l.text))
	if r.cfg.Format == Text || text == "" || l.cut {
		return nil // half an object cannot be read, and is reported
	}
	text = r.valid(text)
	object, err := decode(text)
	if err != nil {
		r.diagnose(fsm.WarnEngineOutputMalformed, "a line of output is no JSON object: "+clip(text, 200))
		return nil
	}
	if _, found := r.secrets.Value(object); found {
		l.text, _ = json.Marshal(object) // it was read from JSON
	}
	return object
}

// line applies the rules to what a JSON line holds.
func (r *reading) line(object map[string]any, at *engine.RawRef) error {
	if object == nil {
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

// decode reads one JSON object, with its numbers as they were written.
func decode(text string) (object map[string]any, _ error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || object == nil {
		return nil, errors.New("no JSON object alone")
	}
	return object, nil
}

// clip shortens s for people.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return cutAt(s, limit) + "…"
}

// apply does what one rule says with the line.
func (r *reading) apply(rule Rule, object map[string]any, ref *engine.RawRef) error {
	switch rule.Do {
	case TurnEnd:
		if !r.ended && r.over != nil {
			r.over()
		}
		r.ended = true
		return nil
	case Break:
		return r.flush()
	case Complete:
		r.complete = true
		return nil
	case ResumeFailed:
		r.lost = true
		return nil
	}
	v, ok := at(object, rule.Path)
	if !ok {
		return nil
	}
	text := r.bounded(r.secrets.String(textOf(v))) // the joined texts of a list may spell one
	switch rule.Do {
	case Session:
		return r.begin(text)
	case Message:
		return r.message(text, ref)
	case Delta:
		if room := r.cfg.MaxOutput - r.delta.Len(); len(text) > room {
			r.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a text was cut at %d bytes", r.cfg.MaxOutput))
			text, r.deltaCut = cutAt(text, room), true
		}
		r.delta.WriteString(text)
	case Final:
		r.final, r.ref = &text, ref
	case Output:
		v, _ = r.secrets.Value(v) // joined, as above
		body, err := json.Marshal(v)
		if err != nil || len(body) > r.cfg.MaxOutput {
			r.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("structured output of %d bytes is left out: want "+
				"at most %d", len(body), r.cfg.MaxOutput))
			return nil
		}
		r.out.Output = body
	case Failure:
		code := rule.Code
		if code == "" {
			code = fsm.CodeEngineFailed
		}
		r.failed = &engine.Process{Status: engine.Failed, Code: code, Detail: text}
	case Warning:
		return r.warn(text)
	case InputTokens, OutputTokens, CostUSD:
		r.cost(rule, text)
	}
	return nil
}

// warn tells at once what the agent warns of: that it waits for its model, say. It counts as an
// oddity, since there may be any number.
func (r *reading) warn(text string) error {
	if r.odd++; r.odd > maxOdd {
		return nil
	}
	return r.sink.Warn(r.ctx, engine.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: clip(text, maxWarning)})
}

// cost notes what the turn cost; what is no number is passed over.
func (r *reading) cost(rule Rule, text string) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > maxCost {
		return
	}
	u, before := &r.out.Usage, engine.Usage{}
	if rule.Add {
		before = *u
	}
	switch rule.Do {
	case InputTokens:
		u.InputTokens = min(before.InputTokens+int64(n), maxCost)
	case OutputTokens:
		u.OutputTokens = min(before.OutputTokens+int64(n), maxCost)
	default:
		u.CostUSD = min(before.CostUSD+n, maxCost)
	}
}

// bounded cuts a text at its limit, with a diagnostic.
func (r *reading) bounded(s string) string {
	if len(s) > r.cfg.MaxOutput {
		r.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a text was cut at %d bytes", r.cfg.MaxOutput))
	}
	return cutAt(s, r.cfg.MaxOutput)
}

// cutAt cuts s at limit bytes, or a little before, between two characters.
func cutAt(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:max(limit, 0)]
}

// flush makes a message of the pieces that came so far.
func (r *reading) flush() error {
	if r.delta.Len() == 0 {
		return nil
	}
	text := r.pieces()
	r.delta.Reset()
	r.deltaCut = false
	return r.message(text, nil)
}

// message holds the message back until it is known that it is not the last.
func (r *reading) message(text string, ref *engine.RawRef) error {
	if err := r.flush(); err != nil {
		return err
	}
	before := r.held
	r.held = &engine.Message{Text: text, RawRef: ref}
	if before == nil {
		return nil
	}
	return r.sink.Message(r.ctx, *before)
}
