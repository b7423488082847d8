package audit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rule about remembered decisions.

// memoryActor is the prefix of the actors of remembered decisions; the question's number follows.
const memoryActor = "memory:"

// maxMemories limits the remembered decisions of a run.
const maxMemories = 16

// memory is a valid remembered decision.
type memory struct {
	id    int    // the question
	tool  string // empty if unknown
	until time.Time
}

type subject struct {
	Tool string `json:"tool"`
}

type remember struct {
	Until time.Time `json:"until"`
}

func (s *step) byMemory() bool { return strings.HasPrefix(s.data.Actor, memoryActor) }

func (s *step) tool() string {
	if s.data.Subject == nil {
		return ""
	}
	return s.data.Subject.Tool
}

func (v *view) forget(ended func(*memory) bool) {
	v.memories = slices.DeleteFunc(v.memories, func(m memory) bool { return ended(&m) })
}

// noteMemory adds a remembered decision, or removes the decisions that a policy's refusal ends.
func (v *view) noteMemory(s *step) {
	q := v.question(s)
	tool := ""
	if q != nil {
		tool = q.tool()
	}
	switch {
	case s.data.Remember != nil:
		v.forget(func(m *memory) bool { return !s.TS.Before(m.until) })
		if len(v.memories) < maxMemories {
			v.memories = append(v.memories, memory{s.data.InteractionID, tool, s.data.Remember.Until})
		}
	case s.byPolicy() && s.data.Decision == "reject":
		v.forget(func(m *memory) bool { return tool == m.tool })
		v.memoriesUnknown = v.memoriesUnknown || tool == ""
	case s.unknown("actor") && s.data.Decision != "approve":
		v.memoriesUnknown = true // perhaps a policy has refused the tool
	}
}

// remembered is IV-50. It checks events of the types Decided that store or use a remembered decision.
type remembered struct {
	Asked     string   `json:"asked"`
	Decided   []string `json:"decided"`
	Forgotten string   `json:"forgotten"`
}

func (r *remembered) bind(*contract.Lifecycle) error {
	return errors.Join(allKnown("event type of a question", []string{fcmp.TypeInputRequired}, r.Asked),
		someKnown("event type of a decision", []string{fcmp.TypeReplyAccepted, fcmp.TypeRecorded}, r.Decided...),
		allKnown("event type of a memory's end", []string{fcmp.TypeForgotten}, r.Forgotten))
}

func (r *remembered) judge(v *view, s *step) string {
	switch {
	case s.Type == r.Forgotten:
		if v.memoryOf(s.data.InteractionID) == nil {
			if v.memoriesUnknown {
				return s.skip()
			}
			return fmt.Sprintf("the decision about question %d is forgotten, but is not remembered",
				s.data.InteractionID)
		}
		return ""
	case !slices.Contains(r.Decided, s.Type):
		return ""
	case s.data.Remember != nil:
		return v.judgeRemember(s)
	case s.byMemory():
		return v.judgeUse(s)
	}
	return ""
}

func (v *view) memoryOf(question int) *memory {
	for i := range v.memories {
		if v.memories[i].id == question {
			return &v.memories[i]
		}
	}
	return nil
}

// judgeRemember judges a new remembered decision: it must be an approval by one person.
func (v *view) judgeRemember(s *step) string {
	q := v.question(s)
	number := s.data.InteractionID
	live := 0
	for i := range v.memories {
		if s.TS.Before(v.memories[i].until) {
			live++
		}
	}
	switch {
	case !s.data.Remember.Until.After(s.TS):
		return fmt.Sprintf("the decision about question %d is remembered until %s, which is not later", number,
			fcmp.FormatTime(s.data.Remember.Until))
	case live >= maxMemories:
		return fmt.Sprintf("the run remembers more than %d decisions", maxMemories)
	case s.unknown("actor"), s.unknown("decision"), v.openUnknown:
		return s.skip()
	case s.data.Decision != "approve" && s.data.Decision != "edit":
		return fmt.Sprintf("the decision %q about question %d is remembered; only an approval is", s.data.Decision,
			number)
	case s.data.Actor == "", s.data.For != "", s.byPolicy(), s.byMemory():
		return fmt.Sprintf("a decision by %.100q for %.100q is remembered; only a person's own is", s.data.Actor,
			s.data.For)
	case q == nil:
		return "" // namesOpen reports it
	case q.several():
		return fmt.Sprintf("a decision about question %d is remembered, which several people decide", number)
	}
	return ""
}

// judgeUse judges the use of a remembered decision.
func (v *view) judgeUse(s *step) string {
	id, err := strconv.Atoi(s.data.Actor[len(memoryActor):])
	m := v.memoryOf(id)
	q := v.question(s)
	number := s.data.InteractionID
	switch {
	case err == nil && m == nil && v.memoriesUnknown, s.unknown("decision"), v.openUnknown:
		return s.skip()
	case m == nil:
		return fmt.Sprintf("%.100q decides question %d, but that decision is not remembered", s.data.Actor, number)
	case !s.TS.Before(m.until):
		return fmt.Sprintf("%.100q decides question %d, but counts only until %s", s.data.Actor, number,
			fcmp.FormatTime(m.until))
	case s.data.Decision != "approve", s.votes():
		return fmt.Sprintf("%.100q has the decision %q about question %d; it can only approve, and does not vote",
			s.data.Actor, s.data.Decision, number)
	case q == nil:
		return "" // namesOpen reports it
	case !q.underPolicy(): // IV-46 reports an approval by several people
		return fmt.Sprintf("%.100q decides question %d, which is left to people", s.data.Actor, number)
	case m.tool == "", q.tool() == "":
		return s.skip()
	case q.tool() != m.tool:
		return fmt.Sprintf("%.100q approves a call of %.100q, but is about %.100q", s.data.Actor, q.tool(), m.tool)
	}
	return ""
}
