package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/interlude-go/interlude/lifecycle"
)

// eventStream writes server-sent events in its connection's goroutine, so a slow reader delays no
// other. A reader that does not take an event in time is disconnected; it reconnects and continues
// from its cursor.
type eventStream struct {
	*response
	cut bool // the reader left, or was too slow
}

// streamBody lets huma write a stream.
type streamBody struct{ Body func(huma.Context) }

func streamResponse() *huma.Response {
	return &huma.Response{Description: "The events", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
}

// openStream opens a stream. It calls send repeatedly, each time with a context that ends at the
// next heartbeat; each call continues where the previous one stopped. Send returns true at the end
// of the stream.
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
		s := &eventStream{response: w.(*response)} //nolint:forcetypeassert // set by ServeHTTP
		s.serve(ctx, d, c, send)
	}}, nil
}

// serve calls send until the stream or the context ends, or checkReader refuses the reader.
func (s *eventStream) serve(ctx context.Context, d *Server, c *caller,
	send func(context.Context, *eventStream) (bool, error),
) {
	h := s.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // stops nginx from buffering events
	s.input.CloseUnread(h)
	s.streaming = true
	if s.request.Method == http.MethodHead {
		s.WriteHeader(http.StatusOK)
		return
	}
	text := "retry: 2000\n\n" // reconnect delay in milliseconds
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
		if err != nil { // for example: the run was pruned, or the actor may no longer view it
			_ = s.sendEvent("", "problem", d.problem(c, err))
			return
		}
		text = ": still here\n\n"
	}
}

// checkReader identifies the stream's reader again. It returns an error if the reader has signed
// out, another person has signed in, or the reader's groups have changed.
func (d *Server) checkReader(c *caller) error {
	actor, fault := d.identify(c.request)
	if fault != nil {
		return fault
	}
	if !samePerson(actor, c.actor) {
		return newProblem(http.StatusUnauthorized, "UNAUTHENTICATED", "Another person is signed in now, or your "+
			"groups have changed. Reload the page.")
	}
	return nil
}

// samePerson ignores the order of groups.
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

// send writes a text, and ends the stream if the reader does not take it in time.
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
