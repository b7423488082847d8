package lifecycle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// journaled is a store with the journal and the children of one run. It lists the children in pages
// of one. If err is set, the journal cannot be read; if pageErr is set, neither can the second
// page.
type journaled struct {
	store.Store
	entries      []engine.JournalEntry
	children     []Run
	err, pageErr error
	queries      []store.Query
}

func (s *journaled) Journal(context.Context, string) ([]engine.JournalEntry, error) {
	return s.entries, s.err
}

func (s *journaled) Runs(_ context.Context, q store.Query) (store.Page, error) {
	s.queries = append(s.queries, q)
	at := slices.IndexFunc(s.children, func(r Run) bool { return r.ID > q.After })
	if at > 0 && s.pageErr != nil {
		return store.Page{}, s.pageErr
	}
	page := store.Page{Runs: s.children[at : at+1]}
	if at+1 < len(s.children) {
		page.Next = s.children[at].ID
	}
	return page, nil
}

// J6 M1 M3: a fork has the entries that its source had at the point. It is refused if a child of
// the source was alive then, and nothing is guessed if the store fails.
func TestJ6WhatAForkInheritsOfAJournal(t *testing.T) {
	point := noon.Add(time.Hour)
	child := func(id string, created, ended time.Time) Run {
		r := Run{ID: id, CreatedAt: created, State: fsm.StateSucceeded, FinishedAt: ended}
		if ended.IsZero() {
			r.State = fsm.StateRunning
		}
		return r
	}
	before, after, never := point.Add(-time.Minute), point.Add(time.Minute), time.Time{}
	ended := []Run{child("a", noon, before), child("b", noon, point), child("c", after, never)}
	fails := errors.New("the disk fails")
	for name, tc := range map[string]struct {
		own      int
		children []Run
		change   func(s *journaled)
		want     error
		text     string
		queries  int
	}{
		"nothing to inherit":                    {children: ended, change: func(s *journaled) { s.err = fails }},
		"no children":                           {own: 2},
		"children that had ended or came later": {own: 2, children: ended, queries: 3},
		"a child that ended right after it": {own: 2, children: append(ended[:2:2], child("c", noon, point.Add(1))),
			want: ErrCannotFork, text: "run r: it had started run c, which had not ended", queries: 3},
		"a child that lives": {own: 1, children: []Run{child("a", noon, never), child("b", noon, before)},
			want: ErrCannotFork, text: "it had started run a", queries: 1},
		"a child made at that very time": {own: 1, children: []Run{child("a", point, never)},
			want: ErrCannotFork, text: "it had started run a", queries: 1},
		"entries that are missing": {own: 3, want: store.ErrCorrupt, text: "its journal has 2 entries of 3"},
		"a journal that cannot be read": {own: 1, children: ended, change: func(s *journaled) { s.err = fails },
			want: fails, text: "fork run r"},
		"children that cannot be read": {own: 1, children: ended, change: func(s *journaled) { s.pageErr = fails },
			want: fails, text: "fork run r", queries: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &journaled{Store: newStore(t), entries: []engine.JournalEntry{entry("1"), entry("2")},
				children: tc.children}
			if tc.change != nil {
				tc.change(s)
			}
			source := forkSource{ForkSource: decide.ForkSource{
				Run: Run{ID: "r", Family: &store.Family{Children: len(tc.children)}}}}
			if tc.children == nil {
				source.Run.Family = nil
			}
			from := &decide.Origin{OwnEntries: tc.own, Point: point, Journal: []engine.JournalEntry{entry("0")}}
			c := clientOf(t, s)
			err := c.inheritJournal(t.Context(), &source, from)
			require.Len(t, s.queries, tc.queries)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
				require.ErrorContains(t, err, tc.text)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []engine.JournalEntry{entry("0"), entry("1"), entry("2")}[:1+tc.own], from.Journal)
			for _, q := range s.queries {
				require.Equal(t, []any{"r", store.MaxBatch}, []any{q.Parent, q.Limit})
			}
		})
	}
	source := forkSource{ForkSource: decide.ForkSource{Run: Run{ID: "r", Family: &store.Family{}}}}
	c := clientOf(t, &journaled{Store: newStore(t), pageErr: fails})
	require.NoError(t, c.checkChildrenEnded(t.Context(), &source, point), "a child that has none of its own")
}
