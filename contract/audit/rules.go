package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// rule is one executable invariant. It contains only parameters, the state of a run is in its view:
// one set of rules can judge any number of runs.
type rule interface {
	bind(l *contract.Lifecycle) error
	// judge returns the fault of the run's next event, or "".
	judge(v *view, s *step) string
}

// finisher is a rule that requires another event after some events.
type finisher interface {
	// unfinished returns which event is missing if the log ends here, or "".
	unfinished(v *view) string
}

// kinds creates an empty rule of each kind. A rule type names the invariants of that kind.
var kinds = map[string]func() rule{
	"schema_valid":   func() rule { return new(schemaValid) },
	"starts_with":    func() rule { return new(startsWith) },
	"contiguous":     func() rule { return new(contiguous) },
	"monotone":       func() rule { return new(monotone) },
	"constant":       func() rule { return new(constant) },
	"absorbing":      func() rule { return new(absorbing) },
	"counts_at":      func() rule { return new(countsAt) },
	"leads_to":       func() rule { return new(leadsTo) },
	"chain":          func() rule { return new(chain) },
	"never":          func() rule { return new(never) },
	"waiting_allows": func() rule { return new(waitingAllows) },
	"at_most":        func() rule { return new(atMost) },
	"below":          func() rule { return new(below) },
	"only_via":       func() rule { return new(onlyVia) },
	"iff":            func() rule { return new(iff) },
	"equal":          func() rule { return new(equal) },
	"code_fits":      func() rule { return new(codeFits) },
	"declared":       func() rule { return new(declared) },
	"at_most_once":   func() rule { return new(atMostOnce) },
	"names_open":     func() rule { return new(namesOpen) },
	"paired":         func() rule { return new(paired) },
	"only_while":     func() rule { return new(onlyWhile) },
	"precedes":       func() rule { return new(precedes) },
	"policy_row":     func() rule { return new(policyRow) },
	"implies":        func() rule { return new(implies) },
	"not_before":     func() rule { return new(notBefore) },
	"same_time":      func() rule { return new(sameTime) },
	"as_submitted":   func() rule { return new(asSubmitted) },
	"waits_for":      func() rule { return new(waitsFor) },
	"alternates":     func() rule { return new(alternates) },
	"blocked_as":     func() rule { return new(blockedAs) },
	"rule_decides":   func() rule { return new(ruleDecides) },
	"closes_open":    func() rule { return new(closesOpen) },
	"asked_together": func() rule { return new(askedTogether) },
	"own_wait":       func() rule { return new(ownWait) },
	"votes":          func() rule { return new(votes) },
	"claims":         func() rule { return new(claims) },
	"asks_again":     func() rule { return new(asksAgain) },
	"by_policy":      func() rule { return new(byPolicy) },
	"remembered":     func() rule { return new(remembered) },
}

func ruleOf(l *contract.Lifecycle, v contract.Invariant) (rule, error) {
	empty, ok := kinds[v.Kind]
	if !ok {
		return nil, fmt.Errorf("there is no invariant kind %q", v.Kind)
	}
	r := empty()
	params := v.Params
	if len(params) == 0 {
		params = []byte(`{}`)
	}
	dec := json.NewDecoder(bytes.NewReader(params))
	dec.DisallowUnknownFields()
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("cannot be decoded: %w", err)
	}
	return r, r.bind(l)
}

// pattern matches events. An empty list matches all.
type pattern struct {
	Type    string   `json:"type"`
	To      []string `json:"to,omitempty"`
	Trigger []string `json:"trigger,omitempty"`
}

func (p pattern) matches(s *step) bool {
	return s != nil && s.Type == p.Type &&
		(len(p.To) == 0 || slices.Contains(p.To, s.data.To)) &&
		(len(p.Trigger) == 0 || slices.Contains(p.Trigger, s.data.Trigger))
}

func (p pattern) String() string {
	text := p.Type
	if len(p.To) > 0 {
		text += fmt.Sprintf(" to %v", p.To)
	}
	if len(p.Trigger) > 0 {
		text += fmt.Sprintf(" by %v", p.Trigger)
	}
	return text
}

func (p pattern) bind(l *contract.Lifecycle) error {
	if p.Type != fcmp.TypeStateChanged && len(p.To)+len(p.Trigger) > 0 {
		return fmt.Errorf("only %s has a target and a trigger", fcmp.TypeStateChanged)
	}
	return errors.Join(allKnown("event type", l.PayloadTypes(), p.Type), allKnown("state", l.StateNames(), p.To...),
		allKnown("event", contract.Names(l.Events), p.Trigger...))
}

// allKnown returns an error for the first wanted name that is not known.
func allKnown(what string, known []string, wanted ...string) error {
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no %s %q", what, name)
		}
	}
	return nil
}

// someKnown is like allKnown, and also returns an error if there are no wanted names.
func someKnown(what string, known []string, wanted ...string) error {
	if len(wanted) == 0 {
		return fmt.Errorf("no %s is named", what)
	}
	return allKnown(what, known, wanted...)
}

func (s *step) number(field string) int {
	switch field {
	case "seq":
		return int(min(s.Seq, math.MaxInt/2+1))
	case "meta.local_seq":
		return int(min(s.Meta.LocalSeq, math.MaxInt/2+1))
	case "meta.attempt":
		return s.Meta.Attempt
	case "data.interaction_id":
		return s.data.InteractionID
	}
	return 0
}

var numbers = []string{"seq", "meta.local_seq", "meta.attempt", "data.interaction_id"}

func (s *step) text(field string) string {
	switch field {
	case "protocol_version":
		return s.ProtocolVersion
	case "engine":
		return s.Engine
	case "to":
		return s.data.To
	case "terminal.status":
		if s.data.Terminal != nil {
			return s.data.Terminal.Status
		}
	}
	return ""
}

var texts = []string{"protocol_version", "engine", "to", "terminal.status"}

func (s *step) has(member string) bool {
	switch member {
	case "pending_interaction_id":
		return s.data.PendingInteractionID != 0
	case "terminal":
		return s.data.Terminal != nil
	case "wait_deadline_at":
		return !s.data.WaitDeadlineAt.IsZero()
	case "actor":
		return s.data.Actor != ""
	case "choices":
		return len(s.data.Choices) > 0
	case "decision":
		return s.data.Decision != ""
	case "subject":
		return s.data.Subject != nil
	case "terminal.error":
		return s.data.Terminal != nil && s.data.Terminal.Error != nil
	case "together":
		return s.data.Together != nil
	case "together.stop_on_reject":
		return s.data.Together != nil && s.data.Together.StopOnReject
	}
	return false
}

// unknown reports whether an optional member is missing that the producer may have left out.
func (s *step) unknown(member string) bool { return s.partial && !s.has(member) }

var optionalMembers = []string{"pending_interaction_id", "terminal", "wait_deadline_at"}
