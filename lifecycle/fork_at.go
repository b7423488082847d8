package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// At is the starting point of a fork, and its changes.
type At struct {
	// Question is the number of a settled question. The fork continues from the moment it was
	// settled, and knows nothing later. 0 means the end of an ended run. Any of several questions
	// of one turn stands for all: the fork continues with all their answers, once all are settled.
	Question int
	// Answer replaces the stored answer: a valid Reply to the question by the fork's author (only a
	// text at the end of a run without an open question). Its ID is Question or 0, its Key and Remember
	// are empty, and its Actor is the author or the zero Actor. An approval by several people takes no
	// Answer.
	// If it is zero, the agent gets the stored answer if the author may inherit it (see Fork). It is
	// required after an unanswered question for everybody, and at the end of a successful run.
	Answer Reply
	// Actor is the fork's author; the zero Actor means the actor of Client.As.
	Actor Actor
	// ID is the fork's id, like Spec.ID; made if empty. A second call with the same id and At
	// returns the existing fork.
	ID string
	// Change, if set, may change the inherited specification, but not the engine, whose session it is.
	// NotBefore is not inherited. Change may be called several times and must be deterministic.
	Change func(*Spec)
}

func (at *At) hasAnswer() bool {
	return at.Answer.Text != "" || len(at.Answer.Value) > 0 || at.Answer.Decision != ""
}

// complete checks the point, and sets the Answer's ID and Actor.
func (at *At) complete() error {
	if at.Question < 0 {
		return &ArgumentError{"at.Question", fmt.Sprint(at.Question), "the number of a settled question, or 0 for " +
			"the run's end", nil}
	}
	if at.ID != "" && !isChosenID(at.ID) {
		return &ArgumentError{"at.ID", quote(at.ID), wantChosenID, nil}
	}
	if !at.hasAnswer() {
		return argumentError("at.", at.Actor.Validate())
	}
	reply := at.Answer
	switch {
	case reply.ID != 0 && reply.ID != at.Question:
		return &ArgumentError{"at.Answer.ID", fmt.Sprint(reply.ID), "that of at.Question, or 0", nil}
	case reply.Key != "":
		return &ArgumentError{"at.Answer.Key", quote(reply.Key), "none: at.ID makes the call idempotent", nil}
	case reply.Remember != nil:
		return &ArgumentError{"at.Answer.Remember", "set", "none: a fork remembers no decisions of its source", nil}
	case !reply.Actor.IsZero() && !reply.Actor.Equal(at.Actor):
		return &ArgumentError{"at.Answer.Actor", quote(reply.Actor.ID), "the author of the fork, or none", nil}
	}
	reply.ID, reply.Actor = max(at.Question, 1), at.Actor
	at.Answer = reply
	return argumentError("at.Answer.", reply.Validate())
}

// argumentError converts a field error to an argument error; nil for nil.
func argumentError(prefix string, err error) error {
	var fault *FieldError
	if errors.As(err, &fault) {
		return &ArgumentError{prefix + fault.Field, fault.Value, fault.Want, err}
	}
	return err
}

// identity distinguishes the Answers of calls with the same ID, a text as in earlier releases.
func (at *At) identity() []any {
	if !at.hasAnswer() {
		return []any{"", ""}
	}
	a := at.Answer
	all := []any{a.Text, a.Actor.ID}
	if len(a.Value) > 0 || a.Decision != "" || a.Seen != "" {
		all = append(all, string(a.Value), a.Decision, a.Seen)
	}
	return all
}

func decodeSubmitted(id string, stored []byte) (spec Spec, from *decide.Origin, err error) {
	own, from, err := splitSubmitted(id, stored)
	if err != nil {
		return Spec{}, nil, err
	}
	spec, err = decodeSpec(id, own)
	return spec, from, err
}

