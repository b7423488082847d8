package metamorphic_test

import (
	"context"
	"slices"
	"testing"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// odd is a store that gives other answers than the memory store to some calls.
type odd struct {
	*memory.Store

	runs   func(store.Page) store.Page
	events func([]store.Event) []store.Event
	commit func(c *store.Commit)
}

func (o odd) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := o.Store.Runs(ctx, q)
	if o.runs != nil && err == nil {
		page = o.runs(page)
	}
	return page, err
}

func (o odd) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	events, err := o.Store.Events(ctx, id, after, limit)
	if o.events != nil {
		events = o.events(events)
	}
	return events, err
}

func (o odd) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		if o.commit != nil {
			o.commit(&batch[i])
		}
	}
	return o.Store.Commit(ctx, batch)
}

// The comparison can fail: it detects each store that gives another answer.
func TestADifferentStoreIsFound(t *testing.T) {
	for name, strange := range map[string]odd{
		"a page ends early": {runs: func(p store.Page) store.Page {
			p.Runs = p.Runs[:min(len(p.Runs), 3)]
			return p
		}},
		"a cursor at the end": {runs: func(p store.Page) store.Page {
			if p.Next == "" && len(p.Runs) > 0 {
				p.Next = store.Cursor{At: p.Runs[0].CreatedAt, ID: p.Runs[0].ID}.String()
			}
			return p
		}},
		"an event in other bytes": {events: func(all []store.Event) []store.Event {
			for i := range all {
				all[i].Body = append(all[i].Body, ' ')
			}
			return all
		}},
		"a field that is not kept":   {commit: func(c *store.Commit) { c.Run.RecoveryReason = "" }},
		"a warning that is not kept": {commit: func(c *store.Commit) { c.Run.Warnings = nil }},
		"a text that is not kept":    {commit: func(c *store.Commit) { c.Run.FinalText = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			other := place{name, func(*testing.T) (node, second store.Store, shut func()) {
				o := strange
				o.Store = memory.New()
				return o, o, func() {}
			}}
			for i := range 300 {
				log := logs.Example(i)
				if wrong := difference(log, play(t, inMemory, log), play(t, other, log)); wrong != "" {
					t.Logf("after %d logs: %.300s", i+1, wrong)
					return
				}
			}
			t.Error("nobody sees it")
		})
	}
}
