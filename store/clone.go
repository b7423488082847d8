package store

import (
	"bytes"
	"maps"
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

// Clone returns a copy that shares nothing with the record.
func (r Run) Clone() Run {
	r.Labels = maps.Clone(r.Labels)
	r.Output = bytes.Clone(r.Output)
	r.Warnings = slices.Clone(r.Warnings)
	r.Session = r.Session.Clone()
	r.Open = cloneEach(r.Open, cloneQuestion)
	if r.Together != nil {
		t := *r.Together
		r.Together = &t
	}
	r.Answers = cloneEach(r.Answers, cloneAnswer)
	r.Remembered = cloneEach(r.Remembered, cloneMemory)
	if r.ForkedFrom != nil {
		f := *r.ForkedFrom
		r.ForkedFrom = &f
	}
	if r.Family != nil {
		f := *r.Family
		f.Ancestors = slices.Clone(f.Ancestors)
		r.Family = &f
	}
	if r.Budget != nil {
		b := *r.Budget
		r.Budget = &b
	}
	if r.Journal != nil {
		j := *r.Journal
		r.Journal = &j
	}
	if r.Block != nil {
		b := *r.Block
		b.Choices, b.Children = slices.Clone(b.Choices), slices.Clone(b.Children)
		r.Block = &b
	}
	if r.Error != nil {
		e := *r.Error
		r.Error = &e
	}
	return r
}

// cloneEach allocates the exact size, because slices.Clone rounds it up for each commit and read.
func cloneEach[T any](of []T, clone func(*T)) []T {
	if of == nil {
		return nil
	}
	out := make([]T, len(of))
	copy(out, of)
	for i := range out {
		clone(&out[i])
	}
	return out
}

// CloneRecord returns a copy that shares nothing with the history entry.
func CloneRecord(r interaction.Record) interaction.Record {
	cloneQuestion(&r.Question)
	r.Session = r.Session.Clone()
	r.Value = bytes.Clone(r.Value)
	return r
}

// CloneJournal returns a copy that shares nothing with the entries.
func CloneJournal(entries []interaction.JournalEntry) []interaction.JournalEntry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Body = bytes.Clone(entries[i].Body)
	}
	return entries
}

func cloneMemory(m *interaction.Memory) {
	m.Equal, m.Most, m.To = slices.Clone(m.Equal), slices.Clone(m.Most), m.To.Clone()
}

// cloneAnswer replaces the answer's shared parts with copies.
func cloneAnswer(a *interaction.Answer) {
	if a.Auto != nil {
		auto := *a.Auto
		a.Auto = &auto
	}
	a.Value, a.Arguments = bytes.Clone(a.Value), bytes.Clone(a.Arguments)
	a.Votes = slices.Clone(a.Votes)
	if a.Selection != nil {
		selection := *a.Selection
		a.Selection = &selection
	}
}

// cloneQuestion replaces the question's shared parts with copies.
func cloneQuestion(q *interaction.Question) {
	q.Options = slices.Clone(q.Options)
	q.RequiredFields = slices.Clone(q.RequiredFields)
	if q.UIHints != nil {
		q.UIHints = cloneValue(q.UIHints).(map[string]any) //nolint:forcetypeassert // a map's clone is a map
	}
	q.Schema = bytes.Clone(q.Schema)
	q.To = q.To.Clone()
	q.Files = q.Files.Clone()
	q.Wait = q.Wait.Clone()
	q.Notes = q.Notes.Clone()
	q.Votes = slices.Clone(q.Votes)
	if q.Claim != nil {
		claim := *q.Claim
		q.Claim = &claim
	}
	if q.Subject != nil {
		s := *q.Subject
		s.Arguments, s.Changes = bytes.Clone(s.Arguments), slices.Clone(s.Changes)
		q.Subject = &s
	}
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = cloneValue(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = cloneValue(e)
		}
		return c
	}
	return v
}