// historyToInherit reads the settled questions up to the last question of this question's turn;
// for 0, all. It fails if they are larger than a fork can inherit.
func historyToInherit(ctx context.Context, r store.RunReader, id string, question int) (run Run, needed []Record,
	_ error) {
	size := 0
	err := store.EachSettled(ctx, r, id, func(of *Run, page []Record) error {
		run, needed = *of, append(needed, page...)
		for i := range page {
			size += recordSize(&page[i])
		}
		if question > run.Interactions || question > 0 && run.OpenQuestion(question) != nil ||
			question == 0 && !run.State.Terminal() { // decide.Fork refuses it
			return errNoMoreNeeded
		}
		if i := slices.IndexFunc(needed, func(r Record) bool { return r.Question.ID == question }); i >= 0 &&
			needed[len(needed)-1].Question.Attempt > needed[i].Question.Attempt {
			return errNoMoreNeeded
		}
		if size > decide.MaxOrigin {
			return fmt.Errorf("%w: run %s has a history of more than %s up to there, and a fork inherits no more",
				ErrCannotFork, id, bytesOf(decide.MaxOrigin))
		}
		return nil
	})
	if errors.Is(err, errNoMoreNeeded) {
		err = nil
	}
	return run, needed, err
}

var errNoMoreNeeded = errors.New("lifecycle: no further page is needed")

// joinSubmitted returns the stored form of a fork: a JSON list of its inheritance and specification.
func joinSubmitted(source string, own []byte, from *decide.Origin) ([]byte, error) {
	inherited, err := json.Marshal(from)
	if len(inherited) > decide.MaxOrigin {
		err = fmt.Errorf("%w: run %s has a history and a journal of %s, a fork inherits at most %s", ErrCannotFork,
			source, bytesOf(len(inherited)), bytesOf(decide.MaxOrigin))
	}
	return slices.Concat([]byte("["), inherited, []byte(","), own, []byte("]")), err
}

// splitSubmitted splits a stored form into the specification and, for a fork, its inheritance.
func splitSubmitted(id string, stored []byte) (own []byte, from *decide.Origin, err error) {
	own = stored
	if !bytes.HasPrefix(stored, []byte("[")) {
		return own, nil, nil
	}
	var parts []json.RawMessage
	if err = json.Unmarshal(stored, &parts); err == nil && len(parts) == 2 {
		from = new(decide.Origin)
		err, own = json.Unmarshal(parts[0], from), parts[1]
	}
	if err != nil {
		return nil, nil, fmt.Errorf("lifecycle: stored spec of fork %s: %w", id, err)
	}
	return own, from, nil
}

// specs decodes stored specifications for nodes.
type specs struct{}

func (specs) Decode(id string, stored []byte) (node.Spec, *decide.Origin, error) {
	own, from, err := splitSubmitted(id, stored)
	if err != nil {
		return node.Spec{}, nil, err
	}
	s, err := decodeSpec(id, own)
	return node.Spec{
		Prompt: s.Prompt, Input: s.Input, OutputSchema: s.OutputSchema, Mode: s.Mode, WorkDir: s.WorkDir, Meta: s.Meta,
		TurnTimeout: s.TurnTimeout, RepairRounds: s.RepairRounds, MaxQuestions: s.MaxQuestions, Retry: s.Retry,
		Ask: s.Ask, Submitter: s.Submitter, Stored: own,
	}, from, err
}

// Child implements node.Specs. A child does not inherit its parent's limits and budget.
func (specs) Child(parentID string, parent *node.Spec, id string, c *engine.Child, now time.Time) (
	run store.Run, stored []byte, err error,
) {
	spec, err := decodeSpec(parentID, parent.Stored)
	if err != nil {
		return run, nil, err
	}
	spec.ID, spec.Prompt, spec.Input = "", c.Prompt, c.InputJSON
	spec.OutputSchema, spec.Labels = c.OutputSchema, c.Labels
	spec.MaxAttempts, spec.RepairRounds, spec.Budget, spec.NotBefore = 0, 0, store.Budget{}, time.Time{}
	if c.Engine != "" {
		spec.Engine = c.Engine
	}
	if c.Mode != "" {
		spec.Mode = c.Mode
	}
	if spec.WorkDir, err = node.Absolute(c.WorkDir); err != nil {
		return run, nil, err
	}
	if err := spec.Validate(); err != nil {
		return run, nil, err
	}
	spec.ID = id // Validate refuses it for hosts
	return spec.record(now)
}
