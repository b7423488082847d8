package lifecycle

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/schema"
)

// turnEvidence is what the outcome of a turn shows, ready for a decision.
type turnEvidence struct {
	facts   fsm.Facts // about the outcome; those about the run come from its record
	profile fsm.Profile
	process engine.Process
	// interruption is why the library ended the turn; nil when it ended by itself.
	interruption error

	reading          interaction.Reading
	question         interaction.Question // explicit, or the baseline
	session          *engine.SessionHandle
	final            *finalMessage
	warnings         []interaction.Diagnostic
	questionWarnings []interaction.Diagnostic // matter only when the run asks
	outputFault      error                    // why the output fails the schema
	sessionFault     error                    // why the session that the engine handed over cannot be stored
}

// details are what any decision about the turn knows of it.
func (t *turnEvidence) details() details {
	return details{
		facts: t.facts, profile: t.profile, session: t.session, sessionLost: t.sessionFault != nil,
		warnings: t.warnings, final: t.final, output: t.reading.Output,
	}
}

// dialect is how the engine of a turn signals that the run is done, or asks a question.
type dialect struct {
	plain bool   // by the fields of its outcome alone, not in its text (engine.Profile.Plain)
	nonce string // that the signals in its text must carry (engine.Profile.Signed); empty: none
}

// dialectOf is the dialect of an engine with the profile, for one turn: each has a nonce of its
// own, which is not stored (J12).
func dialectOf(p engine.Profile, mode fsm.Mode) dialect {
	d := dialect{plain: p.Plain}
	if p.Signed && !p.Plain && mode == fsm.ModeInteractive {
		d.nonce = strings.ToLower(rand.Text()[:12]) // 60 bits
	}
	return d
}

// currentDialect is the engine's dialect, once its profile is known.
func (t *turn) currentDialect() dialect {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dialect
}

// collectEvidence reads the outcome of a turn, or of one round of it. It decides nothing.
func (t *turn) collectEvidence(o engine.Outcome) *turnEvidence {
	t.mu.Lock()
	profile, d := t.profile, t.dialect
	t.mu.Unlock()
	ev := &turnEvidence{profile: profile, reading: d.read(o), warnings: declaredWarnings(o.Diagnostics)}
	ev.session, ev.sessionFault = storable(o.Session)
	if ev.sessionFault != nil {
		ev.warnings = append(ev.warnings, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic,
			Detail: ev.sessionFault.Error()})
	}
	if f := ev.reading.OutputFault; f != nil {
		ev.warnings = append(ev.warnings, interaction.Diagnostic{Code: f.Code, Detail: f.Detail})
	}
	if ev.reading.Text != "" { // a text that is a question or a marker alone says nothing beside it
		text, cut := bounded(ev.reading.Text, maxFinalText)
		ev.final = &finalMessage{text: text, truncated: cut, ref: o.FinalRef}
	}
	ev.findQuestion(o)
	ev.setProcess(o.Process)
	ev.facts |= factIf(ev.reading.Done, fsm.FactDoneMarker)
	ev.facts |= factIf(ev.reading.NotDone, fsm.FactNotDoneSaid)
	ev.facts |= factIf(ev.reading.Question != nil, fsm.FactQuestionAsked)
	if len(t.spec.OutputSchema) > 0 {
		declared, err := compiledSchema(t.spec.OutputSchema)
		ev.facts |= fsm.FactSchemaDeclared
		ev.outputFault = err
		if err == nil {
			ev.facts |= factIf(declared.Permissive(), fsm.FactSchemaPermissive)
			ev.outputFault = d.validOutput(declared, ev.reading)
		}
		ev.facts |= factIf(ev.outputFault == nil, fsm.FactOutputValid)
	}
	return ev
}

// setProcess says how the turn's process ended.
func (t *turnEvidence) setProcess(p engine.Process) {
	t.process = p
	t.facts = t.facts&^fsm.FactProcessOK | factIf(p.Status == engine.OK, fsm.FactProcessOK)
}

// interrupt notes that the library ended the turn: whatever the engine brought then is no success
// (B1).
func (t *turnEvidence) interrupt(cause error) {
	t.interruption = cause
	t.setProcess(interrupted(cause, t.process))
}

// read is what the outcome says in its fields, and, unless the engine is plain code, in its text
// (J12).
func (d dialect) read(o engine.Outcome) interaction.Reading {
	r := interaction.ReadSigned(o.FinalText, o.Output, d.nonce)
	if d.plain {
		r = interaction.ReadPlain(o.FinalText, o.Output)
	}
	r.Done = r.Done || o.Done
	return r
}

