package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/interaction"
)

// Func is an engine in the host's own process: a function that does one turn. It is plain code
// (Profile.Plain): it gets the run's prompt without instructions, signals by Done, Output and Ask,
// and nothing in its texts is read as a signal. Model is the form for a function that calls a
// language model and wants its text read. It is resumable: what the function needs to go on it
// returns with Outcome.WithState and finds in Turn.State. A run that has no session handle gets one
// that names it, so that it may wait. The function must be safe for concurrent use by
// different runs, and return soon after ctx ends.
//
// A turn that goes on after a deadline has an answer too (Spec.AutoDecide): its Resolution is
// AutoDecideTimeout, its Text is an instruction to decide, and Auto says how. Nobody has agreed to
// anything then: a function that acts on an answer looks at its Resolution first.
//
//	agent := engine.Func(func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
//		if len(t.Answers) == 0 {
//			return engine.Ask(engine.Question{Kind: engine.Confirm, Prompt: "Ship it?"}), nil
//		}
//		return engine.Done("shipped"), nil
//	})
type Func func(ctx context.Context, t Turn, s Sink) (Outcome, error)

// Profile is resumable.
func (Func) Profile(context.Context) (Profile, error) {
	return Profile{Kind: Resumable, Reason: "a function of the host is called anew for each turn",
		Plain: true}, nil
}

// Model is an engine of a function that calls a language model: the model gets the text of
// Turn.Input, and what it answers is the FinalText of the Outcome, in which the library finds
// marker, question and output. In all else it is a Func.
func Model(f Func) Engine { return model{f} }

// model is a Func that is not plain.
type model struct{ Func }

// Profile is that of the function, read as a language model's.
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

// CanBranch allows any: the session of a function is its state, which is a value, or nothing.
func (Func) CanBranch(_ context.Context, p BranchPoint) error { return checkFuncSession(&p.Session) }

// Branch returns the state, which the fork goes on with.
func (Func) Branch(_ context.Context, p BranchPoint, t Turn) (SessionHandle, error) {
	if p.Session.Version != stateVersion {
		return SessionHandle{Engine: funcEngine, Data: []byte(t.RunID)}, checkFuncSession(&p.Session)
	}
	return p.Session, checkFuncSession(&p.Session)
}

// checkFuncSession refuses a session that the function has made by itself: it may be the name of
// something that cannot be copied.
func checkFuncSession(h *SessionHandle) error {
	if h.Engine != funcEngine {
		return fmt.Errorf("%w: the function has a session of its own, of %.40q", ErrHandleRefused, h.Engine)
	}
	return nil
}

// handleSeen is a Sink that remembers whether a handle was stored: one that the function stored is
// not replaced by the default.
type handleSeen struct {
	Sink
	stored atomic.Bool
}

// Session stores h, and notes that it did.
func (s *handleSeen) Session(ctx context.Context, h SessionHandle) error {
	err := s.Sink.Session(ctx, h)
	if err == nil {
		s.stored.Store(true)
	}
	return err
}

// Spawn implements Parent where the host does.
func (s *handleSeen) Spawn(ctx context.Context, c Child) (string, error) {
	parent, ok := s.Sink.(Parent)
	if !ok {
		return "", ErrNoChildren
	}
	return parent.Spawn(ctx, c)
}

// ChildEnd implements Parent likewise.
func (s *handleSeen) ChildEnd(ctx context.Context, runID string) (*ChildEnd, error) {
	parent, ok := s.Sink.(Parent)
	if !ok {
		return nil, ErrNoChildren
	}
	return parent.ChildEnd(ctx, runID)
}

// OpenChildren implements Parent likewise.
func (s *handleSeen) OpenChildren(ctx context.Context) ([]string, error) {
	parent, ok := s.Sink.(Parent)
	if !ok {
		return nil, ErrNoChildren
	}
	return parent.OpenChildren(ctx)
}

// The session handle of a Func: what it names, and the version of one whose bytes are a state.
const (
	funcEngine   = "func"
	stateVersion = "state"
)

// WithState returns the outcome with what a Func is to find in Turn.State in the turns to come,
// until another outcome has a state: 1 to MaxSessionHandle bytes, stored in the commit that ends
// the turn. Without any, the state stays what it was.
func (o Outcome) WithState(state []byte) Outcome {
	if len(state) > 0 {
		o.Session = &SessionHandle{Engine: funcEngine, Version: stateVersion, Data: state}
	}
	return o
}

// State is what an earlier turn of the run left with Outcome.WithState; nil if none has.
func (t Turn) State() []byte {
	if t.Session == nil || t.Session.Engine != funcEngine || t.Session.Version != stateVersion {
		return nil
	}
	return t.Session.Data
}

// Ask is the outcome of a turn that asks a person.
func Ask(q Question) Outcome {
	return Outcome{Process: Process{Status: OK}, Questions: []Question{q}}
}

// AskAll is the outcome of a turn that asks several questions, which are all open together: 1
// to MaxQuestions of them. The run goes on, once, when each is answered; set the Rule of the
// outcome to let it go on earlier. The next turn has an answer for each question in Turn.Answers,
// in the order of the questions. A single question is asked as Ask does.
//
//	o := engine.AskAll(finance, legal, security)
//	o.Rule.Answers = 2 // two of the three are enough
//	return o, nil
func AskAll(questions ...Question) Outcome {
	return Outcome{Process: Process{Status: OK}, Questions: questions}
}

// As decodes the value of an answer to a question with a schema. Where T leaves the type of a
// number open, it is a json.Number, so that none is rounded. The error says that the answer has no
// value, since nobody has filled in the form, or that the value is no T: a schema that was made of
// T (package interaction/typed) rules the latter out.
func As[T any](a Answer) (T, error) { return interaction.As[T](a) }

// SleepUntil is the outcome of a turn whose run goes on with another turn at a later time.
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
// object. The error says that v is no JSON object, or has more than MaxOutput bytes.
func Output(v any) (Outcome, error) {
	body, err := json.Marshal(v)
	var object map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(body, &object)
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
