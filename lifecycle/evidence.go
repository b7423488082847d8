package lifecycle

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/schema"
)

// turnEvidence is what is known of a turn that has ended. decideTurn decides by it.
type turnEvidence struct {
	facts   fsm.Facts // about the outcome; those about the run come from its record
	profile fsm.Profile
	process engine.Process
	usage   engine.Usage
	// interruption is why the library ended the turn; nil when it ended by itself.
	interruption error
	begun        bool                  // the engine was called to execute the turn
	sleep        time.Time             // until when the run sleeps; zero: it does not sleep
	children     []string              // the children that the run waits for, until sleep at the latest; nil: none
	anyChild     bool                  // the run goes on when one of the children has ended
	journal      []engine.JournalEntry // stored with the turn's end
	retry        *Retry                // how the turn is retried after a passing failure; nil: it is not retried
	host         hostPolicy

	reading          interaction.Reading
	question         *interaction.Question  // see findQuestions
	siblings         []interaction.Question // that are asked together with it
	rule             interaction.Rule
	asksAgain        bool // the turn is that of a fork which asks questions of its source again
	session          *engine.SessionHandle
	final            *finalMessage
	warnings         []interaction.Diagnostic
	questionWarnings []interaction.Diagnostic // matter only if the run asks
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

// dialect is how the engine of a turn says that the run is done, or asks a question: in the fields
// of its outcome, or with signals in its text.
type dialect struct {
	plain bool   // the text has no signals (engine.Profile.Plain)
	nonce string // each signal in the text must carry it (engine.Profile.Signed); empty: signals need none
	// questions is how many the text may ask (Spec.MaxQuestions).
	questions int
}

// dialectOf is the dialect of an engine with the profile, for one turn: each has a nonce of its
// own, which is not stored (J12).
func dialectOf(p engine.Profile, s *Spec) dialect {
	d := dialect{plain: p.Plain, questions: s.MaxQuestions}
	if p.Signed && !p.Plain && s.Mode == fsm.ModeInteractive {
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
	profile, d, begun := t.profile, t.dialect, t.begun
	t.mu.Unlock()
	ev := &turnEvidence{profile: profile, reading: d.read(o), warnings: declaredWarnings(o.Diagnostics),
		begun: begun, retry: cmp.Or(t.spec.Retry, t.node.host.retry), host: t.node.host, usage: o.Usage}
	ev.session, ev.sessionFault = storable(o.Session)
	if ev.sessionFault != nil {
		ev.warnings = append(ev.warnings, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic,
			Detail: ev.sessionFault.Error()})
	}
	if f := ev.reading.OutputFault; f != nil {
		ev.warnings = append(ev.warnings, interaction.Diagnostic{Code: f.Code, Detail: f.Detail})
	}
	if ev.reading.Text != "" { // empty: the final text was nothing but a question or a marker
		text, cut := bounded(ev.reading.Text, maxFinalText)
		ev.final = &finalMessage{text: text, truncated: cut, ref: o.FinalRef}
	}
	ev.findQuestions(o)
	ev.applyPolicy(&t.spec, ev.question)
	for i := range ev.siblings {
		ev.applyPolicy(&t.spec, &ev.siblings[i])
	}
	ev.limitQuestions()
	ev.setProcess(o.Process)
	ev.facts |= factIf(ev.reading.Done, fsm.FactDoneMarker)
	ev.facts |= factIf(ev.reading.NotDone, fsm.FactNotDoneSaid)
	ev.facts |= factIf(ev.reading.Question != nil, fsm.FactQuestionAsked)
	if len(t.spec.OutputSchema) > 0 {
		ev.checkOutput(t.spec.OutputSchema, d)
	}
	ev.refuseUnusable(o)
	ev.findSleep(o)
	t.collectJournal(ev, o)
	return ev
}

// checkOutput finds out whether the output passes the schema that the spec declares.
func (t *turnEvidence) checkOutput(declared []byte, d dialect) {
	t.facts |= fsm.FactSchemaDeclared
	s, err := schema.Cached(declared)
	if err == nil {
		t.facts |= factIf(s.Permissive(), fsm.FactSchemaPermissive)
		err = d.validateOutput(s, t.reading)
	}
	t.outputFault = err
	t.facts |= factIf(err == nil, fsm.FactOutputValid)
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
	t.setProcess(interruptedProcess(cause, t.process))
}

// read reads what the outcome says: in its fields, and, unless the engine is plain code, in its
// text (J12).
func (d dialect) read(o engine.Outcome) interaction.Reading {
	r := interaction.ReadSeveral(o.FinalText, o.Output, d.nonce, d.questions)
	if d.plain {
		r = interaction.ReadPlain(o.FinalText, o.Output)
	}
	r.Done = r.Done || o.Done
	return r
}

// findQuestions finds the questions that the run waits with, if the gate decides that it waits:
// those of Outcome.Questions, those in the text, or the baseline question (C2, K1). The first two
// set reading.Question too, because the agent has asked them. The baseline question sets question
// alone.
func (t *turnEvidence) findQuestions(o engine.Outcome) {
	t.questionWarnings = slices.Clip(t.reading.Diagnostics)
	if len(o.Questions) == 0 {
		t.siblings = slices.Clip(t.reading.Siblings)
	}
	for i, asked := range o.Questions {
		if i == interaction.MaxQuestions {
			t.warnSurplusf("%d questions in one turn; the first %d are asked", len(o.Questions), i)
			break
		}
		q, diagnostics := interaction.Normalize(asked)
		t.questionWarnings = append(t.questionWarnings, diagnostics...)
		if i == 0 {
			t.reading.Question = &q
		} else {
			t.siblings = append(t.siblings, q)
		}
	}
	t.rule = o.Rule
	t.rule.Answers = max(t.rule.Answers, 0) // 0 means all, as does a number above that of the questions
	if t.question = t.reading.Question; t.question == nil {
		q := t.reading.Baseline()
		t.question = &q
	}
}

// refuseUnusable fails a turn that asks with a schema that cannot be used: a person would answer a
// text, which the code that asked cannot take (N2).
func (t *turnEvidence) refuseUnusable(o engine.Outcome) {
	if t.process.Status != engine.OK || t.reading.Done {
		return
	}
	for _, q := range o.Questions {
		if err := engine.CheckQuestion(q); err != nil {
			t.setProcess(failedOutcome(fsm.CodeEngineFailed, err).Process)
			return
		}
	}
}

// findSleep notes until when the run sleeps, or which children it waits for. A run that is done or
// asks does neither.
func (t *turnEvidence) findSleep(o engine.Outcome) {
	none := o.Sleep.IsZero() && len(o.Children) == 0
	if none || t.process.Status != engine.OK || t.reading.Done || len(o.Questions) > 0 {
		return
	}
	if t.profile == fsm.ProfileStickyProcess {
		t.setProcess(engine.Process{Status: engine.Failed, Detail: "a run whose engine holds a process cannot sleep, " +
			"nor wait for other runs"})
		return
	}
	t.sleep, t.children, t.anyChild = o.Sleep, slices.Clone(o.Children), o.AnyChild
}

// applyPolicy applies the host's policy to a question.
func (t *turnEvidence) applyPolicy(s *Spec, q *interaction.Question) {
	if err := s.applyPolicy(q); err != nil {
		t.questionWarnings = append(t.questionWarnings, interaction.Diagnostic{
			Code: fsm.WarnAskUserMalformed, Detail: shortened(err.Error()),
		})
	}
}

// limitQuestions leaves out the last of several questions that are too large together to be stored
// in one record.
func (t *turnEvidence) limitQuestions() {
	if len(t.siblings) == 0 {
		return
	}
	size := sizeOfQuestion(t.question)
	for i := range t.siblings {
		if size += sizeOfQuestion(&t.siblings[i]); size > interaction.MaxTogether {
			t.warnSurplusf("the first %d of %d questions have %d KiB together, which is the limit; the others are not "+
				"asked", i+1, 1+len(t.siblings), interaction.MaxTogether>>10)
			t.siblings = t.siblings[:i]
			return
		}
	}
}

// sizeOfQuestion is about how many bytes the question has in the run's record.
func sizeOfQuestion(q *interaction.Question) int {
	body, err := json.Marshal(q)
	if err != nil { // it cannot be stored, and the store says so
		return 0
	}
	return len(body)
}

func (t *turnEvidence) warnSurplusf(format string, args ...any) {
	t.questionWarnings = append(t.questionWarnings, interaction.Diagnostic{
		Code: fsm.WarnAskUserSurplus, Detail: fmt.Sprintf(format, args...),
	})
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

// validateOutput returns what is wrong with the output, nil if it passes the schema.
func (d dialect) validateOutput(s *schema.Schema, r interaction.Reading) error {
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

// declaredWarning returns the diagnostic with a code that an event may have: one of the contract,
// or one of the engine's own. Any other code becomes ENGINE_DIAGNOSTIC, and is named in the detail
// (F6, F7).
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

// declaredWarnings are the diagnostics of an outcome, maxDiagnostics at most, in a new slice.
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

// storable returns a copy of the handle that the run may keep, nil if there is none. The error says
// that it cannot be stored.
func storable(h *engine.SessionHandle) (*engine.SessionHandle, error) {
	if h == nil {
		return nil, nil //nolint:nilnil // no handle is no session, and no fault
	}
	if len(h.Data) == 0 || len(h.Data) > engine.MaxSessionHandle {
		return nil, fmt.Errorf("engine: handle has %d bytes, want 1 to %d", len(h.Data), engine.MaxSessionHandle)
	}
	if !utf8.ValidString(h.Engine) || !utf8.ValidString(h.Version) {
		return nil, fmt.Errorf("engine: handle is of engine %+.80q, version %+.80q, want UTF-8", h.Engine, h.Version)
	}
	return h.Clone(), nil
}

// forEngine returns a stored handle for an engine, which may write into the struct.
func forEngine(h *engine.SessionHandle) *engine.SessionHandle {
	if h == nil {
		return nil
	}
	given := *h
	return &given
}

// Bounds of what is stored of an agent's output, in bytes. What exceeds them stands in the
// transcript.
const (
	maxFinalText = 256 << 10
	maxMessage   = 64 << 10
	maxDetail    = 4 << 10
	// maxReports bounds the messages and warnings that one turn may store, and maxReportBytes the
	// size of their events. Once a run has maxReportedSeq events, or maxRunReportBytes of messages
	// and warnings, its turns store no more of these. So no agent can fill the database. Changes of
	// state are always stored (J11).
	maxReports        = 10_000
	maxReportBytes    = 16 << 20
	maxReportedSeq    = 100_000
	maxRunReportBytes = 256 << 20
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
