package metamorphic_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/store"
)

// ask makes a call that only reads.
func (w *world) ask(o operation) {
	switch o.do {
	case "get":
		w.readRun(id(o.run))
	case "events":
		for after := range uint64(9) {
			page, err := w.second.Events(w.ctx, id(o.run), after, 2)
			w.say(after, len(page), w.fault(err))
		}
	case "runs":
		w.list(o)
	case "inbox":
		w.inbox(o)
	case "stats":
		stats, err := w.client.Stats(w.ctx)
		w.say(fmt.Sprintf("%+v", stats), w.fault(err))
		due, next, err := w.second.Due(w.ctx, time.Now().UTC(), 3)
		w.say(next, w.fault(err))
		for i := range due {
			w.say(due[i].Deadline) // runs with the same deadline may come in any order
		}
		pools, err := w.second.Pools(w.ctx)
		w.say(pools, w.fault(err))
	case "nodes":
		nodes, err := w.second.Nodes(w.ctx)
		w.say(len(nodes), w.fault(err))
		orphans, err := w.second.Orphans(w.ctx, 0, 9)
		w.say(len(orphans), w.fault(err))
		for _, r := range orphans {
			w.say(r.Slot) // a store may order the runs with a slot, and those without, as it likes
		}
	case "prune":
		n, err := w.client.Prune(w.ctx, time.Now().Add(-o.wait))
		w.say(n, w.fault(err))
	default:
		panic("nobody knows how to " + o.do)
	}
}

func (w *world) list(o operation) {
	q := o.query
	if o.page {
		q.After = w.next[o.do]
	}
	page, err := w.client.Runs(w.ctx, q)
	w.next[o.do] = page.Next
	w.say(page.Next, w.fault(err))
	for i := range page.Runs {
		w.say(w.record(&page.Runs[i]))
	}
}

// inbox reads a page of open questions, and counts them.
func (w *world) inbox(o operation) {
	q := o.inbox
	if o.page {
		q.After = w.next[o.do]
	}
	if o.wait > 0 {
		q.DueBefore = time.Now().Add(o.wait).UTC()
	}
	page, err := w.client.Inbox(w.ctx, q)
	w.next[o.do] = page.Next
	w.say(page.Next, w.fault(err))
	for _, open := range page.Questions {
		w.say(open.RunID, open.Question, open.Due, open.Labels, open.Pool, open.Key)
	}
	n, err := w.client.CountInbox(w.ctx, q)
	w.say(n, w.fault(err))
}

// readRun reads everything about a run.
func (w *world) readRun(id string) {
	r, err := w.client.Get(w.ctx, id)
	w.say(w.record(&r), w.fault(err))
	pending, err := w.client.Pending(w.ctx, id)
	w.say(inJSON(pending), w.fault(err))
	history, err := w.client.History(w.ctx, id)
	w.say(len(history), w.fault(err)) // an empty history may be nil or not
	for _, settled := range history {
		w.say(inJSON(settled))
	}
	spec, err := w.second.Spec(w.ctx, id)
	w.say(string(spec), w.fault(err))
	for _, key := range []string{"k1", "k2"} {
		settled, err := w.second.Settled(w.ctx, id, key)
		w.say(inJSON(settled), w.fault(err))
	}
	w.events(id)
}

// events reads the log of a run and records its bytes.
func (w *world) events(id string) {
	for after := uint64(0); ; {
		page, err := w.second.Events(w.ctx, id, after, store.MaxBatch)
		if err != nil || len(page) == 0 {
			w.say(after, w.fault(err))
			return
		}
		for _, e := range page {
			w.say(e.Seq, string(e.Body))
			after = e.Seq
		}
	}
}

func inJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
