package web

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlude-go/interlude/lifecycle"
)

type followInput struct {
	RunPath
	//nolint:tagliatelle // the header's name
	LastEventID string `header:"Last-Event-ID" doc:"The number of the last event read, as EventSource sends it."`
	After       uint64 `query:"after" doc:"The same for the first connection; without it the stream starts at the first event."`
}

// cursor returns the number of the event after which the stream begins.
func (in *followInput) cursor() (uint64, error) {
	if in.LastEventID == "" {
		return in.After, nil
	}
	after, err := strconv.ParseUint(in.LastEventID, 10, 64)
	if err != nil {
		return 0, newProblem(http.StatusBadRequest, "INVALID_ARGUMENT", "The Last-Event-ID must be the number of an "+
			"event.")
	}
	return after, nil
}

func (d *Server) followRoute(a *api) {
	op := a.operation(http.MethodGet, "follow-run", "/runs/{id}/events", "Follow a run")
	op.Description = "Server-sent events, from the first after the cursor until the run ends, even " +
		"if that takes days. The id of each is its number, the data an event of the run as JSON (Event). If the " +
		"run has ended and the cursor is at its last event, the status is 204, which stops an EventSource."
	op.Responses["200"] = streamResponse()
	a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[lifecycle.Event](), true, "Event")
	op.Responses["204"] = &huma.Response{Description: "The run has ended, and no event follows."}
	huma.Register(a.huma, op, func(ctx context.Context, in *followInput) (*streamBody, error) {
		c := callerOf(ctx)
		after, err := in.cursor()
		if err != nil {
			return nil, err
		}
		run, err := d.beforeStream(ctx, c, in.ID, after)
		if err != nil {
			return nil, d.problem(c, err)
		}
		if run.State.Terminal() && after == run.Seq {
			return &streamBody{func(h huma.Context) { h.SetStatus(http.StatusNoContent) }}, nil
		}
		return d.openStream(c, func(beat context.Context, s *eventStream) (bool, error) {
			return s.follow(beat, c, in.ID, &after)
		})
	})
}

// beforeStream reads the run while an error can still set the status.
func (d *Server) beforeStream(ctx context.Context, c *caller, id string, after uint64) (lifecycle.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.Timeout)
	defer cancel()
	run, err := c.client.Get(ctx, id)
	if err == nil && after > run.Seq {
		err = fmt.Errorf("%w: its last event has the number %d", lifecycle.ErrCursorBeyondEnd, run.Seq)
	}
	return run, err
}

// follow sends the run's events after the cursor and advances the cursor, until the context or the
// run ends.
func (s *eventStream) follow(ctx context.Context, c *caller, id string, after *uint64) (ended bool, _ error) {
	for event, err := range c.client.Events(ctx, id, *after) {
		if err != nil {
			return false, err
		}
		if err := s.sendEvent(strconv.FormatUint(event.Seq, 10), "", event); err != nil {
			return true, err
		}
		*after = event.Seq
	}
	return true, nil
}

// InboxChange is the data of a change event: one run's questions in the inbox.
type InboxChange struct {
	RunID     string         `json:"run_id"`
	Questions []OpenQuestion `json:"questions" nullable:"false" doc:"The run's questions that the inbox has now."`
	Gone      []int          `json:"gone" nullable:"false" doc:"The numbers of the run's questions that left the inbox."`
}

func (d *Server) watchRoute(a *api) {
	op := a.operation(http.MethodGet, "watch-inbox", "/inbox/events", "Follow the changes of an inbox")
	op.Description = "Server-sent events for the inbox that the same parameters list. A reload event (the first of " +
		"each connection, and one for a reader that lags far behind) means: list the inbox again. A change event has " +
		"the data of one run as JSON (InboxChange): replace the questions that are shown of that run. The events " +
		"have no numbers: after a reconnect, list again."
	op.Responses["200"] = streamResponse()
	a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[InboxChange](), true, "InboxChange")
	huma.Register(a.huma, op, func(ctx context.Context, in *InboxFilter) (*streamBody, error) {
		c := callerOf(ctx)
		q, err := in.query(c.actor)
		if err != nil {
			return nil, err
		}
		watch, err := c.client.WatchInbox(ctx, q)
		if err != nil {
			return nil, d.problem(c, err)
		}
		body, err := d.openStream(c, func(beat context.Context, s *eventStream) (bool, error) {
			return false, s.watch(beat, c, watch)
		})
		if err != nil {
			watch.Close()
			return nil, err
		}
		return &streamBody{func(h huma.Context) {
			defer watch.Close()
			body.Body(h)
		}}, nil
	})
}

// watch sends the changes until the context ends.
func (s *eventStream) watch(ctx context.Context, c *caller, watch *lifecycle.InboxWatch) error {
	if err := watch.Recheck(ctx); err != nil {
		return err
	}
	for {
		change, err := watch.Next(ctx)
		switch {
		case err != nil:
			return err
		case change.Reload:
			err = s.sendEvent("", "reload", struct{}{})
		default:
			err = s.sendEvent("", "change", InboxChange{change.RunID,
				showInbox(change.Questions, c.client.WithPrincipals(ctx, c.actor), c.client.Now()),
				append([]int{}, change.Gone...)})
		}
		if err != nil {
			return err
		}
	}
}
