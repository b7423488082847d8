package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/fsm"
)

// Action is the meaning of a line of the agent's output.
type Action string

// The actions. All except Break, TurnEnd, Complete and ResumeFailed use the text at Rule.Path.
const (
	// Session: the session id that a new process resumes. Stored immediately.
	Session Action = "session"
	// Message: a message of the assistant. The last one is the final text, unless there is a Final.
	Message Action = "message"
	// Delta: a piece of a message. The pieces after the last Break or Message are the final text,
	// unless there is a Final.
	Delta Action = "delta"
	// Final: the assistant's final text.
	Final Action = "final"
	// Output: the structured output; the value at Path, of any type.
	Output Action = "output"
	// Failure: the turn failed, whatever the exit status.
	Failure Action = "failure"
	// Warning: a warning.
	Warning Action = "warning"
	// ResumeFailed: the session to resume is lost.
	ResumeFailed Action = "resume_failed"
	// InputTokens, OutputTokens and CostUSD: the turn's usage.
	InputTokens  Action = "input_tokens"
	OutputTokens Action = "output_tokens"
	CostUSD      Action = "cost_usd"
	// Break: the pieces so far form a separate message.
	Break Action = "break"
	// TurnEnd: the agent has finished its turn. A resident process stays for the next turn; any
	// other has Config.Grace to end.
	TurnEnd Action = "turn_end"
	// Complete: the agent has finished its turn's output. If a rule has this action, a process that
	// ends with status 0 earlier has failed: some agents do this after a signal or a refused
	// permission.
	Complete Action = "complete"
)

// Rule gives lines a meaning.
type Rule struct {
	// Match: the values at these paths, as text. All must be equal; a path that ends in ? must
	// exist, and a path that ends in ! must be missing or null. Empty: every line.
	Match map[string]string
	// Like: the texts at these paths must also match these expressions.
	Like map[string]*regexp.Regexp
	Do   Action
	// Path is the value's path: member names and list positions, joined by dots; * means all
	// entries of a list, whose texts are joined.
	Path string
	// Code is the error code of a Failure; empty: ENGINE_FAILED.
	Code fsm.Code
	// Add: the usage is the sum of all matching lines, not the last one.
	Add bool
}

func (r Rule) check() error {
	switch r.Do {
	case Session, Message, Delta, Final, Output, Failure, Warning, InputTokens, OutputTokens, CostUSD:
		if r.Path == "" {
			return fmt.Errorf("%s needs a Path", r.Do)
		}
	case Break, TurnEnd, Complete, ResumeFailed:
	default:
		return fmt.Errorf("unknown action %q", r.Do)
	}
	for path, like := range r.Like {
		if like == nil {
			return fmt.Errorf("the field Like has no expression for %q", path)
		}
	}
	if r.Add && r.Do != InputTokens && r.Do != OutputTokens && r.Do != CostUSD {
		return errors.New("the field Add is only for usage actions")
	}
	if r.Code != "" && r.Do != Failure {
		return errors.New("the field Code is only for the action failure")
	}
	return nil
}

func (r Rule) matches(line map[string]any) bool {
	for path, want := range r.Match {
		path, missing := strings.CutSuffix(path, "!")
		path, exists := strings.CutSuffix(path, "?")
		v, ok := at(line, path)
		if ok == missing || !missing && !exists && textOf(v) != want {
			return false
		}
	}
	for path, like := range r.Like {
		if v, ok := at(line, path); !ok || !like.MatchString(textOf(v)) {
			return false
		}
	}
	return true
}

func at(v any, path string) (any, bool) {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		switch parent := v.(type) {
		case map[string]any:
			child, ok := parent[name]
			if !ok {
				return nil, false
			}
			v = child
		case []any:
			if name == "*" {
				return all(parent, path)
			}
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(parent) {
				return nil, false
			}
			v = parent[i]
		default:
			return nil, false
		}
	}
	return v, v != nil
}

func all(list []any, path string) (any, bool) {
	var parts []string
	for _, e := range list {
		if v, ok := at(e, path); ok {
			parts = append(parts, textOf(v))
		}
	}
	return strings.Join(parts, ""), len(parts) > 0
}

// textOf is a value as text: a string unchanged, other values as JSON.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	body, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(body)
}
