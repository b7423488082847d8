package ui

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

// current returns the newest run of the chat as the caller may see it. Without any it fails with
// ErrNotFound, as for a run that the caller may not see.
func (q *request) current(ctx context.Context, chat string) (front.View, error) {
	key, value := Label(q.Actor().ID, chat)
	page, err := q.server.config.Client.Runs(ctx, lifecycle.Query{Labels: map[string]string{key: value}, Newest: true,
		Limit: 1})
	if err != nil {
		return front.View{}, err
	}
	if len(page.Runs) == 0 {
		return front.View{}, lifecycle.ErrNotFound
	}
	return q.Load(ctx, page.Runs[0].ID)
}

// message is a person's message, decoded.
type message struct{ chat, id, text string }

// textLabel is the label of a run with a digest of the message that has started it.
const textLabel = "ui.text"

var errEdited = front.Fault{Code: "SPEC_CONFLICT",
	Text: "This message was already sent with another text. Send a new message."}

// say applies a message: it starts a run, or answers the one open question of the chat's run. A
// message that is sent again does nothing again. It returns the run, and the cursor of the
// events that follow the message.
func (q *request) say(ctx context.Context, m message, raw json.RawMessage) (run string, cursor uint64, _ error) {
	id := front.RunID(q.Actor().ID, protocol, m.chat+"\x00"+m.id)
	switch run, err := q.Client().Get(ctx, id); {
	case err == nil && run.Labels[textLabel] != front.RunID("", "text", m.text):
		return "", 0, errEdited
	case err == nil:
		return id, 0, nil
	case !errors.Is(err, lifecycle.ErrNotFound):
		return "", 0, err
	}
	v, err := q.current(ctx, m.chat)
	if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
		return "", 0, err
	}
	if err == nil && v.Run.Interactions > 0 || err == nil && !v.Ended() {
		// After the end this succeeds only if the message was an answer.
		receipt, err := q.Send(ctx, v.Run.ID, front.Answer{Exchange: "message " + m.id, Text: m.text})
		if err == nil && receipt.Replayed {
			cursor, err = q.before(ctx, &v.Run, map[int]bool{receipt.ID: true})
			return v.Run.ID, cursor, err
		}
		if err == nil || !v.Ended() {
			return v.Run.ID, v.Run.Seq, err
		}
	}
	spec, err := q.start(ctx, Message{Chat: m.chat, Text: m.text, Previous: v.Run.ID, Raw: raw})
	if err != nil {
		return "", 0, err
	}
	spec.ID = id
	if spec.Submitter == "" {
		spec.Submitter = q.Actor().ID
	}
	spec.Labels = maps.Clone(spec.Labels)
	if spec.Labels == nil {
		spec.Labels = make(map[string]string)
	}
	key, value := Label(q.Actor().ID, m.chat)
	spec.Labels[key], spec.Labels[textLabel] = value, front.RunID("", "text", m.text)
	_, err = q.Client().Submit(ctx, spec)
	return id, 0, err
}

// before returns the cursor before the event that settles the first of these questions, which are
// settled or have votes.
func (q *request) before(ctx context.Context, run *lifecycle.Run, questions map[int]bool) (uint64, error) {
	record, err := q.Client().Question(ctx, run.ID, slices.Min(slices.Collect(maps.Keys(questions))))
	if err != nil {
		return 0, err
	}
	// Events are ordered by time, so the question's events can be found without reading all
	// events.
	first, last := uint64(0), run.Seq
	for last-first > fewEvents {
		middle := first + (last-first)/2
		event, err := q.eventAfter(ctx, run.ID, middle)
		switch {
		case err != nil:
			return 0, err
		case event.TS.Before(record.Question.AskedAt):
			first = event.Seq
		default:
			last = middle
		}
	}
	for e, err := range q.Client().Events(ctx, run.ID, first) {
		if err != nil {
			return 0, err
		}
		if n, err := settles(&e); err != nil || questions[n] {
			return e.Seq - 1, err
		}
	}
	return 0, nil // unreachable
}

// fewEvents is the number of events that before reads one after the other.
const fewEvents = 64

func (q *request) eventAfter(ctx context.Context, run string, cursor uint64) (lifecycle.Event, error) {
	for e, err := range q.Client().Events(ctx, run, cursor) {
		return e, err
	}
	return lifecycle.Event{}, lifecycle.ErrNotFound // the run was pruned
}
