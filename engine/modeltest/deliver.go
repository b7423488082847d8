package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// dialect is how a protocol is read and spoken. id names the answer.
type dialect interface {
	// read makes the conversation of a request.
	read(body value, path string) Conversation
	// whole is an answer that is not streamed.
	whole(c Conversation, id string, text words, call *Call) any
	// stream speaks an answer piece by piece.
	stream(out *events, c Conversation, id string) speaker
	// failed is an error's body.
	failed(f Failure) any
}

// speaker speaks an answer: open, any number of say, at most one call, and close.
type speaker interface {
	open()
	say(text words)
	call(c Call)
	close()
}

// errLeft says that nobody hears the answer any more.
var errLeft = errors.New("modeltest: the client has left")

// deliver gives the answer. An error says that it did not come to its end, and the connection is to
// be cut.
func deliver(ctx context.Context, w http.ResponseWriter, d dialect, c Conversation, id string, a Answer) error {
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
		out := begin(w)
		return streamed(ctx, out, d.stream(out, c, id), a)
	default:
		return written(ctx, w, d, c, id, a)
	}
}

// wait does what comes before the piece.
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

// streamed gives the answer piece by piece.
func streamed(ctx context.Context, out *events, to speaker, a Answer) error {
	to.open()
	for _, p := range a.Pieces {
		if err := p.wait(ctx); err != nil {
			return err
		}
		if p.Text != "" {
			to.say(words(p.Text))
		}
		if p.Raw != "" {
			out.raw(p.Raw)
		}
		if out.err != nil {
			return errors.Join(errLeft, out.err)
		}
	}
	if goes, err := a.End.reached(ctx); !goes {
		return err
	}
	if a.Call != nil {
		to.call(*a.Call)
	}
	to.close()
	return out.err
}

// written gives the answer as one JSON document; raw pieces are instead of it.
func written(ctx context.Context, w http.ResponseWriter, d dialect, c Conversation, id string, a Answer) error {
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
	goes, err := a.End.reached(ctx)
	if err != nil {
		return err
	}
	if !goes {
		body = body[:len(body)/2]
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(body)
	return err
}

// reached does what an answer's end does before its last words. goes is false when those are not
// said; with an error the connection is to be cut.
func (e End) reached(ctx context.Context) (goes bool, err error) {
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
