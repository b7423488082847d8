package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// overwrite writes into everything that a batch refers to, and over the batch.
func overwrite(batch []store.Commit) {
	hash := func(b []byte) {
		for i := range b {
			b[i] = '#'
		}
	}
	for i := range batch {
		c := &batch[i]
		hash(c.Spec)
		hash(c.Run.Output)
		for j := range c.Events {
			hash(c.Events[j].Body)
			c.Events[j] = store.Event{Seq: 99, Body: []byte("#")}
		}
		clear(c.Run.Labels)
		for j := range c.Run.Warnings {
			c.Run.Warnings[j] = "#"
		}
		if s := c.Run.Session; s != nil {
			hash(s.Data)
			*s = interaction.SessionHandle{}
		}
		for _, q := range []*interaction.Question{c.Run.FirstOpen(), settledQuestion(c)} {
			if q != nil {
				clear(q.Options)
				clear(q.UIHints)
				clear(q.RequiredFields)
				*q = interaction.Question{}
			}
		}
		if len(c.Run.Answers) > 0 {
			c.Run.Answers[0] = interaction.Answer{}
		}
		if c.Settled != nil {
			c.Settled[0] = interaction.Record{}
		}
		if c.Fence != nil {
			*c.Fence = store.Fence{}
		}
		*c = store.Commit{}
	}
}

func settledQuestion(c *store.Commit) *interaction.Question {
	if c.Settled == nil {
		return nil
	}
	return &c.Settled[0].Question
}

// hints has what watchers got.
type hints struct {
	sync.Mutex
	last map[string]store.Hint // by run
}

func watched(t *testing.T, s *sqlite.Store) *hints {
	t.Helper()
	h := &hints{last: map[string]store.Hint{}}
	t.Cleanup(s.Watch(func(hint store.Hint) {
		h.Lock()
		defer h.Unlock()
		h.last[hint.RunID] = hint
	}))
	return h
}

// of waits for the hint of a run's event: hints come after the commit has returned.
func (h *hints) of(t *testing.T, run string, seq uint64) (hint store.Hint) {
	t.Helper()
	require.Eventually(t, func() bool {
		h.Lock()
		defer h.Unlock()
		hint = h.last[run]
		return hint.Seq == seq
	}, time.Minute, 100*time.Microsecond)
	return hint
}

// rich is a run with a question that is to be answered, both with everything that a record can
// refer to.
func rich(t *testing.T, s *sqlite.Store, id string) store.Run {
	t.Helper()
	created := newRun(id, 10)
	created.Run.Labels = map[string]string{"team": "blue"}
	put(t, s, created)
	var parked store.Commit
	for _, c := range start(t, s, 1) {
		require.Equal(t, id, c.Run.ID)
		parked = ask(c.Run)
	}
	parked.Run.Session = &interaction.SessionHandle{Engine: "e", Data: []byte("handle")}
	parked.Run.Warnings = []fsm.Warning{"W"}
	parked.Run.Open[0].Options = []interaction.Option{{Label: "Yes", Value: "yes"}}
	parked.Run.Open[0].RequiredFields = []string{"field"}
	parked.Run.Open[0].UIHints = map[string]any{"hint": "h"}
	put(t, s, parked)
	return parked.Run
}

// story is one call of Commit: the events of a run's answer, of another's creation, and of a
// report.
func story(t *testing.T, s *sqlite.Store) func() []store.Commit {
	t.Helper()
	asked := rich(t, s, "asked")
	put(t, s, newRun("told", 10))
	return func() []store.Commit {
		answered := answer(asked.Clone(), "key")
		answered.Settled[0].Question = asked.Clone().Open[0]
		created := newRun("new", 10)
		created.Spec = []byte(`{"prompt":"a spec of its own"}`)
		created.Run.Labels = map[string]string{"team": "red"}
		told := withEvents(newRun("told", 10).Run, 20, 5000, 30)
		told.Run.Output = json.RawMessage(`{"a":1}`)
		return []store.Commit{answered, created, told}
	}
}

