package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Notices gives access to the host's notices, usually by a notify.Notifier; package host/all sets it.
// Only operators who may list feeds (Authorize) can call it, because notices are read from feeds.
// Implementations are safe for concurrent use.
type Notices interface {
	// DeadLetters returns up to limit notices that are no longer sent, of all endpoints.
	DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error)
	// Resend sends a dead letter again; lifecycle.ErrNotFound if no dead letter has this id.
	Resend(ctx context.Context, endpoint, id string) error
}

// DeadLetter is a notice that its endpoint has not accepted.
type DeadLetter struct {
	Endpoint string    `json:"endpoint"`
	ID       string    `json:"id" doc:"The id of the notice: the run's id and the number of its event."`
	RunID    string    `json:"run_id"`
	Attempts int       `json:"attempts"`
	Died     time.Time `json:"died" doc:"When the last attempt failed."`
	Reason   string    `json:"reason" doc:"Why the last attempt failed."`
}

// DeadLetters are notices that are no longer sent.
type DeadLetters struct {
	DeadLetters []DeadLetter `json:"dead_letters" nullable:"false"`
	More        bool         `json:"more" doc:"There are more than the limit."`
}

type deadInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (d *Server) deadLetters(ctx context.Context, c *caller, in *deadInput) (*body[DeadLetters], error) {
	out := DeadLetters{DeadLetters: []DeadLetter{}}
	if _, err := c.client.Feeds(ctx); err != nil || d.opts.Notices == nil { // asks Authorize
		return &body[DeadLetters]{out}, err
	}
	found, err := d.opts.Notices.DeadLetters(ctx, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out.More = len(found) > in.Limit
	out.DeadLetters = append(out.DeadLetters, found[:min(len(found), in.Limit)]...)
	return &body[DeadLetters]{out}, nil
}

type resendInput struct {
	Body struct {
		Endpoint string `json:"endpoint"`
		ID       string `json:"id" doc:"The id of the dead letter."`
	}
}

func (d *Server) resend(ctx context.Context, c *caller, in *resendInput) error {
	if _, err := c.client.Feeds(ctx); err != nil { // asks Authorize
		return err
	}
	err := lifecycle.ErrNotFound
	if d.opts.Notices != nil {
		err = d.opts.Notices.Resend(ctx, in.Body.Endpoint, in.Body.ID)
	}
	if errors.Is(err, lifecycle.ErrNotFound) {
		return newProblem(http.StatusNotFound, "NOT_FOUND", "There is no dead letter with this id any more.")
	}
	if err == nil {
		d.log.Info("web: a dead letter is sent again", "endpoint", in.Body.Endpoint, "id", in.Body.ID, "by", c.actor.ID)
	}
	return err
}
