package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// maxCost limits each figure of a turn's usage, and maxWarning the length of an agent's warning in
// bytes.
const (
	maxCost    = 1e15
	maxWarning = 4 << 10
)

// readOutput reads lines until the output or the turn ends. Its error is the sink's, or ErrFlood.
func (t *turn) readOutput(in *process.LineReader) error {
	for !t.evidence.ended || !t.cfg.Resident { // read a single-turn process to its end
		t.limits.RestartIdle()
		l, err := in.Next()
		t.limits.PauseIdle() // a slow store does not make the agent idle
		if err != nil {
			t.messages.endText()
			if !t.cfg.Resident {
				t.limits.RestartIdle() // a closed output without an exit counts as idle
			}
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
				return nil
			}
			return err
		}
		t.evidence.wrote = true
		if err := t.readLine(l); err != nil {
			return err
		}
	}
	return nil
}

// readLine writes a line to the transcript, and applies the rules to it or adds it to the text.
func (t *turn) readLine(l process.Line) error {
	var object map[string]any
	if t.cfg.Format == JSONLines {
		object = t.parse(&l)
	}
	ref := t.transcript.Line("", l.Text)
	if l.Cut {
		t.diagnostics.Add(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a line of %d bytes was cut at %d", l.Length,
			t.cfg.MaxLine))
	}
	if t.cfg.Format == Text {
		t.messages.addText(string(l.Text))
		return nil
	}
	if object == nil {
		return nil
	}
	for _, rule := range t.cfg.Rules {
		if !rule.matches(object) {
			continue
		}
		if err := t.apply(rule, object, ref); err != nil {
			return err
		}
	}
	return nil
}

// parse decodes one JSON line; nil if it is not a JSON object. A secret may be written with JSON
// escapes and found only in the decoded texts; then the line is encoded again without it.
func (t *turn) parse(l *process.Line) map[string]any {
	text := strings.TrimSpace(string(l.Text))
	if text == "" || l.Cut {
		return nil // an incomplete object cannot be parsed; it is reported elsewhere
	}
	text = t.diagnostics.ValidUTF8(text)
	object, err := decode(text)
	if err != nil {
		t.diagnostics.Add(fsm.WarnEngineOutputMalformed, "a line of output is not a JSON object: "+
			""+process.Clip(text, 200))
		return nil
	}
	if _, found := t.secrets.Value(object); found {
		l.Text, _ = json.Marshal(object) // it was decoded from JSON
	}
	return object
}

// decode decodes one JSON object, with numbers as written.
func decode(text string) (object map[string]any, _ error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || object == nil {
		return nil, errors.New("not one JSON object")
	}
	return object, nil
}

// apply executes one rule for the line.
func (t *turn) apply(rule Rule, object map[string]any, ref *engine.RawRef) error {
	switch rule.Do {
	case TurnEnd:
		if !t.evidence.ended {
			t.endLingering()
		}
		t.evidence.ended = true
		return nil
	case Break:
		return t.messages.joinPieces()
	case Complete:
		t.evidence.complete = true
		return nil
	case ResumeFailed:
		t.evidence.sessionLost = true
		return nil
	}
	v, ok := at(object, rule.Path)
	if !ok {
		return nil
	}
	text := t.messages.bounded(t.secrets.String(textOf(v))) // the joined texts of a list may contain a secret
	switch rule.Do {
	case Session:
		return t.storeSession(text)
	case Message:
		return t.messages.add(text, ref)
	case Delta:
		t.messages.addPiece(text)
	case Final:
		t.messages.final = &engine.Message{Text: text, RawRef: ref}
	case Output:
		t.setOutput(v)
	case Failure:
		code := rule.Code
		if code == "" {
			code = fsm.CodeEngineFailed
		}
		t.evidence.failed = &engine.Process{Status: engine.Failed, Code: code, Detail: text}
	case Warning:
		return t.warn(text)
	case InputTokens, OutputTokens, CostUSD:
		t.addUsage(rule, text)
	}
	return nil
}

func (t *turn) setOutput(v any) {
	v, _ = t.secrets.Value(v) // the joined texts of a list may contain a secret
	body, err := json.Marshal(v)
	if err != nil || len(body) > t.cfg.MaxOutput {
		t.diagnostics.Add(fsm.WarnEngineOutputTruncated, fmt.Sprintf("structured output of %d bytes is omitted: "+
			"want at most "+
			"%d", len(body), t.cfg.MaxOutput))
		return
	}
	t.evidence.output = body
}

// warn stores an agent's warning immediately, for example that it waits for its model. Warnings and
// diagnostics of a turn share one limit.
func (t *turn) warn(text string) error {
	if !t.diagnostics.Count() {
		return nil
	}
	return t.sink.Warn(t.ctx, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic,
		Detail: process.Clip(text, maxWarning)})
}

// addUsage adds a figure to the turn's usage, and ignores texts that are not numbers.
func (t *turn) addUsage(rule Rule, text string) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > maxCost {
		return
	}
	u, before := &t.evidence.usage, engine.Usage{}
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
