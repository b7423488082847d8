package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Held returns a running run to the queue and holds it there until the given time. If the time is
// zero, the run is held until an operator decides.
func Held(prev store.Run, now, until time.Time) store.Commit {
	c := queuedAgain(prev, now)
	c.Run.Yielded++
	c.Run.Holds++
	c.Run.Block = aHold(until)
	return c
}

// blocked holds a parked run.
func blocked(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) { r.Block = aHold(time.Time{}) })
}

// unblocked ends a hold.
func unblocked(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) { r.Block = nil })
}

func aHold(until time.Time) *store.Block {
	return &store.Block{
		Kind: store.BlockHeld, Until: until, Code: fsm.CodeEngineUnavailable, Reason: "no such program <é>",
		Choices: []store.Choice{store.ChoiceRepeat, store.ChoiceEnd},
	}
}

// heldIDs lists held runs with the query, and returns their ids.
func (w *world) heldIDs(q store.Query) []string {
	w.Helper()
	q.Held = true
	page, err := w.store.Runs(w.ctx, q)
	require.NoError(w, err)
	return ids(page.Runs)
}

var holdCases = []promised{
	{
		"hold/is not claimed before a commit ends it",
		"No claim picks a held run, however long it has been held and whatever time it is held until; once a commit " +
			"has ended the hold, the next claim picks it (J5).",
		func(w *world) {
			good := w.commit(Held(w.running("good"), w.tick(), time.Time{}))
			hour := w.now.Add(time.Hour)
			w.commit(Held(w.running("timed"), w.tick(), hour))
			w.now = w.now.AddDate(500, 0, 0)
			require.Empty(w, w.claimed("n", 9))
			w.commit(unblocked(good, w.tick()))
			require.Equal(w, []string{"good"}, w.claimed("n", 9))
			w.commit(unblocked(w.load("timed"), w.tick()))
			require.Equal(w, []string{"timed"}, w.claimed("n", 9))
		},
	},
	{
		"hold/falls due",
		"Due returns queued runs that are held until a time, from that time on, after the deadlines and within the " +
			"limit; the next time is not theirs (J5).",
		func(w *world) {
			at := base.Add(time.Hour)
			w.commit(Held(w.running("second"), w.tick(), at.Add(time.Minute)))
			w.commit(Held(w.running("first"), w.tick(), at))
			w.commit(Held(w.running("never"), w.tick(), time.Time{}))
			w.commit(blocked(w.waiting("parked"), w.tick()))
			due, next := w.due(at.Add(-time.Microsecond), 9)
			require.Empty(w, due)
			require.True(w, next.IsZero())
			due, _ = w.due(at, 9)
			require.Equal(w, []string{"first"}, due)
			w.until("deadline", at.Add(time.Second))
			due, next = w.due(at.Add(time.Hour), 9)
			require.Equal(w, []string{"deadline", "first", "second"}, due)
			require.True(w, next.IsZero())
			due, _ = w.due(at.Add(time.Hour), 2)
			require.Equal(w, []string{"deadline", "first"}, due)
			w.submit("later", notBefore(at.Add(2*time.Hour)))
			_, next = w.due(at.Add(time.Hour), 9)
			require.Equal(w, at.Add(2*time.Hour), next)
			w.commit(unblocked(w.load("first"), w.tick()))
			due, _ = w.due(at, 9)
			require.Empty(w, due)
		},
	},
	{
		"hold/of a parked run goes on when it is answered",
		"A parked run that is held stays in the inbox, and its deadline falls due; answered, it is in the queue and " +
			"held (J5).",
		func(w *world) {
			at := base.Add(time.Hour)
			r := w.commit(blocked(w.until("a", at), w.tick()))
			page, err := w.waits(store.Query{Held: true})
			require.NoError(w, err)
			require.Equal(w, []string{"a"}, ids(page.Runs))
			due, _ := w.due(at, 9)
			require.Equal(w, []string{"a"}, due)
			c := Answered(r, w.tick(), "k")
			c.Run.Block = aHold(at)
			r = w.commit(c)
			require.Equal(w, []string{"a"}, w.heldIDs(store.Query{}))
			require.Empty(w, w.claimed("n", 9))
			w.commit(unblocked(r, w.tick()))
			require.Empty(w, w.heldIDs(store.Query{}))
			require.Equal(w, []string{"a"}, w.claimed("n", 9))
		},
	},
	{
		"hold/is listed",
		"Held runs are listed by creation, page by page, with all other filters, and no other run is (J5).",
		func(w *world) {
			var want []string
			for i := range 7 {
				id := fmt.Sprintf("r%d", i)
				w.submit(id, withKey(fmt.Sprint("k", i%2)), withLabels(map[string]string{"i": fmt.Sprint(i % 3)}))
				r := w.start("n")
				if i == 5 {
					w.commit(queuedAgain(r, w.tick()))
					w.start("n")
					continue
				}
				want = append(want, id)
				if i == 2 {
					w.commit(blocked(w.commit(Asked(r, w.tick(), false, time.Time{})), w.tick()))
					continue
				}
				w.commit(Held(r, w.tick(), base.Add(time.Duration(i%2)*time.Hour)))
			}
			w.submit("delayed", notBefore(base.AddDate(7900, 0, 0)))
			w.waiting("waits")
			require.Equal(w, want, w.heldIDs(store.Query{}))
			require.Equal(w, []string{"r1", "r3"}, w.heldIDs(store.Query{Key: "k1"}))
			require.Equal(w, []string{"r2"}, w.heldIDs(store.Query{Labels: map[string]string{"i": "2"}}))
			require.Equal(w, []string{"r2"}, w.heldIDs(store.Query{States: []fsm.State{fsm.StateWaitingUser}}))
			require.Equal(w, []string{"r6", "r4"}, w.heldIDs(store.Query{Newest: true, Limit: 2}))
			page, err := w.store.Runs(w.ctx, store.Query{Held: true, Limit: 2})
			require.NoError(w, err)
			require.Equal(w, []string{"r2", "r3"}, w.heldIDs(store.Query{After: page.Next, Limit: 2}))
		},
	},
	{
		"hold/is surveyed",
		"A survey counts held runs where they stand and as held, neither as ready nor as delayed, and says since " +
			"when the oldest is (J5).",
		func(w *world) {
			first := w.commit(blocked(w.waiting("parked"), w.tick()))
			queued := w.commit(Held(w.running("queued"), w.tick(), base.Add(time.Hour)))
			s := w.survey()
			require.Equal(w, []int{1, 1, 2, 0, 0}, []int{s.Queued, s.Waiting, s.Held, s.Ready, s.Delayed})
			require.Empty(w, s.Engines)
			require.Equal(w, first.UpdatedAt, s.OldestHeld)
			w.commit(unblocked(first, w.tick()))
			s = w.survey()
			require.Equal(w, queued.QueuedAt, s.OldestHeld)
			require.Equal(w, []int{1, 1, 1}, []int{s.Queued, s.Waiting, s.Held})
			w.commit(ended(queued, w.tick(), fsm.StateCanceled))
			s = w.survey()
			require.Zero(w, s.Held)
			require.Zero(w, s.OldestHeld)
		},
	},
	{
		"hold/that contradicts the run is refused",
		"A hold without a choice, of a run that has a slot, or of one that has ended is ErrInvalid, and so " +
			"is a claim that starts a held run.",
		func(w *world) {
			r := w.running("a")
			for _, change := range []func(*store.Run){
				func(r *store.Run) { r.Block.Choices = nil },
				func(r *store.Run) { r.Block.Kind = "" },
				func(r *store.Run) { r.Block.Kind = "other" },
				func(r *store.Run) { r.Block.Reason = "\xff" },
				func(r *store.Run) { r.Block.Until = r.Block.Until.In(time.FixedZone("", 60)) },
				func(r *store.Run) { r.Holds = -1 },
				func(r *store.Run) { r.Holds = 2 },
			} {
				c := Held(r, w.tick(), w.now.Add(time.Hour))
				change(&c.Run)
				w.refused(store.ErrInvalid, c)
			}
			c := reported(r, w.tick())
			c.Run.Block = aHold(time.Time{})
			w.refused(store.ErrInvalid, c)
			sticky := w.commit(Asked(r, w.tick(), true, time.Time{}))
			w.refused(store.ErrInvalid, blocked(sticky, w.tick()))
			end := ended(sticky, w.tick(), fsm.StateFailed)
			end.Run.Block = aHold(time.Time{})
			w.refused(store.ErrInvalid, end)
		},
	},
}
