package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/interlude-go/interlude/lifecycle"
)

// eventStream writes server-sent events, in the goroutine of their connection. A slow reader
// therefore delays nobody else. If one event takes too long, the connection is cut; the reader
// connects again and goes on from its cursor.
type eventStream struct {
	*response
	cut bool // the reader is gone, or too slow
}

// streamBody is what huma calls to write a response.
type streamBody struct{ Body func(huma.Context) }

func streamResponse() *huma.Response {
	return &huma.Response{Description: "The events", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
}

// openStream begins a stream. It calls send again and again, each time with a context that ends
// with the next heartbeat: send sends events until then, and goes on with the next call where it
// stopped. Send returns true if no more events will ever follow.
func (d *Server) openStream(c *caller, send func(beat context.Context, s *eventStream) (bool, error)) (*streamBody,
	error,
) {
	left, fault := d.countFollower(c)
	if fault != nil {
		return nil, fault
	}
	return &streamBody{func(h huma.Context) {
		defer left()
		ctx, cancel := context.WithCancel(h.Context())
		defer cancel()
		defer context.AfterFunc(d.life, cancel)()
		_, w := humago.Unwrap(h)
		s := &eventStream{response: w.(*response)} //nolint:forcetypeassert // ServeHTTP's
		s.serve(ctx, d, c, send)
	}}, nil
}

// followers counts the streams.
type followers struct {
	mu  sync.Mutex
	all int            // guarded by mu
	of  map[string]int // guarded by mu; by the ID of their reader
}

// countFollower counts one more stream of the caller, or returns why it is refused. The caller calls
// left at the end of the stream.
func (d *Server) countFollower(c *caller) (left func(), _ *Problem) {
	if d.life.Err() != nil {
		return nil, newProblem(http.StatusServiceUnavailable, "SHUTTING_DOWN",
			"This server shuts down. Connect again.")
	}
	f, id := &d.followers, c.actor.ID
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.of[id] >= d.opts.MaxFollowersEach:
		return nil, newProblem(http.StatusTooManyRequests, "TOO_MANY_FOLLOWERS", "You have too many streams open.")
	case f.all >= d.opts.MaxFollowers:
		return nil, newProblem(http.StatusServiceUnavailable, "TOO_MANY_FOLLOWERS", "Too many streams are open.")
	}
	f.all++
	f.of[id]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.all--
		if f.of[id]--; f.of[id] == 0 {
			delete(f.of, id)
		}
	}, nil
}

// serve calls send until nothing more follows, the context ends, or the reader may not go on
// (checkReader).
func (s *eventStream) serve(ctx context.Context, d *Server, c *caller,
	send func(context.Context, *eventStream) (bool, error),
) {
	h := s.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect events
	s.input.CloseUnread(h)
	s.streaming = true
	if s.request.Method == http.MethodHead {
		s.WriteHeader(http.StatusOK)
		return
	}
	text := "retry: 2000\n\n" // milliseconds until a client that was cut off comes back
	for s.send(text) == nil {
		beat, cancel := context.WithTimeout(ctx, d.opts.Heartbeat)
		ended, err := send(beat, s)
		over := beat.Err() != nil
		cancel()
		switch {
		case ended || s.cut || ctx.Err() != nil:
			return
		case over:
			err = d.checkReader(c)
		}
		if err != nil { // the run was pruned, say, or the actor may not view it any more
			_ = s.sendEvent("", "problem", d.problem(c, err))
			return
		}
		text = ": still here\n\n"
	}
}

// checkReader identifies the reader of a stream again. It returns an error if the stream must end,
// because the reader has signed out, somebody else has signed in, or the reader's groups have
// changed.
func (d *Server) checkReader(c *caller) error {
	actor, fault := d.identify(c.request)
	if fault != nil {
		return fault
	}
	if !samePerson(actor, c.actor) {
		return newProblem(http.StatusUnauthorized, "UNAUTHENTICATED", "Somebody else is signed in, or in other groups.")
	}
	return nil
}

// samePerson reports whether both are the same, with their groups in any order.
func samePerson(a, b lifecycle.Actor) bool {
	return a.ID == b.ID && a.Via == b.Via &&
		slices.Equal(slices.Sorted(slices.Values(a.Groups)), slices.Sorted(slices.Values(b.Groups)))
}

// sendEvent sends an event with its data as JSON. The number and the name may be empty.
func (s *eventStream) sendEvent(id, name string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, field := range [][2]string{{"id", id}, {"event", name}, {"data", string(body)}} {
		if field[1] != "" {
			text.WriteString(field[0] + ": " + field[1] + "\n")
		}
	}
	text.WriteByte('\n')
	return s.send(text.String())
}

// send writes a text, and cuts the stream if the reader does not take it in time.
func (s *eventStream) send(text string) error {
	c := http.NewResponseController(s.w)
	err := c.SetWriteDeadline(time.Now().Add(s.timeout))
	if err == nil {
		_, err = s.Write([]byte(text))
	}
	if err == nil {
		err = c.Flush()
	}
	s.cut = s.cut || err != nil
	return err
}
