package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// protocol parses the requests and builds the responses of one API. id identifies the answer.
type protocol interface {
	read(body value, path string) Conversation
	whole(c Conversation, id string, text words, call *Call) any
	stream(out *events, c Conversation, id string) answerStream
	// failed returns the body of an error.
	failed(f Failure) any
}

// answerStream sends an answer: open, writeText any number of times, writeCall at most once, close.
type answerStream interface {
	open()
	writeText(text words)
	writeCall(c Call)
	close()
}

var errLeft = errors.New("modeltest: the client has left")

// deliver sends the answer. After an error it is incomplete, and the connection must be cut.
func deliver(ctx context.Context, w http.ResponseWriter, d protocol, c Conversation, id string, a Answer) error {
	switch {
	case a.Failure != nil:
		for _, p := range a.Pieces {
			if err := p.wait(ctx); err != nil {
				return err
			}
		}
		reply(w, a.Failure.Status, d.failed(*a.Failure))
		return nil
	case c.Stream:
		out := startEvents(w)
		return sendStream(ctx, out, d.stream(out, c, id), a)
	default:
		return sendDocument(ctx, w, d, c, id, a)
	}
}

// wait pauses, and calls the piece's Before.
func (p Piece) wait(ctx context.Context) error {
	if p.Pause > 0 {
		pause := time.NewTimer(p.Pause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return errLeft
		}
	}
	if p.Before != nil {
		return p.Before(ctx)
	}
	return nil
}

func sendStream(ctx context.Context, out *events, to answerStream, a Answer) error {
	to.open()
	for _, p := range a.Pieces {
		if err := p.wait(ctx); err != nil {
			return err
		}
		if p.Text != "" {
			to.writeText(words(p.Text))
		}
		if p.Raw != "" {
			out.raw(p.Raw)
		}
		if out.err != nil {
			return errors.Join(errLeft, out.err)
		}
	}
	if complete, err := a.End.reached(ctx); !complete {
		return err
	}
	if a.Call != nil {
		to.writeCall(*a.Call)
	}
	to.close()
	return out.err
}

// sendDocument sends the answer as one JSON document, or its raw pieces if it has any.
func sendDocument(ctx context.Context, w http.ResponseWriter, d protocol, c Conversation, id string, a Answer) error {
	var text, raw strings.Builder
	for _, p := range a.Pieces {
		if err := p.wait(ctx); err != nil {
			return err
		}
		text.WriteString(p.Text)
		raw.WriteString(p.Raw)
	}
	body, err := json.Marshal(d.whole(c, id, words(text.String()), a.Call))
	if err != nil {
		return err
	}
	if raw.Len() > 0 {
		body = []byte(raw.String())
	}
	complete, err := a.End.reached(ctx)
	if err != nil {
		return err
	}
	if !complete {
		body = body[:len(body)/2]
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(body)
	return err
}

// reached ends the answer according to End. If complete is false, the rest must not be sent; after
// an error the connection must be cut.
func (e End) reached(ctx context.Context) (complete bool, err error) {
	switch e {
	case Hang:
		<-ctx.Done()
		return false, errLeft
	case Drop:
		return false, errors.New("modeltest: the answer drops the connection")
	case Cut:
		return false, nil
	case Complete:
	}
	return true, nil
}

type object = map[string]any

// words is a text that is written into JSON unchanged, even if it is not valid UTF-8.
type words string

func (t words) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('"')
	for s := string(t); s != ""; {
		n := 0
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		quoted, err := json.Marshal(s[:n])
		if err != nil {
			return nil, err
		}
		b.Write(quoted[1 : len(quoted)-1])
		if s = s[n:]; s != "" {
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	b.WriteByte('"')
	return b.Bytes(), nil
}

// events writes server-sent events. After the first error, kept in err, it writes nothing.
type events struct {
	w   http.ResponseWriter
	err error
}

// startEvents sends the header, so that the client knows that its request arrived.
func startEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	e := &events{w: w}
	e.flush()
	return e
}

// send writes an event; the name may be empty.
func (e *events) send(name string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(body)
	b.WriteString("\n\n")
	e.raw(b.String())
}

func (e *events) raw(s string) {
	if e.err == nil {
		_, e.err = io.WriteString(e.w, s)
	}
	e.flush()
}

func (e *events) flush() {
	if e.err == nil {
		e.err = http.NewResponseController(e.w).Flush()
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error says that the client has left
}

// The token counts that every answer and every count reports.
const (
	inputTokens  = 11
	outputTokens = 7
)

func arguments(call Call) string {
	body, err := json.Marshal(call.Args)
	if err != nil || call.Args == nil {
		return "{}"
	}
	return string(body)
}