// requireStored sees to it that a batch is stored and hinted as it was made.
func requireStored(t *testing.T, s *sqlite.Store, h *hints, made []store.Commit) {
	t.Helper()
	ctx := t.Context()
	for _, c := range made {
		r, history, err := store.ReadHistory(ctx, s, c.Run.ID)
		require.NoError(t, err)
		require.Equal(t, c.Run, r)
		events, err := s.Events(ctx, c.Run.ID, c.Events[0].Seq-1, 100)
		require.NoError(t, err)
		require.Equal(t, c.Events, events)
		hint := h.of(t, c.Run.ID, c.Run.Seq)
		require.Equal(t, c.Events, hint.Events)
		require.Equal(t, &c.Run, hint.Run)
		if c.Spec != nil {
			spec, err := s.Spec(ctx, c.Run.ID)
			require.NoError(t, err)
			require.Equal(t, c.Spec, spec)
		}
		if c.Settled != nil {
			require.Equal(t, c.Settled, history)
			record, err := s.Settled(ctx, c.Run.ID, c.Settled[0].Key)
			require.NoError(t, err)
			require.Equal(t, c.Settled[0], record)
		}
	}
	for _, c := range made { // the writer's memory is whole too: the next commits follow up on it
		put(t, s, report(c.Run))
		hint := h.of(t, c.Run.ID, c.Run.Seq+1)
		next := report(c.Run)
		require.Equal(t, &next.Run, hint.Run)
	}
	claimed := start(t, s, 9)
	require.Equal(t, "new", claimed[1].Run.ID)
	require.Equal(t, made[1].Spec, claimed[1].Spec)
	require.Equal(t, made[1].Run.Labels, claimed[1].Run.Labels)
}

// When Commit has returned, the caller may change its batch: that changes nothing that is
// stored, cached, or passed to watchers.
func TestCommitKeepsNothingOfCallersBatch(t *testing.T) {
	s, _ := openMade(t, quick)
	join(t, s, "n")
	put(t, s, end(newRun("kept", 10).Run))
	h := watched(t, s)
	made := story(t, s)
	batch := made()
	put(t, s, batch...)
	overwrite(batch)
	requireStored(t, s, h, made())
}

// The caller may also change its batch when Commit returned because its context ended, before or
// during the write. Before it nothing is stored; during it everything is stored as it was when
// Commit was called.
func TestCanceledCommitKeepsNothingOfCallersBatch(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprintf("begun=%t", begun), func(t *testing.T) {
			s, _ := openMade(t, quick)
			join(t, s, "n")
			put(t, s, end(newRun("kept", 10).Run))
			h := watched(t, s)
			made := story(t, s)
			put(t, s, newRun("slow", 10))
			amid, goOn := make(chan struct{}), make(chan struct{})
			slow := claim("n") // keeps the writer in the middle of a transaction
			slow.Max = 1
			slow.Start = func(r store.Run, spec []byte) (store.Commit, error) {
				close(amid)
				<-goOn
				return store.Commit{}, errStart
			}
			claimed := make(chan error, 1)
			free := s.Hold()
			claimsAs := func(n int) {
				go func() {
					_, err := s.Claim(t.Context(), slow)
					claimed <- err
				}()
				waiting(t, s, n)
			}
			ctx, giveUp := context.WithCancel(t.Context())
			batch := made()
			if !begun {
				claimsAs(1)
			}
			call := enqueue(ctx, t, s, map[bool]int{true: 1, false: 2}[begun], batch...)
			if begun {
				claimsAs(2)
			}
			free()
			<-amid
			giveUp()
			for _, err := range <-call {
				require.ErrorIs(t, err, context.Canceled)
				if begun {
					require.ErrorContains(t, err, "outcome unknown")
				}
			}
			overwrite(batch)
			close(goOn)
			require.ErrorIs(t, <-claimed, errStart)
			if !begun {
				_, err := s.Run(t.Context(), "new")
				require.ErrorIs(t, err, store.ErrNotFound)
				put(t, s, made()...)
			}
			requireStored(t, s, h, made())
		})
	}
}

// The caller may change what Start returned, and what Claim returned: that changes nothing that is
// stored, cached, or passed to watchers.
func TestClaimSharesNothingWithCaller(t *testing.T) {
	s, _ := openMade(t, quick)
	join(t, s, "n")
	put(t, s, end(newRun("kept", 10).Run))
	h := watched(t, s)
	c := newRun("r", 10)
	c.Run.Labels = map[string]string{"team": "blue"}
	put(t, s, c)
	req := claim("n")
	plainly := req.Start
	var made []store.Commit
	var want store.Commit
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		want, _ = plainly(r.Clone(), spec)
		c, err := plainly(r, spec)
		made = append(made, c)
		c.Events[0].Body = []byte(`"started"`)
		return c, err
	}
	claimed, err := s.Claim(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, want.Run, claimed[0].Run)
	require.Equal(t, c.Run.Labels, claimed[0].Run.Labels)
	require.Equal(t, c.Spec, claimed[0].Spec)
	clear(claimed[0].Run.Labels)
	clear(claimed[0].Spec)
	overwrite(made)
	stored, err := s.Run(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, want.Run, stored)
	hint := h.of(t, "r", 2)
	require.Equal(t, &want.Run, hint.Run)
	require.Equal(t, want.Events, hint.Events)

	parked := ask(want.Run) // the writer's memory is whole: the next claim returns it again
	put(t, s, parked, answer(parked.Run, "k"))
	again := start(t, s, 1)
	require.Equal(t, c.Run.Labels, again[0].Run.Labels)
	require.Equal(t, c.Spec, again[0].Spec)
}
