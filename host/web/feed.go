package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlude-go/interlude/lifecycle"
)

// NextEvents requests the next events of a feed.
type NextEvents struct {
	Ack     string            `json:"ack,omitempty" doc:"The ack of the last response, once its events are processed."`
	WaitSec int               `json:"wait_sec,omitempty" minimum:"1" maximum:"60" default:"20"`
	Limit   int               `json:"limit,omitempty" minimum:"1" maximum:"500" default:"100"`
	Types   []string          `json:"types,omitempty" nullable:"false" doc:"The types of events; all if missing."`
	Pool    string            `json:"pool,omitempty" doc:"Only runs in this pool."`
	Key     string            `json:"key,omitempty" doc:"Only runs with this key."`
	Labels  map[string]string `json:"labels,omitempty" doc:"Only runs that have all of these labels."`
}

// FeedEvents are the next events of a feed, in order. They are delivered again until acknowledged.
type FeedEvents struct {
	Events []lifecycle.Event `json:"events" nullable:"false" doc:"Empty if none came within wait_sec: request again."`
	Ack    string            `json:"ack,omitempty" doc:"Send it with the next request to acknowledge these events and all before them."`
}

// feedBytes is the size in bytes at which a batch is sent.
const feedBytes = 4 << 20

type nextInput struct {
	Name string `path:"name" doc:"The feed's name; a new name creates a feed that starts with the next event."`
	Body NextEvents
}

// nextRoute registers the route that reads a feed. The method is POST because the call holds the
// feed's lease while it lasts, may create the feed, and advances its cursor.
func (d *Server) nextRoute(a *api) {
	op := a.operation(http.MethodPost, "next-events", "/feeds/{name}/next", "Acknowledge, and wait for the next events")
	op.Description = "The events of all runs, from a cursor that the store keeps under the feed's name: no event " +
		"is skipped, and each is delivered until it is acknowledged. Give each program its own feed name: two " +
		"readers of one name wait for each other, and both may get the same events."
	huma.Register(a.huma, op, func(ctx context.Context, in *nextInput) (*body[FeedEvents], error) {
		c := callerOf(ctx)
		left, fault := d.countFollower(c)
		if fault != nil {
			return nil, fault
		}
		defer left()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(d.life, cancel)()
		out, err := nextEvents(ctx, c, in)
		if err != nil {
			return nil, d.problem(c, err)
		}
		return &body[FeedEvents]{*out}, nil
	})
}

// nextEvents acknowledges the event that the request names, if any, and returns the events after
// it. The feed's lease ends with this call, so the next request may reach any node.
//
// The feed is read from its stored cursor. The named event is found on the way and acknowledged
// there, with all before it. If it is not found, the cursor is already past it: an earlier request
// has acknowledged it.
func nextEvents(ctx context.Context, c *caller, in *nextInput) (*FeedEvents, error) {
	b := &in.Body
	filter := lifecycle.FeedFilter{Types: b.Types, Pool: b.Pool, Key: b.Key, Labels: b.Labels}
	wait, cancel := context.WithTimeout(ctx, time.Duration(b.WaitSec)*time.Second)
	defer cancel()
	out := &FeedEvents{Events: []lifecycle.Event{}}
	size, full := 0, false
	for event, err := range c.client.Feed(wait, in.Name, filter) {
		switch {
		case err != nil && wait.Err() != nil:
			return out, nil
		case err != nil:
			return nil, err
		case event.ID() == b.Ack:
			if err := event.Ack(ctx); err != nil {
				return nil, err
			}
			*out, size, full = FeedEvents{Events: out.Events[:0]}, 0, false // acknowledges earlier events, too
		case !full:
			text, err := json.Marshal(event.Event)
			if err != nil {
				return nil, err
			}
			out.Events, out.Ack = append(out.Events, event.Event), event.ID()
			size += len(text)
			full = len(out.Events) == b.Limit || size >= feedBytes
		}
		if len(out.Events) > 0 && !event.More {
			return out, nil
		}
	}
	return out, nil
}
