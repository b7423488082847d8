package decide

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Limits of the stored part of an agent's output, in bytes. The transcript has the rest.
const (
	MaxFinalText = 256 << 10
	MaxMessage   = 64 << 10
	MaxDetail    = 4 << 10
	// maxDiagnostics bounds the diagnostics of one outcome, and maxOwnWarnings the engine's own
	// codes in a run's record: the contract allows a hundred codes at a run's end.
	maxDiagnostics = 1000
	maxOwnWarnings = 50
)

// bounded makes a text valid UTF-8 of at most limit bytes, and reports whether it was cut.
func bounded(text string, limit int) (string, bool) {
	text = utf8Text(text)
	if len(text) <= limit {
		return text, false
	}
	cut := limit
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut], true
}

// Shortened returns a text for an error message: valid UTF-8 of at most MaxDetail bytes.
func Shortened(s string) string {
	s, _ = bounded(s, MaxDetail)
	return s
}

// utf8Text replaces invalid UTF-8, which not every store could keep unchanged.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func Message(text string, ref *engine.RawRef) *fcmp.MessageIntermediate {
	text, cut := bounded(text, MaxMessage)
	return &fcmp.MessageIntermediate{Text: text, Truncated: cut, RawRef: (*fcmp.RawRef)(ref)}
}

// Warning returns the event of an engine's warning.
func Warning(d interaction.Diagnostic) *fcmp.Warning { return warning(declaredWarning(d)) }

func warning(d interaction.Diagnostic) *fcmp.Warning {
	detail, _ := bounded(d.Detail, MaxDetail)
	return &fcmp.Warning{Code: string(d.Code), Detail: detail}
}

// StorableSession copies a handle, or says why it cannot be stored. It returns nil for nil.
func StorableSession(h *engine.SessionHandle) (*engine.SessionHandle, error) {
	if h == nil {
		return nil, nil //nolint:nilnil // no session, and no fault
	}
	if len(h.Data) == 0 || len(h.Data) > engine.MaxSessionHandle {
		return nil, fmt.Errorf("engine: handle has %d bytes, want 1 to %d", len(h.Data), engine.MaxSessionHandle)
	}
	if !utf8.ValidString(h.Engine) || !utf8.ValidString(h.Version) {
		return nil, fmt.Errorf("engine: handle has engine %+.80q, version %+.80q, want UTF-8", h.Engine, h.Version)
	}
	return h.Clone(), nil
}

// declaredWarning replaces a code that is neither the contract's nor in the engines' namespace by
// ENGINE_DIAGNOSTIC, and names it in the detail.
func declaredWarning(d interaction.Diagnostic) interaction.Diagnostic {
	if d.Code.Declared() {
		return d
	}
	detail := d.Detail
	if d.Code != "" {
		code, _ := bounded(string(d.Code), fsm.OwnWarningLongest)
		detail = strings.TrimSuffix(code+": "+detail, ": ")
	}
	return interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: detail}
}

// declaredWarnings copies an outcome's diagnostics, maxDiagnostics at most.
func declaredWarnings(given []interaction.Diagnostic) []interaction.Diagnostic {
	if len(given) == 0 {
		return nil
	}
	all := make([]interaction.Diagnostic, 0, min(len(given), maxDiagnostics))
	for i, d := range given {
		if i == maxDiagnostics {
			return append(all, interaction.Diagnostic{
				Code: fsm.WarnEngineOutputTruncated, Detail: fmt.Sprintf("%d diagnostics in one outcome; the first "+
					"%d are kept", len(given), maxDiagnostics),
			})
		}
		all = append(all, declaredWarning(d))
	}
	return all
}

// Failure copies an engine's error, because the error's methods are code of the engine. An error
// without a code gets this code.
func Failure(code fsm.Code, err error) *engine.Failure {
	detail := err.Error()
	failure := &engine.Failure{Code: code, Detail: detail}
	var f *engine.Failure
	if errors.As(err, &f) {
		failure.Transient, failure.Held, failure.Repairable = f.Transient, f.Held, f.Repairable
		failure.After = f.After
		if f.Code != "" {
			failure.Code = f.Code
			failure.Detail = strings.TrimPrefix(strings.TrimPrefix(detail, string(f.Code)), ": ")
		}
	}
	return failure
}

// FailedProcess describes a turn that ended with an engine's error; see Failure.
func FailedProcess(code fsm.Code, err error) engine.Process {
	f := Failure(code, err)
	return engine.Process{
		Status: engine.Failed, Code: f.Code, Detail: f.Detail, Transient: f.Transient, Held: f.Held,
		Repairable: f.Repairable, After: f.After,
	}
}

// InterruptedProcess describes a turn that the library interrupted.
func InterruptedProcess(cause error, p engine.Process) engine.Process {
	if p.Detail == "" {
		p.Detail = strings.TrimPrefix(cause.Error(), "engine: ")
	}
	p.Status, p.Code = engine.Interrupted, fsm.CodeTurnInterrupted
	if errors.Is(cause, engine.ErrTurnTimeout) {
		p.Status, p.Code = engine.TimedOut, fsm.CodeTurnTimeout
	}
	return p
}