// findQuestion finds the question that the run would park with: the engine's, the one in its text,
// or the baseline (C2).
func (t *turnEvidence) findQuestion(o engine.Outcome) {
	t.questionWarnings = slices.Clip(t.reading.Diagnostics)
	if len(o.Questions) > 0 {
		q, diagnostics := interaction.Normalize(o.Questions[0])
		t.reading.Question = &q
		t.questionWarnings = append(t.questionWarnings, diagnostics...)
		if len(o.Questions) > 1 {
			t.questionWarnings = append(t.questionWarnings, interaction.Diagnostic{
				Code: fsm.WarnAskUserSurplus, Detail: fmt.Sprintf("%d questions in one turn; only the first is asked",
					len(o.Questions)),
			})
		}
	}
	if t.reading.Question != nil {
		t.question = *t.reading.Question
		return
	}
	t.question = t.reading.Baseline()
}

// processFault says how a process failed, for a person.
func (t *turnEvidence) processFault() string {
	return shortened(cmp.Or(t.process.Detail, "the turn's process "+string(t.process.Status)))
}

// failureMessage says why the gate fails the turn, for a person.
func (t *turnEvidence) failureMessage(rule fsm.GateRule) string {
	if t.process.Status != engine.OK {
		return t.processFault()
	}
	switch rule.Error {
	case fsm.CodeOutputInvalid:
		return shortened(fmt.Sprintf("the output is not valid: %v", t.outputFault))
	case fsm.CodeInteractiveMaxAttemptExceeded:
		return "max_attempt is reached and the run is not complete"
	case fsm.CodeSessionResumeFailed:
		if t.sessionFault != nil {
			return fmt.Sprintf("the session that the engine handed over cannot be stored, so a wait could never be "+
				"resumed: %v", t.sessionFault)
		}
		return "the engine gave no session handle, so a wait could never be resumed"
	}
	return string(rule.Error)
}

func (d dialect) validOutput(s *schema.Schema, r interaction.Reading) error {
	if r.OutputFault != nil {
		return errors.New(r.OutputFault.Detail)
	}
	if r.Output == nil && d.plain {
		return errors.New("the engine handed over none")
	}
	if r.Output == nil {
		return errors.New("no JSON output was found: it must be the whole final message or its only fenced JSON block")
	}
	return s.ValidateJSON(r.Output)
}

// schemas caches the compiled output schemas, since hosts submit the same few for all runs.
var schemas = schemaCache{compile: schema.Compile}

// maxSchemas bounds the cache, which is emptied when it is full.
const maxSchemas = 256

// schemaCache caches compiled schemas by their text.
type schemaCache struct {
	compile func(raw []byte) (*schema.Schema, error)

	mu     sync.Mutex
	byText map[string]*schema.Schema // guarded by mu
}

func compiledSchema(raw []byte) (*schema.Schema, error) { return schemas.get(raw) }

// get returns the compiled schema. It compiles without the lock, so that a large schema delays no
// caller whose schema is cached. Callers that ask for the same new schema at the same time may each
// compile it; all get the one that was cached first.
func (c *schemaCache) get(raw []byte) (*schema.Schema, error) {
	if s := c.cached(raw); s != nil {
		return s, nil
	}
	s, err := c.compile(raw)
	if err != nil {
		return nil, err
	}
	return c.add(raw, s), nil
}

func (c *schemaCache) cached(raw []byte) *schema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byText[string(raw)]
}

func (c *schemaCache) add(raw []byte, s *schema.Schema) *schema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.byText[string(raw)]; first != nil {
		return first
	}
	if c.byText == nil || len(c.byText) >= maxSchemas {
		c.byText = make(map[string]*schema.Schema)
	}
	c.byText[string(raw)] = s
	return s
}

// Bounds of what is stored of an agent's output, in bytes. What exceeds them stands in the
// transcript.
const (
	maxFinalText = 256 << 10
	maxMessage   = 64 << 10
	maxDetail    = 4 << 10
	// maxReports bounds the messages and warnings that one turn may store.
	maxReports = 10_000
	// maxDiagnostics bounds the diagnostics of one outcome, maxOwnWarnings the codes of engines'
	// own that a run's record lists: the contract allows a hundred codes at a run's end.
	maxDiagnostics = 1000
	maxOwnWarnings = 50
)

// bounded makes text valid UTF-8 of at most limit bytes and reports whether it was cut.
func bounded(text string, limit int) (string, bool) {
	text = utf8Text(text)
	if len(text) <= limit {
		return text, false
	}
	cut := limit
	for !utf8.RuneStart(text[cut]) { // the first byte is one
		cut--
	}
	return text[:cut], true
}

// shortened bounds a text for an error message.
func shortened(s string) string {
	s, _ = bounded(s, maxDetail)
	return s
}

// utf8Text replaces what is not UTF-8: a message may have been written by an engine or a store, and
// every store must keep it as it is.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
