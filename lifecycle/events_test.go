package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// logged are the events from first to last as a store has them.
func logged(first, last uint64) []store.Event {
	var all []store.Event
	for seq := first; seq <= last; seq++ {
		all = append(all, store.Event{Seq: seq, Body: fmt.Appendf(nil, "event %d", seq)})
	}
	return all
}

// brings is the hint of a commit with the events from first to last.
func brings(first, last uint64) store.Hint {
	return store.Hint{RunID: "r", State: fsm.StateRunning, Seq: last, Events: logged(first, last)}
}

// says is a hint of a commit without its events.
func says(last uint64) store.Hint { return store.Hint{RunID: "r", State: fsm.StateRunning, Seq: last} }

// TestDrainEventsFollowsTheCursor: F8, whatever events the hints have, drainEvents returns the ones
// after the cursor.
func TestDrainEventsFollowsTheCursor(t *testing.T) {
	large := brings(1, 1)
	large.Events[0].Body = []byte(strings.Repeat("x", maxPushedBytes))
	half := func(seq uint64) store.Hint {
		hint := brings(seq, seq)
		hint.Events[0].Body = []byte(strings.Repeat("x", maxPushedBytes/2))
		return hint
	}
	var many []store.Hint
	for seq := uint64(1); seq <= maxPushed+10; seq++ {
		many = append(many, brings(seq, seq))
	}
	for _, c := range []struct {
		name  string
		after uint64
		hints []store.Hint
		upTo  uint64 // the last event that is taken
		all   bool
	}{
		{"no hint", 3, nil, 3, true},
		{"the next", 3, []store.Hint{brings(4, 4)}, 4, true},
		{"the next ones", 3, []store.Hint{brings(4, 5), brings(6, 6), brings(7, 9)}, 9, true},
		{"from the first on", 0, []store.Hint{brings(1, 2)}, 2, true},
		{"what was read already", 9, []store.Hint{brings(4, 5), brings(6, 9)}, 9, true},
		{"what was read in part", 5, []store.Hint{brings(4, 7)}, 7, true},
		{"one doubled", 3, []store.Hint{brings(4, 5), brings(4, 5), brings(6, 6)}, 6, true},
		{"one lost", 3, []store.Hint{brings(5, 6)}, 3, false},
		{"one lost in the middle", 3, []store.Hint{brings(4, 4), brings(6, 6)}, 4, false},
		// unknowable; the reader polls later
		{"the last one lost", 3, []store.Hint{brings(4, 4)}, 4, true},
		{"out of order", 3, []store.Hint{brings(5, 5), brings(4, 4)}, 4, false},
		{"out of order and doubled", 3, []store.Hint{brings(5, 5), brings(4, 4), brings(5, 5)}, 5, true},
		{"events left out", 3, []store.Hint{says(4)}, 3, false},
		{"events left out of what was read", 3, []store.Hint{says(3)}, 3, true},
		{"events left out in the middle", 3, []store.Hint{brings(4, 4), says(5), brings(6, 6)}, 4, false},
		{"events left out of one that is doubled", 3, []store.Hint{says(5), brings(4, 5)}, 5, true},
		{"a hint of nothing", 3, []store.Hint{{}}, 3, false},
		{"a hint of nothing among others", 3, []store.Hint{brings(4, 4), {}, brings(5, 5)}, 5, false},
		{"a hint of nothing that carries what it should not", 3, []store.Hint{{Seq: 4, Events: logged(4, 4)}}, 3,
			false},
		{"of another run", 3, []store.Hint{{RunID: "s", Seq: 4, Events: logged(4, 4)}}, 3, true},
		{"more than is kept", 0, many, maxPushed, false},
		{"larger than is kept", 0, []store.Hint{large, brings(2, 2)}, 1, false},
		{"larger than is kept, together", 0, []store.Hint{half(1), half(2), half(3), half(4)}, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(nil)
			f := h.followEvents("r")
			defer f.close()
			for _, hint := range c.hints {
				h.publish(hint)
			}
			events, all := f.drainEvents(c.after)
			require.Equal(t, c.all, all)
			require.Len(t, events, int(c.upTo-c.after))
			require.True(t, follows(events, c.after), "in order, without a gap and once")
			again, _ := f.drainEvents(c.upTo)
			require.Empty(t, again, "what was taken is not given again")
		})
	}
}

