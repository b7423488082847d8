package storetest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// restorable is a store in memory that can be restored, and has one fault.
type restorable struct {
	*memory.Store

	fault string
	data  *incarnations
	own   uint64 // the incarnation that this handle has read
}

type incarnations struct{ raises, current uint64 }

func (s *restorable) mark(c store.Commit) store.Commit {
	n := s.data.current
	if s.fault == "the number is cached" {
		if s.own == 0 {
			s.own = n + 1
		}
		n = s.own - 1
	}
	if c.Marker == nil && s.fault == "all are marked" {
		c.Marker = marker{}
	}
	if c.Marker == nil || n == 0 || s.fault == "no event is marked" ||
		s.fault == "new runs are not marked" && c.Expect == 0 {
		return c
	}
	c.Events = slices.Clone(c.Events)
	for i, e := range c.Events {
		if s.fault != "one event is marked" || i == 0 {
			c.Events[i].Body = c.Marker.Mark(e.Body, n)
		}
	}
	return c
}

func (s *restorable) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		if s.fault != "one entry is marked" || i == 0 {
			batch[i] = s.mark(batch[i])
		}
	}
	return s.Store.Commit(ctx, batch)
}

func (s *restorable) Claim(ctx context.Context, q store.ClaimRequest) ([]store.Claimed, error) {
	start := q.Start
	q.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		c, err := start(r, spec)
		if s.fault == "claims are not marked" {
			return c, err
		}
		return s.mark(c), err
	}
	return s.Store.Claim(ctx, q)
}

func (s *restorable) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	events, err := s.Store.Events(ctx, id, after, limit)
	if s.fault == "stored events are marked" && s.data.current > 0 {
		events = slices.Clone(events)
		for i, e := range events {
			events[i].Body = marker{}.Mark(e.Body, s.data.current)
		}
	}
	return events, err
}

func (s *restorable) Watch(fn func(store.Hint)) (stop func()) {
	return s.Store.Watch(func(h store.Hint) {
		if s.fault == "hints are not marked" {
			h.Events = slices.Clone(h.Events)
			for i, e := range h.Events {
				h.Events[i].Body = marker{}.Mark(e.Body, 0)
			}
		}
		fn(h)
	})
}

func (s *restorable) raise() {
	s.data.raises++
	switch s.fault {
	case "the number is not raised again":
		s.data.current = 7
	case "the number falls":
		s.data.current = 9 - s.data.raises
	default:
		s.data.current++
	}
}

// fails reports whether the store of this harness fails a case.
func fails(t *testing.T, h Harness, c promised) bool {
	t.Helper()
	r := &stopped{refuted{TB: t}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.story(newWorld(r, h)) //nolint:testifylint // a failure ends this goroutine only
	}()
	<-done
	return r.failed
}

// stopped ends its test's goroutine at the first failure.
type stopped struct{ refuted }

func (s *stopped) FailNow() {
	s.failed = true
	runtime.Goexit()
}

// TestF8TheSuiteRefutesStoresThatDoNotMark: each fault fails a case, and a store without one passes
// all of them.
func TestF8TheSuiteRefutesStoresThatDoNotMark(t *testing.T) {
	for _, fault := range []string{"", "no event is marked", "new runs are not marked", "one event is marked",
		"all are marked", "one entry is marked", "claims are not marked", "stored events are marked",
		"hints are not marked", "the number is cached", "the number is not raised again", "the number falls"} {
		h := Harness{
			Open: func(testing.TB) store.Store {
				return &restorable{Store: memory.New(), fault: fault, data: new(incarnations)}
			},
			Raise: func(_ testing.TB, s store.Store) { s.(*restorable).raise() },
		}
		var failed []string
		for _, c := range restoredCases {
			if fails(t, h, c) {
				failed = append(failed, strings.TrimPrefix(c.name, "restored/"))
			}
		}
		t.Logf("%q: %q", fault, failed)
		require.Equal(t, fault != "", len(failed) > 0, "%s: %q", fault, failed)
	}
}
