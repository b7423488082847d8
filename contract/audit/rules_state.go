package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rules about states: how a run may move, and what it says when it does.

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

type onlyVia struct{}

func (onlyVia) bind(*contract.Lifecycle) error { return nil }

func (onlyVia) judge(v *view, s *step) string {
	if s.Type == fcmp.TypeStateChanged && len(v.candidates(s)) == 0 {
		return "the contract has no such transition here: " + describe(s)
	}
	return ""
}

type iff struct {
	Type    string   `json:"type"`
	Present string   `json:"present"`
	To      []string `json:"to"`
}

func (r *iff) bind(l *contract.Lifecycle) error {
	return errors.Join(all("event type", []string{fcmp.TypeStateChanged}, r.Type), all("optional member",
		optionalMembers,
		r.Present), some("state", l.StateNames(), r.To...))
}

func (r *iff) judge(v *view, s *step) string {
	if s.Type != r.Type {
		return ""
	}
	switch present, due := s.has(r.Present), slices.Contains(r.To, s.data.To); {
	case present && !due:
		return fmt.Sprintf("%s stands in a change to %s", r.Present, s.data.To)
	case due && !present && v.lenient:
		return s.skip()
	case due && !present:
		return fmt.Sprintf("%s is missing in a change to %s", r.Present, s.data.To)
	}
	return ""
}

type equal struct {
	Type  string `json:"type"`
	Left  string `json:"left"`
	Right string `json:"right"`
}

func (r *equal) bind(l *contract.Lifecycle) error {
	return errors.Join(all("event type", l.PayloadTypes(), r.Type), all("field", texts, r.Left, r.Right))
}

func (r *equal) judge(v *view, s *step) string {
	if s.Type == fcmp.TypeStateChanged && !v.l.Terminal(s.data.To) {
		return "" // it should have no end
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
	if v.lenient && !slices.Contains(contract.Codes(v.l.Errors), code) {
		return s.skip() // it has none, or one of another contract
	}
	return fmt.Sprintf("%s ends with the error %q; allowed: %q", describe(s), code, strings.Join(allowed, ", "))
}

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
	if v.lenient {
		return "" // what is foreign is counted by whoever reads the log
	}
	used = slices.DeleteFunc(used, v.l.OwnWarnings.Holds)
	if err := all("warning code", contract.Codes(v.l.Warnings), used...); err != nil {
		return err.Error()
	}
	return ""
}

type onlyWhile struct {
	Types []string `json:"types"`
	State string   `json:"state"`
}

func (r *onlyWhile) bind(l *contract.Lifecycle) error {
	return errors.Join(some("event type", l.PayloadTypes(), r.Types...), all("state", l.StateNames(), r.State))
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

type never struct {
	Given struct {
		Mode   string `json:"mode,omitempty"`
		Strict *bool  `json:"strict,omitempty"`
	} `json:"given"`
	Event pattern `json:"event"`
}

func (r *never) bind(l *contract.Lifecycle) error {
	if r.Given.Mode == "" {
		return r.Event.bind(l)
	}
	return errors.Join(all("mode", contract.Names(l.Modes), r.Given.Mode), r.Event.bind(l))
}

func (r *never) judge(v *view, s *step) string {
	if !r.Event.matches(s) {
		return ""
	}
	if v.started == nil {
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