func TestDrainEventsOfAnyHintsHasNoGapAndNoDouble(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const last = 600
		log := logged(1, last)
		size := rapid.SampledFrom([]int{10, maxPushedBytes / 20}).Draw(t, "bytes of an event")
		body := []byte(strings.Repeat("x", size))
		for i := range log {
			log[i].Body = body
		}
		h := newHub(nil)
		f := h.followEvents("r")
		defer f.close()
		known, anything, most := uint64(0), false, 0
		cursor := uint64(rapid.IntRange(0, last).Draw(t, "cursor"))
		next := cursor
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"next", "next", "next", "any", "left out", "nothing", "take"}).Draw(t,
				"step") {
			case "next", "any", "left out":
				first := min(next, last-1) + 1
				if rapid.IntRange(0, 3).Draw(t, "in order") == 0 {
					first = uint64(rapid.IntRange(1, last).Draw(t, "first"))
				}
				next = min(last, first+uint64(rapid.IntRange(0, 80).Draw(t, "more")))
				hint := store.Hint{RunID: "r", Seq: next, Events: log[first-1 : next]}
				if rapid.IntRange(0, 5).Draw(t, "stripped") == 0 {
					hint.Events = nil
				}
				most = max(most, len(hint.Events))
				known = max(known, next)
				h.publish(hint)
			case "nothing":
				anything = true
				h.publish(store.Hint{})
			case "take":
				events, all := f.drainEvents(cursor)
				if !follows(events, cursor) {
					t.Fatalf("events after %d do not follow it: %v", cursor, events)
				}
				cursor += uint64(len(events))
				if all && (anything || cursor < known) {
					t.Fatalf("said that %d is the last; known is %d, anything %t", cursor, known, anything)
				}
				if !all && !anything && cursor >= known {
					t.Fatalf("sent to the store without need at %d", cursor)
				}
				anything = false
				if len(events) < most { // the reader reads the store, and returns at a later position
					cursor = max(cursor, min(known, uint64(rapid.IntRange(0, last).Draw(t, "looked"))))
				}
			}
			if len(f.events) >= maxPushed+most || f.bytes >= maxPushedBytes+most*size {
				t.Fatalf("%d events of %d bytes are kept", len(f.events), f.bytes)
			}
		}
		for i, e := range log {
			if e.Seq != uint64(i+1) {
				t.Fatal("what hints share was changed")
			}
		}
	})
}

// TestFollowersShareTheEventsOfHints: several followers of one run drain their events at their own
// pace while hints of several commits come at once.
func TestFollowersShareTheEventsOfHints(t *testing.T) {
	const last = 2000
	log := logged(1, last)
	h := newHub(nil)
	var tellers, followers sync.WaitGroup
	for range 4 {
		f := h.followEvents("r")
		followers.Go(func() {
			defer f.close()
			for cursor := uint64(0); cursor < last; {
				<-f.hints
				events, all := f.drainEvents(cursor)
				if !follows(events, cursor) {
					t.Errorf("events after %d do not follow it", cursor)
					return
				}
				cursor += uint64(len(events))
				if !all { // the store's answer
					cursor = max(cursor, f.newest())
				}
			}
		})
	}
	for part := range uint64(2) { // every commit is announced twice, by senders at different positions
		tellers.Go(func() {
			for i := range uint64(last) {
				seq := (i+part*50)%last + 1
				h.publish(store.Hint{RunID: "r", Seq: seq, Events: log[seq-1 : seq]})
			}
		})
	}
	tellers.Wait()
	followers.Wait()
	require.Empty(t, h.followers, "those who left are forgotten")
	require.True(t, follows(log, 0), "what hints share is not changed")
}

// newest is the last event announced by a hint.
func (f *follower) newest() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq
}

func TestFollowEndIsWokenByTheEndOnly(t *testing.T) {
	ended := Run{ID: "r", State: fsm.StateSucceeded, Warnings: []fsm.Warning{fsm.WarnTurnRepeated}}
	final := store.Hint{RunID: "r", State: ended.State, Run: &ended}
	bare := store.Hint{RunID: "r", State: ended.State}
	for _, c := range []struct {
		name              string
		hints             []store.Hint
		woken, withRecord bool
	}{
		{"progress", []store.Hint{brings(1, 2), {RunID: "r", State: fsm.StateWaitingUser, Seq: 3, Run: &Run{ID: "r"}}},
			false, false},
		{"the end, with the record", []store.Hint{final}, true, true},
		{"the end, without it", []store.Hint{bare}, true, false},
		{"doubled, one without it", []store.Hint{final, bare}, true, true},
		{"doubled, out of order", []store.Hint{bare, final, brings(1, 2)}, true, true},
		{"the end of another run", []store.Hint{{RunID: "s", State: ended.State, Run: &ended}}, false, false},
		{"anything", []store.Hint{{}}, true, false},
		{"anything, with what it should not carry", []store.Hint{{State: ended.State, Run: &ended}}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(nil)
			f := h.followEnd("r")
			defer f.close()
			for _, hint := range c.hints {
				h.publish(hint)
			}
			require.Equal(t, c.woken, len(f.hints) == 1)
			run, known := f.endedRun()
			require.Equal(t, c.withRecord, known)
			if known {
				require.Equal(t, ended, run)
				run.Warnings[0] = "" // it is the caller's
				again, _ := f.endedRun()
				require.Equal(t, ended, again)
			}
		})
	}
}

