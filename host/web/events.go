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
	LastEventID string `header:"Last-Event-ID" doc:"The last event that was read, as EventSource says it."`
	After       uint64 `query:"after" doc:"The same, for the first connection; from the first event without it."`
}

// cursor returns the number of the event after which the stream begins.
func (in *followInput) cursor() (uint64, error) {
	if in.LastEventID == "" {
		return in.After, nil
	}
	after, err := strconv.ParseUint(in.LastEventID, 10, 64)
	if err != nil {
		return 0, newProblem(http.StatusBadRequest, "INVALID_ARGUMENT", "The Last-Event-ID is the number of an event.")
	}
	return after, nil
}

// followRoute registers the stream of a run's events.
func (d *Server) followRoute(a *api) {
	op := a.operation(http.MethodGet, "follow-run", "/runs/{id}/events", "Follow a run")
	op.Description = "Server-sent events, from the first after the cursor until the run has ended, whenever that " +
		"is. The id of each is its number, the data an event of the run as JSON (Event). When the run has ended " +
		"at the cursor, the status is 204, at which an EventSource stops."
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

// beforeStream reads the run before its stream begins: only then can an error be answered with a
// status.
func (d *Server) beforeStream(ctx context.Context, c *caller, id string, after uint64) (lifecycle.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.Timeout)
	defer cancel()
	run, err := c.client.Get(ctx, id)
	if err == nil && after > run.Seq {
		err = fmt.Errorf("%w: its number is %d", lifecycle.ErrCursorBeyondEnd, run.Seq)
	}
	return run, err
}

// follow sends the run's events after the cursor, and moves the cursor, until the context or the
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

// InboxChange is what has changed in an inbox. It is the data of an event named change.
type InboxChange struct {
	RunID     string         `json:"run_id"`
	Questions []OpenQuestion `json:"questions" nullable:"false" doc:"Those of the run that the inbox has now."`
	Gone      []int          `json:"gone" nullable:"false" doc:"The numbers of those that it does not have any more."`
}

// watchRoute registers the stream of an inbox's changes.
func (d *Server) watchRoute(a *api) {
	op := a.operation(http.MethodGet, "watch-inbox", "/inbox/events", "Learn what changes in an inbox")
	op.Description = "Server-sent events for the inbox that the same parameters list. At reload, the first event of " +
		"each connection and one of a reader that lags far behind, list the inbox. Each change has a run, as JSON " +
		"(InboxChange): put its questions in the place of those that are shown of the run. The events have no " +
		"numbers: who connects again lists again."
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
				showInbox(change.Questions, c.actor, c.client.Now()), append([]int{}, change.Gone...)})
		}
		if err != nil {
			return err
		}
	}
}
