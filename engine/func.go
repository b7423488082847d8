package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/schema"
)

// Func is an engine in the host's process: a function that executes one turn. It is plain code
// (Profile.Plain): it gets the run's prompt without instructions, signals by Done, Output and Ask,
// and its texts are never parsed (but see Model). It is resumable: Outcome.WithState stores state
// for Turn.State in later turns. The function must be safe for concurrent use by different runs,
// and return soon after ctx ends.
//
// A turn after a deadline has an answer too (Spec.AutoDecide): its Resolution is AutoDecideTimeout,
// its Text an instruction to decide, and Auto says how. It is not a person's consent: check
// Resolution before you act on an answer.
//
//	agent := engine.Func(func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
//		if len(t.Answers) == 0 {
//			return engine.Ask(engine.ConfirmOf("Ship it?")), nil
//		}
//		if yes, ok := t.Answers[0].Yes(); !yes || !ok {
//			return engine.Done("not shipped"), nil
//		}
//		return engine.Done("shipped"), nil
//	})
type Func func(ctx context.Context, t Turn, s Sink) (Outcome, error)

// Profile is resumable and plain.
func (Func) Profile(context.Context) (Profile, error) {
	return Profile{Kind: Resumable, Reason: "a function of the host is called anew for each turn",
		Plain: true}, nil
}

// Model is a Func that calls a language model with the text of Turn.Input and returns the model's
// text as the Outcome's FinalText, in which the library finds marker, question and output.
func Model(f Func) Engine { return model{f} }

type model struct{ Func }

// Profile is the function's, with its text parsed as a model's.
func (m model) Profile(ctx context.Context) (Profile, error) {
	p, err := m.Func.Profile(ctx)
	p.Plain = false
	return p, err
}

// RunTurn calls the function.
func (f Func) RunTurn(ctx context.Context, t Turn, s Sink) (Outcome, error) {
	seen := &handleSeen{Sink: s}
	o, err := f(ctx, t, seen)
	if err == nil && o.Process.Status == "" {
		o.Process.Status = OK
	}
	if err == nil && o.Session == nil && t.Session == nil && !seen.stored.Load() {
		o.Session = &SessionHandle{Engine: funcEngine, Data: []byte(t.RunID)}
	}
	return o, err
}

// CanBranch allows any session: it is a state, which is a value, or nothing.
func (Func) CanBranch(_ context.Context, p BranchPoint) error { return validateFuncSession(&p.Session) }

// Branch returns the state for the fork.
func (Func) Branch(_ context.Context, p BranchPoint, t Turn) (SessionHandle, error) {
	if p.Session.Version != stateVersion {
		return SessionHandle{Engine: funcEngine, Data: []byte(t.RunID)}, validateFuncSession(&p.Session)
	}
	return p.Session, validateFuncSession(&p.Session)
}

// validateFuncSession refuses a session that the function has made by itself: it may name something
// that cannot be copied.
func validateFuncSession(h *SessionHandle) error {
	if h.Engine != funcEngine {
		return fmt.Errorf("%w: the function has a session of its own, of %.40q", ErrHandleRefused, h.Engine)
	}
	return nil
}

// handleSeen is a Sink that records whether the function stored a handle, which the default must
// not replace.
type handleSeen struct {
	Sink
	stored atomic.Bool
}

func (s *handleSeen) Session(ctx context.Context, h SessionHandle) error {
	err := s.Sink.Session(ctx, h)
	if err == nil {
		s.stored.Store(true)
	}
	return err
}

// Spawn implements Parent if the host does; so do the methods below.
func (s *handleSeen) Spawn(ctx context.Context, c Child) (string, error) {
	parent, ok := s.Sink.(Parent)
	if !ok {
		return "", ErrNoChildren
	}
	return parent.Spawn(ctx, c)
}

func (s *handleSeen) ChildEnd(ctx context.Context, runID string) (*ChildEnd, error) {
	parent, ok := s.Sink.(Parent)
	if !ok {
		return nil, ErrNoChildren
	}
	return parent.ChildEnd(ctx, runID)
}