// TestFollowerCloseRemovesIt, and no other follower.
func TestFollowerCloseRemovesIt(t *testing.T) {
	h := newHub(nil)
	all := []*follower{h.followEvents("r"), h.followEvents("r"), h.followEnd("r")}
	all[1].close()
	h.publish(store.Hint{RunID: "r", State: fsm.StateSucceeded, Seq: 1})
	for i, woken := range []bool{true, false, true} {
		require.Equal(t, woken, len(all[i].hints) == 1)
	}
	all[0].close()
	all[2].close()
	require.Empty(t, h.followers)
}

// TestHintWithoutRunIDWakesAllFollowers: followers of a run, and of all hints.
func TestHintWithoutRunIDWakesAllFollowers(t *testing.T) {
	h := newHub(nil)
	seen := 0
	defer h.subscribe(func(store.Hint) { seen++ }).close()
	var all []*follower
	for i := range 20 {
		all = append(all, h.followEvents(fmt.Sprint("r", i)), h.followEnd(fmt.Sprint("r", i)))
	}
	const times = 30 // they are in no order
	for range times {
		h.publish(store.Hint{})
		for _, f := range all {
			require.Len(t, f.hints, 1)
			<-f.hints
		}
	}
	require.Equal(t, times, seen)
}

// TestEventsReplaysALongLogWithoutWaiting: F8 F9, page by page, and not one page in a poll; whether
// pages end because there are many events or large ones.
func TestEventsReplaysALongLogWithoutWaiting(t *testing.T) {
	for _, c := range []struct {
		events int
		size   int // of a message, in bytes
		looks  int64
	}{
		{1, 10, 1}, {255, 10, 1}, {256, 10, 2}, {257, 10, 2}, {1000, 10, 4}, {20, decide.MaxMessage, 5},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes", c.events, c.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				below := newStore(t)
				s := &counted{Store: below}
				client := clientOf(t, hintless{s})
				run, err := client.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
				require.NoError(t, err)
				text := strings.Repeat("x", c.size)
				for int(run.Seq) < c.events {
					cm, err := decide.Report(&run, client.proc.Now(), nil, &fcmp.MessageIntermediate{Text: text})
					require.NoError(t, err)
					require.NoError(t, client.proc.Commit(t.Context(), cm))
					run = cm.Run
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				start, seen := time.Now(), 0
				var failure error
				for event, err := range client.Events(ctx, "r", 0) {
					if failure = err; err == nil {
						seen++
						require.EqualValues(t, seen, event.Seq)
						require.Equal(t, start, time.Now())
					}
				}
				require.ErrorIs(t, failure, context.DeadlineExceeded)
				require.Equal(t, c.events, seen)
				require.LessOrEqual(t, s.looks.Load(), c.looks+1, "and one for the run")
			})
		})
	}
}

// garbled is a store of which an event has become unreadable.
type garbled struct{ store.Store }

func (g garbled) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	page, err := g.Store.Events(ctx, id, after, limit)
	if len(page) > 1 {
		page[1].Body = []byte("{")
	}
	return page, err
}

// TestEventsNamesAnEventThatCannotBeDecoded, and yields the events before it.
func TestEventsNamesAnEventThatCannotBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientOf(t, garbled{newStore(t)})
		submitted(t, c, "r", 3)
		var seqs []uint64
		var failure error
		for event, err := range c.Events(t.Context(), "r", 0) {
			if failure = err; err == nil {
				seqs = append(seqs, event.Seq)
			}
		}
		require.Equal(t, []uint64{1}, seqs)
		require.ErrorContains(t, failure, "lifecycle: event 2 of run r: ")
		for _, err := range c.Events(t.Context(), "unknown", 0) {
			require.ErrorIs(t, err, ErrNotFound)
			require.ErrorContains(t, err, "lifecycle: events of run unknown: ")
		}
	})
}
