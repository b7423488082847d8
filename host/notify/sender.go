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
}

// Sender delivers notices to one receiver.
//
// Send returns nil when the receiver has accepted the notice, and it does not come again unless
// this process dies right then. After an error it comes again, until the attempts of Retry are used
// up; Permanent makes it a dead letter at once, and After asks for a pause. Send may be called for
// notices of different runs at the same time. It must return when ctx ends, which is at the latest
// after Endpoint.Timeout; until it returns it occupies one of the endpoint's places. A panic is an
// error.
type Sender interface {
	Send(ctx context.Context, n Notice) error
}

// SenderFunc is a function as a Sender.
type SenderFunc func(ctx context.Context, n Notice) error

// Send calls the function.
func (f SenderFunc) Send(ctx context.Context, n Notice) error { return f(ctx, n) }

// ErrPermanent is matched by the error of a notice that no further attempt would deliver.
var ErrPermanent = errors.New("notify: further attempts are of no use")

// Permanent makes the error one after which the notice is a dead letter.
func Permanent(err error) error { return fmt.Errorf("%w: %w", ErrPermanent, err) }

// AfterError is an error with the pause for which the receiver has asked.
type AfterError struct {
	Pause time.Duration
	Err   error
}

func (e *AfterError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *AfterError) Unwrap() error { return e.Err }

// Question returns what the event asks if it is of the type TypeInputRequired.
func (n Notice) Question() (q lifecycle.InputRequired, ok bool) {
	if n.Event.Type != lifecycle.TypeInputRequired {
		return q, false
	}
	return q, n.Event.Decode(&q) == nil
}

// OpenQuestion returns the question that the notice is about, of whatever type the event is, if it
// is still open, and nil if it is not, or the notice is about no question. It is for senders that
// make links, and for those that spare people a question which somebody has answered meanwhile.
func OpenQuestion(ctx context.Context, c *lifecycle.Client, n Notice) (*lifecycle.Question, error) {
	var about struct {
		Question int `json:"interaction_id"`
	}
	if err := n.Event.Decode(&about); err != nil || about.Question == 0 {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	run, err := c.Get(ctx, n.Event.RunID)
	if errors.Is(err, lifecycle.ErrNotFound) { // pruned
		return nil, nil //nolint:nilnil // as above
	}
	if err != nil {
		return nil, err
	}
	for _, q := range run.OpenQuestions() {
		if q.ID == about.Question {
			return &q, nil
		}
	}
	return nil, nil //nolint:nilnil // it is settled
}
