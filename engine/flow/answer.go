package flow

import (
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/engine"
)

// ErrUndecided is matched by every UndecidedError.
var ErrUndecided = errors.New("flow: nobody has decided")

// UndecidedError is the error of Confirm, Choose and Form if no person and no default answer has
// decided the question: a deadline ended the wait, or the answer to another question made this one
// superfluous.
type UndecidedError struct{ Answer engine.Answer }

func (e *UndecidedError) Error() string {
	return fmt.Sprintf("%v: question %d was settled by %s", ErrUndecided, e.Answer.ID, e.Answer.Resolution)
}

func (e *UndecidedError) Is(target error) bool { return target == ErrUndecided }

// Confirm asks for a yes or a no, and accepts no other reply. The kind of q may be engine.RiskAck;
// otherwise it is engine.Confirm. If q has options, exactly one of them must mean yes
// (interaction.Question.YesOption). Errors: as Ask, and *UndecidedError.
func Confirm(c *Ctx, name string, q engine.Question) (bool, error) {
	if q.Kind == "" {
		q.Kind = engine.Confirm
	}
	a, err := askOnly(c, name, q)
	if err != nil {
		return false, err
	}
	yes, ok := a.Yes()
	if !ok {
		return false, &UndecidedError{a}
	}
	return yes, nil
}

// Choose asks for one of the options of q and returns its value; no other reply is accepted.
// Errors: as Ask, and *UndecidedError.
func Choose[T ~string](c *Ctx, name string, q engine.Question) (T, error) {
	if q.Kind == "" {
		q.Kind = engine.ChooseOne
	}
	a, err := askOnly(c, name, q)
	if err != nil {
		return "", err
	}
	o, ok := a.Option()
	if !ok {
		return "", &UndecidedError{a}
	}
	return T(o.Value), nil
}

// Form asks for the value of a form: q needs a Schema, which package interaction/typed makes from
// T. A text is not accepted. Errors: as Ask, and *UndecidedError.
func Form[T any](c *Ctx, name string, q engine.Question) (v T, _ error) {
	q.AlsoText = false
	answers, err := c.ask(name, engine.Rule{}, []engine.Question{q}, gives[T])
	if err != nil {
		return v, err
	}
	if len(answers[0].Value) == 0 {
		return v, &UndecidedError{answers[0]}
	}
	return engine.As[T](answers[0])
}

func askOnly(c *Ctx, name string, q engine.Question) (engine.Answer, error) {
	q.Only = true
	return Ask[engine.Answer](c, name, q)
}
