package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Notice is an event for an endpoint.
type Notice struct {
	// ID is "run/seq", the same in each attempt and at each endpoint.
	ID       string
	Endpoint string
	// Attempt counts from 1.
	Attempt int
	Event   lifecycle.Event
	// Summary identifies the call of the open question (engine.Subject): an amount, a path. For
	// reminders and escalations the notifier reads it from the run; it is empty if the question is
	// settled.
	Summary string
}

// Sender delivers notices to one receiver.
//
// Send returns nil if the receiver has accepted the notice; it is then repeated only if this
// process dies before the outcome is stored. After an error the notice is retried as Retry says. A
// Permanent error makes it a dead letter immediately; an AfterError requests a pause. Send may be
// called concurrently for notices of different runs. It must return when ctx ends, after
// Endpoint.Timeout at the latest; until then it counts towards Endpoint.Concurrency. A panic counts
// as an error.
type Sender interface {
	Send(ctx context.Context, n Notice) error
}

// SenderFunc is a function as a Sender.
type SenderFunc func(ctx context.Context, n Notice) error

// Send calls the function.
func (f SenderFunc) Send(ctx context.Context, n Notice) error { return f(ctx, n) }

// ErrPermanent matches errors that make a notice a dead letter immediately.
var ErrPermanent = errors.New("notify: permanent failure, not retried")

// Permanent wraps an error so that its notice becomes a dead letter immediately.
func Permanent(err error) error { return fmt.Errorf("%w: %w", ErrPermanent, err) }

// AfterError is an error with the pause that the receiver has requested.
type AfterError struct {
	Pause time.Duration
	Err   error
}

func (e *AfterError) Error() string { return e.Err.Error() }

func (e *AfterError) Unwrap() error { return e.Err }

// Question returns the question of a TypeInputRequired event.
func (n Notice) Question() (q lifecycle.InputRequired, ok bool) {
	if n.Event.Type != lifecycle.TypeInputRequired {
		return q, false
	}
	return q, n.Event.Decode(&q) == nil
}

// OpenQuestion returns the question that the notice is about, for any type of event. It returns nil
// if the question is no longer open, or the notice is not about a question. Use it to make links,
// and to skip questions that were answered in the meantime.
func OpenQuestion(ctx context.Context, c *lifecycle.Client, n Notice) (*lifecycle.Question, error) {
	var about struct {
		Question int `json:"interaction_id"`
	}
	if err := n.Event.Decode(&about); err != nil || about.Question == 0 {
		return nil, nil //nolint:nilnil // not about a question
	}
	run, err := c.Get(ctx, n.Event.RunID)
	if errors.Is(err, lifecycle.ErrNotFound) { // pruned
		return nil, nil //nolint:nilnil // as above
	}
	if err != nil {
		return nil, err
	}
	for _, q := range run.Open {
		if q.ID == about.Question {
			return &q, nil
		}
	}
	return nil, nil //nolint:nilnil // it is settled
}
