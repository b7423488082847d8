package storetest

import (
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Held returns a running run to the queue and holds it there until the given time; zero means until
// an operator decides.
func Held(prev store.Run, now, until time.Time) store.Commit {
	c := queuedAgain(prev, now)
	c.Run.Yielded++
	c.Run.Holds++
	c.Run.Block = aHold(until)
	return c
}

func blocked(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) { r.Block = aHold(time.Time{}) })
}

func unblocked(prev store.Run, now time.Time) store.Commit {
	return Changed(prev, now, func(r *store.Run) { r.Block = nil })
}

func aHold(until time.Time) *store.Block {
	return &store.Block{
		Kind: store.BlockHeld, Until: until, Code: fsm.CodeEngineUnavailable, Reason: "no such program <é>",
		Choices: []store.Choice{store.ChoiceRepeat, store.ChoiceEnd},
	}
}

var holdCases = []promised{
	{
		"hold/that contradicts the run is refused",
		"A hold without a choice, of a run with a slot, or of an ended run is ErrInvalid, and so is a claim that " +
			"starts a held run.",
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
