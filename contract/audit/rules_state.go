package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about states: which changes are allowed, and what their events contain.

// chain is IV-10: a change of state starts from the state to which the last one led.
type chain struct{}

func (chain) bind(*contract.Lifecycle) error { return nil }

func (chain) judge(v *view, s *step) string {
	if s.Type == fcmp.TypeStateChanged && v.state == "" {
		return s.skip()
	}
	if s.Type == fcmp.TypeStateChanged && s.data.From != v.state {
		return fmt.Sprintf("the run is %s, but changes from %s", v.state, s.data.From)
	}
	return ""
}

// onlyVia is IV-17: a change of state is a transition of the contract.
type onlyVia struct{}

func (onlyVia) bind(*contract.Lifecycle) error { return nil }

func (onlyVia) judge(v *view, s *step) string {
	if s.Type == fcmp.TypeStateChanged && len(v.candidates(s)) == 0 {
		return "the contract has no such transition here: " + describe(s)
	}
	return ""
}

// iff is IV-18, IV-19: a change of state has the member exactly if it leads to one of the states.
type iff struct {
	Type    string   `json:"type"`
	Present string   `json:"present"`
	To      []string `json:"to"`
}

func (r *iff) bind(l *contract.Lifecycle) error {
	return errors.Join(allKnown("event type", []string{fcmp.TypeStateChanged}, r.Type),
		allKnown("optional member", optionalMembers, r.Present), someKnown("state", l.StateNames(), r.To...))
}

func (r *iff) judge(v *view, s *step) string {
	if s.Type != r.Type {
		return ""
	}
	switch present, due := s.has(r.Present), slices.Contains(r.To, s.data.To); {
	case present && !due:
		return fmt.Sprintf("%s is present in a change to %s", r.Present, s.data.To)
	case due && s.unknown(r.Present):
		return s.skip()
	case due && !present:
		return fmt.Sprintf("%s is missing in a change to %s", r.Present, s.data.To)
	}
	return ""
}

// equal is IV-20: two fields of an event have one value.
type equal struct {
	Type  string `json:"type"`
	Left  string `json:"left"`
	Right string `json:"right"`
}

func (r *equal) bind(l *contract.Lifecycle) error {
	return errors.Join(allKnown("event type", l.PayloadTypes(), r.Type), allKnown("field", texts, r.Left, r.Right))
}

func (r *equal) judge(v *view, s *step) string {
	if s.Type == fcmp.TypeStateChanged && !v.l.Terminal(s.data.To) {
		return "" // iff reports an end here
	}
	left, right := s.text(r.Left), s.text(r.Right)
	if s.Type == r.Type && left == "" && s.has("terminal") {
		return s.skip()
	}
	if s.Type == r.Type && left != "" && left != right {
		return fmt.Sprintf("%s is %s, but %s is %s", r.Left, left, r.Right, right)
	}
	return ""
}

// codeFits is IV-21: the transition allows the error code of the end.
type codeFits struct{}

func (codeFits) bind(*contract.Lifecycle) error { return nil }

func (codeFits) judge(v *view, s *step) string {
	if s.Type != fcmp.TypeStateChanged || s.data.Terminal == nil {
		return ""
	}
	code := ""
	if s.data.Terminal.Error != nil {
		code = s.data.Terminal.Error.Code
	}
	var allowed []string
	for _, t := range v.candidates(s) {
		if t.Allows(code) {
			return ""
		}
		allowed = append(allowed, t.Error)
		allowed = append(allowed, t.Also...)
	}
	if s.unknown("terminal.error") {
		return s.skip()
	}
	return fmt.Sprintf("%s ends with the error %q; allowed: %q", describe(s), code, strings.Join(allowed, ", "))
}

// declared is IV-22: a warning code is declared in the contract, or is an engine's own.
type declared struct{}

func (declared) bind(*contract.Lifecycle) error { return nil }

func (declared) judge(v *view, s *step) string {
	var used []string
	if s.Type == fcmp.TypeWarning {
		used = append(used, s.data.Code)
	}
	if s.data.Terminal != nil {
		used = append(used, s.data.Terminal.Warnings...)
	}
	used = slices.DeleteFunc(used, v.l.OwnWarnings.Holds)
	if err := allKnown("warning code", contract.Codes(v.l.Warnings), used...); err != nil {
		return err.Error()
	}
	return ""
}

// onlyWhile is IV-30: events of the types occur only in the state.
type onlyWhile struct {
	Types []string `json:"types"`
	State string   `json:"state"`
}

func (r *onlyWhile) bind(l *contract.Lifecycle) error {
	return errors.Join(someKnown("event type", l.PayloadTypes(), r.Types...),
		allKnown("state", l.StateNames(), r.State))
}

func (r *onlyWhile) judge(v *view, s *step) string {
	if !slices.Contains(r.Types, s.Type) {
		return ""
	}
	if v.state == "" {
		return s.skip()
	}
	if v.state != r.State {
		return fmt.Sprintf("%s in state %s", s.Type, v.state)
	}
	return ""
}

// never is IV-11, IV-12: a run with the mode or strictness never has the event.
type never struct {
	Given struct {
		Mode   string `json:"mode,omitempty"`
		Strict *bool  `json:"strict,omitempty"`
	} `json:"given"`
	Event pattern `json:"event"`
	// UnlessOwnWait allows the event for a question with a Wait.
	UnlessOwnWait bool `json:"unless_own_wait,omitempty"`
}

func (r *never) bind(l *contract.Lifecycle) error {
	if r.Given.Mode == "" {
		return r.Event.bind(l)
	}
	return errors.Join(allKnown("mode", contract.Names(l.Modes), r.Given.Mode), r.Event.bind(l))
}

func (r *never) judge(v *view, s *step) string {
	if !r.Event.matches(s) || r.UnlessOwnWait && v.group.own {
		return ""
	}
	if v.started == nil || r.UnlessOwnWait && v.openUnknown && v.partial {
		return s.skip()
	}
	mode, strict := v.started.data.Mode, v.started.data.Strict
	switch {
	case r.Given.Mode != "" && mode == "", r.Given.Strict != nil && strict == nil:
		return s.skip()
	case r.Given.Mode != "" && mode != r.Given.Mode, r.Given.Strict != nil && *strict != *r.Given.Strict:
		return ""
	case r.Given.Mode != "":
		return fmt.Sprintf("%s in a run with mode %s", describe(s), mode)
	}
	return fmt.Sprintf("%s in a run with strict %t", describe(s), *strict)
}
