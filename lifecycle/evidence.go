package lifecycle

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/schema"
	"github.com/interlude-go/interlude/store"
)

// evidence is what a finished turn shows, ready for the gate.
type evidence struct {
	facts    fsm.Facts
	reading  interaction.Reading
	question interaction.Question // explicit, or the baseline
	session  *store.Session
	final    *finalMessage
	warnings []engine.Diagnostic
	asking   []engine.Diagnostic // matter only when the run asks
	process  engine.Process
	invalid  error // why the output fails the schema
	lost     error // why the session that the engine handed over cannot be stored
}

// speech is how an engine says what it means in one attempt.
type speech struct {
	plain bool   // by the fields of its outcome alone (engine.Profile.Plain)
	nonce string // what its signals carry (engine.Profile.Signed); empty: nothing
}

// speechOf is how an engine of the profile says what it means in an attempt. A nonce is for one
// attempt and is kept in memory alone (J12).
func speechOf(p engine.Profile, mode fsm.Mode) speech {
	how := speech{plain: p.Plain}
	if p.Signed && !p.Plain && mode == fsm.ModeInteractive {
		how.nonce = strings.ToLower(rand.Text()[:12]) // 60 bits
	}
	return how
}

// spoken is how the engine says what it means, once that is known.
func (t *turn) spoken() speech {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.speech
}

// weigh reads the outcome of a turn. It decides nothing.
func weigh(spec Spec, run store.Run, profile fsm.Profile, how speech, o engine.Outcome) evidence {
	ev := evidence{reading: how.read(o), process: o.Process, warnings: allDeclared(o.Diagnostics)}
	session, err := sessionOf(o.Handle)
	if err != nil {
		ev.warnings = append(ev.warnings, engine.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: err.Error()})
	}
	ev.session, ev.lost = session, err
	if f := ev.reading.OutputFault; f != nil {
		ev.warnings = append(ev.warnings, engine.Diagnostic{Code: f.Code, Detail: f.Detail})
	}
	if ev.reading.Text != "" { // a text that is a question or a marker alone says nothing beside it
		text, cut := bounded(ev.reading.Text, maxFinalText)
		ev.final = &finalMessage{text: text, truncated: cut, ref: o.FinalRef}
	}
	ev.ask(o)

	then := run
	then.Profile = profile
	if session != nil {
		then.Session = session
	}
	if err != nil { // an earlier one is not what the engine would go on with
		then.Session = nil
	}
	ev.facts = facts(&then)
	set := func(is bool, fact fsm.Facts) {
		if is {
			ev.facts |= fact
		}
	}
	set(o.Process.Status == engine.OK, fsm.FactProcessOK)
	set(ev.reading.Done, fsm.FactDoneMarker)
	set(ev.reading.NotDone, fsm.FactNotDoneSaid)
	set(ev.reading.Question != nil, fsm.FactQuestionAsked)
	if len(spec.OutputSchema) > 0 {
		declared, err := compiled(spec.OutputSchema)
		ev.facts |= fsm.FactSchemaDeclared
		ev.invalid = err
		if err == nil {
			set(declared.Permissive(), fsm.FactSchemaPermissive)
			ev.invalid = how.validOutput(declared, ev.reading)
		}
		set(ev.invalid == nil, fsm.FactOutputValid)
	}
	return ev
}

// read is what the outcome says: by its fields, and, unless the engine is plain code, by its text
// (J12).
func (how speech) read(o engine.Outcome) interaction.Reading {
	r := interaction.ReadSigned(o.FinalText, o.Output, how.nonce)
	if how.plain {
		r = interaction.Take(o.FinalText, o.Output)
	}
	r.Done = r.Done || o.Done
	return r
}

// ask finds the question that the run would park with: the engine's, the one in its text, or the
// baseline (C2).
func (ev *evidence) ask(o engine.Outcome) {
	ev.asking = make([]engine.Diagnostic, 0, len(ev.reading.Diagnostics))
	for _, d := range ev.reading.Diagnostics {
		ev.asking = append(ev.asking, engine.Diagnostic{Code: d.Code, Detail: d.Detail})
	}
	if len(o.Questions) > 0 {
		q, diagnostics := interaction.Normalize(o.Questions[0])
		ev.reading.Question = &q
		for _, d := range diagnostics {
			ev.asking = append(ev.asking, engine.Diagnostic{Code: d.Code, Detail: d.Detail})
		}
		if len(o.Questions) > 1 {
			ev.asking = append(ev.asking, engine.Diagnostic{
				Code: fsm.WarnAskUserSurplus, Detail: fmt.Sprintf("%d questions in one turn; only the first is asked",
					len(o.Questions)),
			})
		}
	}
	if ev.reading.Question != nil {
		ev.question = *ev.reading.Question
		return
	}
	ev.question = ev.reading.Baseline()
}

// reason says why the gate failed the turn, for a person.
func (ev *evidence) reason(rule fsm.GateRule) string {
	if ev.process.Status != engine.OK {
		return shortened(orText(ev.process.Detail, "the turn's process "+string(ev.process.Status)))
	}
	switch rule.Error {
	case fsm.CodeOutputInvalid:
		return shortened(fmt.Sprintf("the output is not valid: %v", ev.invalid))
	case fsm.CodeInteractiveMaxAttemptExceeded:
		return "max_attempt is reached and the run is not complete"
	case fsm.CodeSessionResumeFailed:
		if ev.lost != nil {
			return fmt.Sprintf("the session that the engine handed over cannot be stored, so a wait could never be "+
				"resumed: %v", ev.lost)
		}
		return "the engine gave no session handle, so a wait could never be resumed"
	}
	return string(rule.Error)
}

func (how speech) validOutput(s *schema.Schema, r interaction.Reading) error {
	if r.OutputFault != nil {
		return errors.New(r.OutputFault.Detail)
	}
	if r.Output == nil && how.plain {
		return errors.New("the engine handed over none")
	}
	if r.Output == nil {
		return errors.New("no JSON output was found: it must be the whole final message or its only fenced JSON block")
	}
	return s.ValidateJSON(r.Output)
}

// schemas keeps the compiled output schemas: hosts submit the same few again and again.
var schemas = schemaCache{compile: schema.Compile}

// schemasKept bounds the cache; it starts anew when full.
const schemasKept = 256

// schemaCache keeps compiled schemas by their text.
type schemaCache struct {
	compile func(raw []byte) (*schema.Schema, error)

	mu     sync.Mutex
	byText map[string]*schema.Schema // guarded by mu
}

func compiled(raw []byte) (*schema.Schema, error) { return schemas.get(raw) }

// get compiles without the lock, so that a large schema delays nobody who asks for one that is
// known. Callers who ask for the same unknown one at one time may each compile it; all get the one
// that was kept first.
func (c *schemaCache) get(raw []byte) (*schema.Schema, error) {
	if s := c.known(raw); s != nil {
		return s, nil
	}
	s, err := c.compile(raw)
	if err != nil {
		return nil, err
	}
	return c.keep(raw, s), nil
}

func (c *schemaCache) known(raw []byte) *schema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byText[string(raw)]
}

func (c *schemaCache) keep(raw []byte, s *schema.Schema) *schema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.byText[string(raw)]; first != nil {
		return first
	}
	if c.byText == nil || len(c.byText) >= schemasKept {
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
	text = strings.ToValidUTF8(text, "\uFFFD")
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
