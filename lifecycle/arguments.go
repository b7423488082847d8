package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// This file checks the arguments of the calls of Client and Lifecycle before they reach a store, so
// that every store refuses them with the same errors. A valid argument costs no allocation.

// ErrInvalidArgument: the caller gave something that no call of this kind can accept; nothing was
// stored. Every such error matches it: an ArgumentError, a SpecError too.
var ErrInvalidArgument = errors.New("lifecycle: invalid argument")

// ArgumentError says which argument of a call, or which field of a configuration, is wrong, its
// value, and what it should be.
type ArgumentError struct {
	// Argument is the name in the call's signature, with the field that is wrong: "id",
	// "query.Limit", "reply.Text", "Config.Lease".
	Argument string
	Value    string
	Want     string
	// Err is the cause, or what else the error matches; often nil. An id that no run can have
	// matches ErrNotFound too, and a wrong reply ErrInvalidReply.
	Err error
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("lifecycle: %s is %s, want %s", e.Argument, e.Value, e.Want)
}

// Is makes errors.Is(err, ErrInvalidArgument) true.
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// Unwrap returns the cause.
func (e *ArgumentError) Unwrap() error { return e.Err }

// check says what is wrong with a call of this client: its context, or the view that it was given.
func (c *Client) check(ctx context.Context) error {
	switch {
	case ctx == nil:
		return &ArgumentError{"ctx", "nil", "a context", nil}
	case c.store == nil:
		return &ArgumentError{"view", "nil", "a store for Client.On", nil}
	}
	return nil
}

// checkRun is check for a call about one run.
func (c *Client) checkRun(ctx context.Context, id string) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if !idPattern.matches(id) {
		return &ArgumentError{"id", quote(id), wantID, ErrNotFound}
	}
	return nil
}

// checkQuery is check for a listing.
func (c *Client) checkQuery(ctx context.Context, q *Query) error {
	if err := c.check(ctx); err != nil {
		return err
	}
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
	if len(q.Labels) > MaxLabels {
		return &ArgumentError{"query.Labels", entriesOf(len(q.Labels)), fmt.Sprintf("at most %d", MaxLabels), nil}
	}
	if key, ok := wrongLabel(q.Labels); !ok {
		return &ArgumentError{"query.Labels", quote(key), wantLabels, nil}
	}
	return nil
}

// checkTime says what is wrong with a time that a caller gives.
func checkTime(argument string, at time.Time) error {
	if inCalendar(at) {
		return nil
	}
	return &ArgumentError{argument, yearOf(at), wantYear, nil}
}

// checkReply says what is wrong with a reply.
func checkReply(reply *Reply) error {
	err := reply.Validate()
	var fault *FieldError
	if errors.As(err, &fault) {
		return &ArgumentError{"reply." + fault.Field, fault.Value, fault.Want, err}
	}
	return err
}

// What an argument or a field of a Spec should be.
const (
	wantID     = "1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit"
	wantName   = "1 to 63 of [A-Za-z0-9._/-]"
	wantKey    = "at most 255 bytes of UTF-8"
	wantLabels = "keys of 1 to 63 bytes and values of at most 255, valid UTF-8"
	wantYear   = "a year of 0 to 9999"

	wantOnInterrupt = `"fail", "repeat" or "ask"`
	wantHold        = `"on" or "off"`
)

func entriesOf(n int) string { return fmt.Sprintf("%d entries", n) }

func yearOf(t time.Time) string { return fmt.Sprintf("in the year %d", t.UTC().Year()) }

// wrongLabel returns a key with which, or with the value of which, no run can be labeled.
func wrongLabel(labels map[string]string) (key string, ok bool) {
	for k, v := range labels {
		if k == "" || len(k) > MaxLabelKey || len(v) > MaxLabelValue || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return k, false
		}
	}
	return "", true
}