func (s *handleSeen) OpenChildren(ctx context.Context) ([]string, error) {
	parent, ok := s.Sink.(Parent)
	if !ok {
		return nil, ErrNoChildren
	}
	return parent.OpenChildren(ctx)
}

// The name in a Func's session handles, and the version of handles whose bytes are a state.
const (
	funcEngine   = "func"
	stateVersion = "state"
)

// WithState returns the outcome with state for Turn.State in later turns, until another outcome
// replaces it: 1 to MaxSessionHandle bytes. Without it, the earlier state remains.
func (o Outcome) WithState(state []byte) Outcome {
	if len(state) > 0 {
		o.Session = &SessionHandle{Engine: funcEngine, Version: stateVersion, Data: state}
	}
	return o
}

// State is the state stored by an earlier turn with Outcome.WithState, or nil.
func (t Turn) State() []byte {
	if t.Session == nil || t.Session.Engine != funcEngine || t.Session.Version != stateVersion {
		return nil
	}
	return t.Session.Data
}

func Ask(q Question) Outcome {
	return Outcome{Process: Process{Status: OK}, Questions: []Question{q}}
}

// ConfirmOf returns the question for a yes or a no; no other reply is accepted. Answer.Yes reads
// the answer.
//
//	if len(t.Answers) == 0 {
//		return engine.Ask(engine.ConfirmOf("Ship it?")), nil
//	}
//	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
//		return engine.Done("not shipped"), nil
//	}
func ConfirmOf(prompt string) Question {
	return Question{Kind: interaction.Confirm, Prompt: prompt, Only: true}
}

// ChoiceOf returns the question for one of the options; no other reply is accepted. Answer.Option
// reads the answer.
func ChoiceOf(prompt string, options ...Option) Question {
	return Question{Kind: interaction.ChooseOne, Prompt: prompt, Options: options, Only: true}
}

// AskAll is the outcome of a turn that asks 1 to MaxQuestions questions, all open together. The run
// continues once, when each is answered; set the outcome's Rule to continue earlier. The next turn
// has one answer per question in Turn.Answers, in order.
//
//	o := engine.AskAll(finance, legal, security)
//	o.Rule.Answers = 2 // two of the three are enough
//	return o, nil
func AskAll(questions ...Question) Outcome {
	return Outcome{Process: Process{Status: OK}, Questions: questions}
}

// As decodes the value of an answer to a question with a schema. Numbers of unspecified type become
// json.Number, so that none is rounded. The error reports that the form was not filled in, or that
// the value is not a T, which a schema generated from T (package interaction/typed) excludes.
func As[T any](a Answer) (T, error) { return interaction.As[T](a) }

// SleepUntil is the outcome of a turn whose run continues with another turn at a later time.
func SleepUntil(at time.Time) Outcome {
	return Outcome{Process: Process{Status: OK}, Sleep: at}
}

// Say is the outcome of a turn that ends with a message. In an interactive run it does not complete
// the run.
func Say(text string) Outcome {
	return Outcome{Process: Process{Status: OK}, FinalText: text}
}

// Done is the outcome of a turn that completes its run, with a text for people.
func Done(text string) Outcome {
	o := Say(text)
	o.Done = true
	return o
}

// Output is the outcome of a turn that completes its run with structured output: v as a JSON
// object. The error says that v is no JSON object, has a number that is infinite as float64, or has
// more than MaxOutput bytes.
func Output(v any) (Outcome, error) {
	body, err := json.Marshal(v)
	var object map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(body, &object)
	}
	if err == nil {
		err = schema.ValidateFinite(body)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("engine: output must be a JSON object: %w", err)
	}
	if object == nil {
		body = []byte("{}")
	}
	if len(body) > MaxOutput {
		return Outcome{}, fmt.Errorf("engine: output has %d bytes, want at most %d", len(body), MaxOutput)
	}
	return Outcome{Process: Process{Status: OK}, Output: body, Done: true}, nil
}
