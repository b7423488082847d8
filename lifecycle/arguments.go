package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/schema"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// Arguments are checked before they reach a store, so that every store refuses them with the same
// errors. A valid argument costs no allocation.

// ErrInvalidArgument: the caller passed a value that no such call accepts. Nothing was stored.
// Every ArgumentError and SpecError matches it.
var ErrInvalidArgument = errors.New("lifecycle: invalid argument")

// ArgumentError names an invalid argument of a call or field of a configuration, with its value and
// the expected one.
type ArgumentError struct {
	// Argument is the parameter's name, with the invalid field if any: "id", "query.Limit",
	// "reply.Text", "Config.Lease".
	Argument string
	Value    string
	Want     string
	// Err is the cause, or an error that this one also matches; often nil. It is ErrNotFound for an
	// id that no run can have, and ErrInvalidReply for an invalid reply.
	Err error
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("lifecycle: %s is %s, want %s", e.Argument, e.Value, e.Want)
}

func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

func (e *ArgumentError) Unwrap() error { return e.Err }

func validateQuery(q *Query) error {
	if q.Limit < 0 || q.Limit > store.MaxBatch {
		return &ArgumentError{"query.Limit", fmt.Sprint(q.Limit), fmt.Sprintf("1 to %d, or 0 for 100", store.MaxBatch),
			nil}
	}
	if q.After != "" {
		if _, err := store.ReadCursor(q.After); err != nil {
			return &ArgumentError{"query.After", quote(q.After), "the Next of a page, or nothing for the first page",
				nil}
		}
	}
	for _, state := range q.States {
		if !slices.Contains(fsm.States(), state) {
			return &ArgumentError{"query.States", quote(string(state)), fmt.Sprintf("states of %q", fsm.States()), nil}
		}
	}
	if q.Pool != "" && !namePattern.matches(q.Pool) {
		return &ArgumentError{"query.Pool", quote(q.Pool), wantName, nil}
	}
	if len(q.Key) > MaxKey || !utf8.ValidString(q.Key) {
		return &ArgumentError{"query.Key", quote(q.Key), wantKey, nil}
	}
	if q.ForkedFrom != "" && !idPattern.matches(q.ForkedFrom) {
		return &ArgumentError{"query.ForkedFrom", quote(q.ForkedFrom), wantID, nil}
	}
	if q.Parent != "" && !idPattern.matches(q.Parent) {
		return &ArgumentError{"query.Parent", quote(q.Parent), wantID, nil}
	}
	if len(q.Labels) > MaxLabels {
		return &ArgumentError{"query.Labels", entriesOf(len(q.Labels)), fmt.Sprintf("at most %d", MaxLabels), nil}
	}
	if key, ok := wrongLabel(q.Labels); !ok {
		return &ArgumentError{"query.Labels", quote(key), wantLabels, nil}
	}
	return nil
}

// validateTime checks that a caller's time is within the years that stores can keep.
func validateTime(argument string, at time.Time) error {
	if inCalendar(at) {
		return nil
	}
	return &ArgumentError{argument, yearOf(at), wantYear, nil}
}

func validateReply(reply *Reply) error {
	err := reply.Validate()
	var fault *FieldError
	if errors.As(err, &fault) {
		return &ArgumentError{"reply." + fault.Field, fault.Value, fault.Want, err}
	}
	return err
}

// pattern describes names: ASCII letters, digits and marks, not beginning with a mark.
type pattern struct {
	marks   string
	longest int // bytes
}

var (
	idPattern   = pattern{"._-", MaxRunID}
	namePattern = pattern{"._/-", MaxName}
)

func (p pattern) matches(s string) bool {
	if s == "" || len(s) > p.longest {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && (i == 0 || strings.IndexByte(p.marks, c) < 0) {
			return false
		}
	}
	return true
}

// isChosenID reports whether a host may give this id to a new run.
func isChosenID(id string) bool {
	return idPattern.matches(id) && !strings.HasPrefix(id, node.ChildPrefix)
}

// Descriptions of valid arguments and fields of a Spec, for errors.
const (
	wantID = "1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit"
	// wantChosenID is wantID for the id of a new run.
	wantChosenID = wantID + `, and not with "` + node.ChildPrefix + `", which begins the ids of children`

	wantName   = "1 to 63 of [A-Za-z0-9._/-]"
	wantKey    = "at most 255 bytes of UTF-8"
	wantLabels = "keys of 1 to 63 bytes and values of at most 255, valid UTF-8"
	wantYear   = "a year of 0 to 9999"

	wantOnInterrupt = `"fail", "repeat" or "ask"`
	wantHold        = `"on" or "off"`
)

func entriesOf(n int) string { return fmt.Sprintf("%d entries", n) }

func yearOf(t time.Time) string { return fmt.Sprintf("in the year %d", t.UTC().Year()) }

// wrongLabel returns the key of a label whose key or value is invalid; ok if all labels are
// valid.
func wrongLabel(labels map[string]string) (key string, ok bool) {
	for k, v := range labels {
		if k == "" || len(k) > MaxLabelKey || len(v) > MaxLabelValue || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return k, false
		}
	}
	return "", true
}

func (s *Spec) validateJob() *SpecError {
	switch {
	case s.Prompt == "" && len(s.Input) == 0, len(s.Prompt) > MaxPrompt:
		return &SpecError{"Prompt", bytesOf(len(s.Prompt)), "1 to " + bytesOf(MaxPrompt), nil}
	case !utf8.ValidString(s.Prompt):
		return &SpecError{"Prompt", "not UTF-8", "valid UTF-8", nil}
	case len(s.Input) > MaxPrompt || len(s.Input) > 0 && !json.Valid(s.Input):
		return &SpecError{"Input", bytesOf(len(s.Input)), "one JSON value of at most " + bytesOf(MaxPrompt), nil}
	}
	if err := schema.ValidateFinite(s.Input); err != nil {
		return &SpecError{"Input", "a number out of bounds", "numbers within the range of a float64", err}
	}
	return nil
}

// isNil reports whether an interface is nil, or holds a nil function, pointer or map.
func isNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Func, reflect.Pointer, reflect.Map:
		return r.IsNil()
	}
	return false
}
