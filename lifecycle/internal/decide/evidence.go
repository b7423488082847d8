package decide

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/schema"
	"github.com/interlude-go/interlude/store"
)

// Evidence is the set of known facts about a finished turn. Read and AddJournal derive it from
// the engine's outcome; Interrupt overrides the outcome.
type Evidence struct {
	// Interruption is why the library ended the turn, or nil.
	Interruption error
	Begun        bool // the engine was called to execute the turn
	Usage        engine.Usage
	Session      *engine.SessionHandle
	Process      engine.Process // how the turn ended; see SetProcess
	OutputFault  error          // why the output fails the schema

	facts    fsm.Facts // about the outcome
	profile  fsm.Profile
	sleep    time.Time             // the end of the run's sleep; zero: none
	children []string              // the awaited children, until sleep at the latest; nil: none
	anyChild bool                  // the run continues once any child has ended
	journal  []engine.JournalEntry // stored with the turn's end
	retry    *store.Retry          // after a transient failure; nil: no retry
	host     HostDefaults

	reading          interaction.Reading
	question         *interaction.Question  // to ask if the gate lets the run wait
	siblings         []interaction.Question // asked together with it
	rule             interaction.Rule
	asksAgain        bool // the turn of a fork that repeats its source's questions
	final            *finalMessage
	warnings         []interaction.Diagnostic
	questionWarnings []interaction.Diagnostic // recorded if the run asks
	sessionFault     error                    // why the returned session cannot be stored
}

// Terms are the settings of a turn by the engine, the specification and the host.
type Terms struct {
	Profile      fsm.Profile // empty: unknown
	Dialect      Dialect
	Begun        bool // the engine was called to execute the turn
	Host         HostDefaults
	Retry        *store.Retry // the specification's; nil: the host's
	OutputSchema json.RawMessage
	Ask          *interaction.AskPolicy
	Submitter    string
}

// Dialect is how an engine reports completion or asks: in its outcome's fields, or with signals in
// its text.
type Dialect struct {
	Plain bool   // the text has no signals (engine.Profile.Plain)
	Nonce string // required in each signal (engine.Profile.Signed); empty: none
	// Questions limits the questions in the text; 0 means 1.
	Questions int
}

// Read reads the outcome of a turn, or of one repair round.
func Read(o engine.Outcome, terms *Terms) *Evidence {
	d := terms.Dialect
	ev := &Evidence{profile: terms.Profile, reading: d.read(o), warnings: declaredWarnings(o.Diagnostics),
		Begun: terms.Begun, retry: cmp.Or(terms.Retry, terms.Host.Retry), host: terms.Host, Usage: o.Usage}
	ev.Session, ev.sessionFault = StorableSession(o.Session)
	if ev.sessionFault != nil {
		ev.warnings = append(ev.warnings, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic,
			Detail: ev.sessionFault.Error()})
	}
	if f := ev.reading.OutputFault; f != nil {
		ev.warnings = append(ev.warnings, interaction.Diagnostic{Code: f.Code, Detail: f.Detail})
	}
	if ev.reading.Text != "" { // empty: the final text was only a question or a marker
		text, cut := bounded(ev.reading.Text, MaxFinalText)
		ev.final = &finalMessage{text: text, truncated: cut, ref: o.FinalRef}
	}
	ev.SetProcess(o.Process)
	ev.facts |= factIf(ev.reading.Done, fsm.FactDoneMarker)
	ev.facts |= factIf(ev.reading.NotDone, fsm.FactNotDoneSaid)
	if len(terms.OutputSchema) > 0 {
		ev.checkOutput(terms.OutputSchema, d)
	}
	ev.findQuestions(o)
	ev.addressQuestion(terms, ev.question)
	for i := range ev.siblings {
		ev.addressQuestion(terms, &ev.siblings[i])
	}
	ev.limitQuestions()
	ev.failUnusableSchema(o)
	ev.findPause(o)
	return ev
}

// AskAgain is the evidence for the first turn of a fork that repeats the source's questions. The
// engine of this turn is not called.
func AskAgain(from *Origin, host HostDefaults) *Evidence {
	return &Evidence{
		profile: fsm.ProfileResumable, Process: engine.Process{Status: engine.OK}, host: host, asksAgain: true,
		question: &from.Asks[0], siblings: from.Asks[1:], rule: from.Rule,
	}
}

func (ev *Evidence) effects() effects {
	return effects{facts: ev.facts, turn: turnEnd{
		profile: ev.profile, session: ev.Session, sessionLost: ev.sessionFault != nil,
		warnings: ev.warnings, final: ev.final, output: ev.reading.Output,
	}}
}

func (ev *Evidence) asking(node string) asking {
	return asking{node: node, question: ev.question, siblings: ev.siblings, rule: ev.rule, hideFor: ev.host.HideFor,
		recall: ev.host.Recall > 0}
}

// Said returns the turn's final text as an intermediate message, or nil without text.
func (ev *Evidence) Said() *fcmp.MessageIntermediate {
	if ev.final == nil {
		return nil
	}
	return Message(ev.final.text, ev.final.ref)
}

// AddJournal adds the outcome's journal entries, or fails the turn if they cannot be stored.
func (ev *Evidence) AddJournal(entries []engine.JournalEntry, size *interaction.JournalSize) {
	if len(entries) == 0 {
		return
	}
	if _, err := size.With(entries); err != nil {
		ev.sleep, ev.children = time.Time{}, nil
		ev.SetProcess(engine.Process{Status: engine.Failed, Detail: err.Error()})
		return
	}
	ev.journal = slices.Clone(entries)
}

// FinalEntries returns the journal entries to store with the turn's end: none after an
// interruption, when the outcome is not stored.
func (ev *Evidence) FinalEntries() []engine.JournalEntry {
	if ev.Interruption != nil {
		return nil
	}
	return ev.journal
}

func (ev *Evidence) checkOutput(declared []byte, d Dialect) {
	ev.facts |= fsm.FactSchemaDeclared
	s, err := schema.Cached(declared)
	if err == nil {
		ev.facts |= factIf(s.Permissive(), fsm.FactSchemaPermissive)
		err = d.validateOutput(s, ev.reading)
	}
	ev.OutputFault = err
	ev.facts |= factIf(err == nil, fsm.FactOutputValid)
}

func (ev *Evidence) SetProcess(p engine.Process) {
	ev.Process = p
	ev.facts = ev.facts&^fsm.FactProcessOK | factIf(p.Status == engine.OK, fsm.FactProcessOK)
}

// Interrupt records that the library ended the turn: its later outcome is no success.
func (ev *Evidence) Interrupt(cause error) {
	ev.Interruption = cause
	ev.SetProcess(InterruptedProcess(cause, ev.Process))
}

// read reads the outcome's fields and, unless the engine is Go code, its text.
func (d Dialect) read(o engine.Outcome) interaction.Reading {
	r := interaction.ReadSeveral(o.FinalText, o.Output, d.Nonce, d.Questions)
	if d.Plain {
		r = interaction.ReadPlain(o.FinalText, o.Output)
	}
	r.Done = r.Done || o.Done
	return r
}

// validateOutput returns the output's fault, or nil if it passes the schema.
func (d Dialect) validateOutput(s *schema.Schema, r interaction.Reading) error {
	if r.OutputFault != nil {
		return errors.New(r.OutputFault.Detail)
	}
	if r.Output == nil && d.Plain {
		return errors.New("the engine returned no output")
	}
	if r.Output == nil {
		return errors.New("no JSON output was found: it must be the whole final message or its only fenced JSON block")
	}
	return s.ValidateJSON(r.Output)
}
