package web

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/lifecycle"
)

type followInput struct {
	RunPath
	//nolint:tagliatelle // the header's name
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event read, as EventSource sends it."`
	After       string `query:"after" pattern:"^[0-9]{1,18}(@[0-9]{1,16})?$" doc:"The place for the first connection: seq@incarnation of the last event read (incarnation 0 if it has none), or only a number, which does not say whether a restore removed the event. Without it the stream starts at the first event."`
}

// cursor returns the place after which the stream begins, and whether it is an event's cursor, with
// its incarnation.
func (in *followInput) cursor() (after lifecycle.Cursor, exact bool, _ error) {
	text := in.After
	if in.LastEventID != "" {
		text = in.LastEventID
	}
	if text == "" {
		return after, false, nil
	}
	after, err := fcmp.ParseCursor(text)
	if err != nil {
		return after, false, newProblem(http.StatusBadRequest, "INVALID_ARGUMENT", "The Last-Event-ID must be the id "+
			"of an event.")
	}
	return after, after.Seq > 0 && (in.LastEventID != "" || strings.Contains(text, "@")), nil
}

func (d *Server) followRoute(a *api) {
	op := a.operation(http.MethodGet, "follow-run", "/runs/{id}/events", "Follow a run")
	op.Description = "Server-sent events, from the first after the cursor until the run ends, even " +
		"if that takes days. The id of each is its cursor, the data an event of the run as JSON (Event). If the " +
		"run has ended and the cursor is at its last event, the status is 204, which stops an EventSource."
	op.Responses["200"] = streamResponse()
	a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[lifecycle.Event](), true, "Event")
	op.Responses["204"] = &huma.Response{Description: "The run has ended, and no event follows."}
	huma.Register(a.huma, op, func(ctx context.Context, in *followInput) (*streamBody, error) {
		c := callerOf(ctx)
		after, exact, err := in.cursor()
		if err != nil {
			return nil, err
		}
		run, err := d.beforeStream(ctx, c, in.ID, after, exact)
		if err != nil {
			return nil, d.problem(c, err)
		}
		if run.State.Terminal() && after.Seq == run.Seq {
			return &streamBody{func(h huma.Context) { h.SetStatus(http.StatusNoContent) }}, nil
		}
		return d.openStream(c, func(beat context.Context, s *eventStream) (bool, error) {
			return s.follow(beat, c, in.ID, &after, &exact)
		})
	})
}

// beforeStream reads the run while an error can still set the status.
func (d *Server) beforeStream(ctx context.Context, c *caller, id string, after lifecycle.Cursor, exact bool,
) (lifecycle.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.Timeout)
	defer cancel()
	run, err := c.client.Get(ctx, id)
	switch {
	case err != nil:
	case after.Seq > run.Seq:
		err = fmt.Errorf("%w: its last event has the number %d", lifecycle.ErrCursorBeyondEnd, run.Seq)
	case exact:
		err = c.client.CheckCursor(ctx, id, after)
	}
	return run, err
}

// follow sends the run's events after the cursor and advances the cursor, until the context or the
// run ends.
func (s *eventStream) follow(ctx context.Context, c *caller, id string, after *lifecycle.Cursor, exact *bool,
) (ended bool, _ error) {
	events := c.client.Events(ctx, id, after.Seq)
	if *exact {
		events = c.client.EventsAfter(ctx, id, *after)
	}
	for event, err := range events {
		if err != nil {
			return false, err
		}
		if err := s.sendEvent(event.Cursor().String(), "", event); err != nil {
			return true, err
		}
		*after, *exact = event.Cursor(), true
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
			return false, d.watch(beat, s, c, watch)
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
func (d *Server) watch(ctx context.Context, s *eventStream, c *caller, watch *lifecycle.InboxWatch) error {
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
			shown := showInbox(change.Questions, c.client.WithPrincipals(ctx, c.actor), c.client.Now())
			d.addNames(ctx, peopleOf(shown))
			err = s.sendEvent("", "change", InboxChange{change.RunID, shown, append([]int{}, change.Gone...)})
		}
		if err != nil {
			return err
		}
	}
}
