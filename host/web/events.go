package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/interlude-go/interlude/lifecycle"
)

type followInput struct {
	RunPath
	//nolint:tagliatelle // the header's name
	LastEventID string `header:"Last-Event-ID" doc:"The last event that was read, as EventSource says it."`
	After       uint64 `query:"after" doc:"The same, for the first connection; from the first event without it."`
}

// cursor is the number of the event after which the stream begins.
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
func (d *door) followRoute(a *api) {
	op := a.operation(http.MethodGet, "follow-run", "/runs/{id}/events", "Follow a run")
	op.Description = "Server-sent events, from the first after the cursor until the run has ended, whenever that " +
		"is. The id of each is its number, the data an event of the run as JSON. When the run has ended at the " +
		"cursor, the status is 204, at which an EventSource stops."
	op.Responses["200"] = &huma.Response{Description: "The events", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	op.Responses["204"] = &huma.Response{Description: "The run has ended, and no event follows."}
	type stream struct{ Body func(huma.Context) }
	huma.Register(a.huma, op, func(ctx context.Context, in *followInput) (*stream, error) {
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
			return &stream{func(h huma.Context) { h.SetStatus(http.StatusNoContent) }}, nil
		}
		if d.followers.Add(1) > int64(d.opts.MaxFollowers) {
			d.followers.Add(-1)
			return nil, newProblem(http.StatusServiceUnavailable, "TOO_MANY_FOLLOWERS", "Too many streams are open.")
		}
		return &stream{func(h huma.Context) {
			defer d.followers.Add(-1)
			_, w := humago.Unwrap(h)
			s := &eventStream{response: w.(*response)} //nolint:forcetypeassert // ServeHTTP's
			s.follow(ctx, d, c, in.ID, after)
		}}, nil
	})
}

// beforeStream reads the run, so that what is wrong is said by a status. A stream that has begun cannot.
func (d *door) beforeStream(ctx context.Context, c *caller, id string, after uint64) (lifecycle.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.Timeout)
	defer cancel()
	run, err := c.client.Get(ctx, id)
	if err == nil && run.State.Terminal() && after > run.Seq {
		err = fmt.Errorf("%w: its number is %d", lifecycle.ErrCursorBeyondEnd, run.Seq)
	}
	return run, err
}

// eventStream writes server-sent events. Its goroutine is the connection's own: one that takes its events
// slowly holds up nobody else, and is cut when one of them takes too long. It then goes on from its cursor.
type eventStream struct{ *response }

// follow sends the run's events after the cursor until the run has ended or the connection has.
func (s *eventStream) follow(ctx context.Context, d *door, c *caller, id string, after uint64) {
	h := s.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect events
	s.streaming = true
	if s.request.Method == http.MethodHead {
		s.WriteHeader(http.StatusOK)
		return
	}
	text := "retry: 2000\n\n" // milliseconds until a client that was cut off comes back
	for s.send(text) == nil {
		ended, err := s.untilHeartbeat(ctx, d, c, id, &after)
		switch {
		case ended || ctx.Err() != nil:
			return
		case err != nil: // the run was pruned, say, or the actor may not view it any more
			body, _ := json.Marshal(d.problem(c, err))
			_ = s.send("event: problem\ndata: " + string(body) + "\n\n")
			return
		}
		text = ": still here\n\n"
	}
}

// untilHeartbeat sends events for one heartbeat's time, and moves the cursor. It reports whether there is
// nothing more to send.
func (s *eventStream) untilHeartbeat(ctx context.Context, d *door, c *caller, id string, after *uint64) (bool, error) {
	beat, cancel := context.WithTimeout(ctx, d.opts.Heartbeat)
	defer cancel()
	for event, err := range c.client.Events(beat, id, *after) {
		if err != nil && beat.Err() != nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		body, err := json.Marshal(event)
		if err != nil {
			return false, err
		}
		if s.send(fmt.Sprintf("id: %d\ndata: %s\n\n", event.Seq, body)) != nil {
			return true, nil
		}
		*after = event.Seq
	}
	return true, nil
}

// send writes a text, which a reader must take within the time for it.
func (s *eventStream) send(text string) error {
	c := http.NewResponseController(s.w)
	if err := c.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	if _, err := s.Write([]byte(text)); err != nil {
		return err
	}
	return c.Flush()
}
