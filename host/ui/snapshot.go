package ui

import (
	"context"
	"slices"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

// Limits of a snapshot: the newest runs of a thread, their newest events, and the bytes of all
// messages, which the client sends again with each request.
const (
	maxSnapshotRuns   = 20
	maxSnapshotEvents = 2000
	maxSnapshot       = 1 << 20
)

// snapshot returns the agent's messages and calls in all runs of a thread, for a client that has no
// messages, and marks the current run's messages as known to the client. It lacks the person's messages,
// which are not stored as such, so it must not replace the messages of a client that has some.
func (q *request) snapshot(ctx context.Context, thread string, current *front.View, f *follower, out *aguiWriter) (
	messages []object, _ error,
) {
	key, value := Label(q.Actor().ID, thread)
	page, err := q.server.config.Client.Runs(ctx, lifecycle.Query{Labels: map[string]string{key: value}, Newest: true,
		Limit: maxSnapshotRuns})
	if err != nil {
		return nil, err
	}
	left := maxSnapshot
	for i := range page.Runs {
		t := transcript{run: page.Runs[i].ID, has: out.has, shown: f.shown}
		r := &current.Run
		if t.run != r.ID {
			v, err := q.Load(ctx, t.run)
			if err != nil {
				continue // pruned, or this person may not see it
			}
			r, t.shown = &v.Run, make(map[int]bool)
		}
		if err := q.transcribe(ctx, r, &t); err != nil {
			return nil, err
		}
		for _, m := range slices.Backward(t.messages) {
			left -= len(encode(m))
			if left >= 0 {
				messages = append(messages, m)
			}
		}
		if left < 0 {
			break
		}
	}
	slices.Reverse(messages)
	if len(messages) > 0 && messages[0]["role"] == "tool" { // its call was cut off
		messages = messages[1:]
	}
	return messages, nil
}

// transcribe reads the run's events up to its record.
func (q *request) transcribe(ctx context.Context, r *lifecycle.Run, t *transcript) error {
	f := follower{request: q, out: t, run: r.ID, shown: t.shown}
	first := r.Seq - min(r.Seq, maxSnapshotEvents)
	if first == r.Seq {
		return nil
	}
	for e, err := range q.Client().Events(ctx, r.ID, first) {
		if err != nil {
			return err
		}
		if err := f.event(ctx, &e); err != nil {
			return err
		}
		if e.Seq >= r.Seq {
			break
		}
	}
	return nil
}

// transcript encodes a run as messages of AG-UI.
type transcript struct {
	run      string
	messages []object
	has      map[string]bool
	shown    map[int]bool
}

func (t *transcript) add(m object) {
	t.messages = append(t.messages, m)
	id, _ := m["id"].(string)
	t.has[id] = true
}

func (t *transcript) text(e *lifecycle.Event, text string) {
	if text != "" {
		t.add(object{"id": textID(t.run, e), "role": "assistant", "content": text})
	}
}

func (t *transcript) settled(r *lifecycle.Record) {
	if r.Question.Subject == nil {
		return
	}
	id := callID(t.run, &r.Question)
	t.add(object{"id": id, "role": "assistant", "toolCalls": []object{{"id": id, "type": "function",
		"function": object{"name": r.Question.Subject.Tool, "arguments": argumentsOf(r.Question.Subject)}}}})
	t.add(object{"id": id + ".result", "role": "tool", "toolCallId": id, "content": resultOf(r)})
}

func (t *transcript) open(*front.View)        {}
func (t *transcript) state(*front.View)       {}
func (t *transcript) voted(*lifecycle.Record) {}
func (t *transcript) other(*lifecycle.Event)  {}
func (t *transcript) finish(*front.View)      {}
func (t *transcript) fault(front.Fault)       {}
