package storetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

var momentCases = []promised{
	{
		"moment/each call returns the state of one moment",
		"During commits, the record, its pending question, its history and its events always agree: no reader ever " +
			"sees half of a commit (F8, I10).",
		func(w *world) {
			const leastRounds, leastLooks = 40, 100
			for _, id := range []string{"a", "b"} {
				w.submit(id)
			}
			var over atomic.Bool
			var looks atomic.Int32
			rounds := 0
			w.race(5, func(ctx context.Context, i int, s store.Store) error {
				if i == 0 {
					defer over.Store(true)
					for ; ctx.Err() == nil && (rounds < leastRounds || looks.Load() < leastLooks); rounds++ {
						if err := w.round(ctx, s); err != nil {
							return err
						}
					}
					return nil
				}
				for !over.Load() {
					id := []string{"a", "b"}[i%2]
					if err := agrees(ctx, s, id); err != nil {
						return err
					}
					looks.Add(1)
				}
				return nil
			})
			require.Equal(w, rounds, w.load("a").Interactions)
		},
	},
}

// round drives every queued run through one question and its answer.
func (w *world) round(ctx context.Context, s store.Store) error {
	now := w.tick()
	claimed, err := s.Claim(ctx, store.ClaimRequest{Node: "n", Now: now, Max: 9, Start: Started(now)})
	if err != nil {
		return err
	}
	for _, c := range claimed {
		parked := Asked(c.Run, now, false, now)
		for _, commit := range []store.Commit{parked, Answered(parked.Run, now, fmt.Sprint(parked.Run.Interactions))} {
			if err := one(ctx, s, commit); err != nil {
				return err
			}
		}
	}
	return nil
}

func waitsOf(s store.Reader) func(context.Context, store.Query) (store.Page, error) {
	return func(ctx context.Context, q store.Query) (store.Page, error) {
		return s.Waiting(ctx, store.WaitingQuery{Query: q})
	}
}

// agrees reads a run in every way and returns an error if two disagree.
func agrees(ctx context.Context, s store.Store, id string) error {
	before, err := s.Run(ctx, id)
	if err != nil {
		return err
	}
	events, err := s.Events(ctx, id, 0, store.MaxBatch)
	if err != nil {
		return err
	}
	run, history, err := store.ReadHistory(ctx, s, id)
	if err != nil {
		return err
	}
	last := uint64(len(events))
	settled := run.Interactions
	if len(run.Open) > 0 {
		settled--
	}
	switch {
	case last < before.Seq || last > run.Seq:
		return fmt.Errorf("%d events between records with %d and %d", last, before.Seq, run.Seq)
	case last > 0 && events[last-1].Seq != last:
		return fmt.Errorf("event %d is at place %d", events[last-1].Seq, last)
	case len(history) != settled:
		return fmt.Errorf("%d settled interactions in a run that is %s and asked %d", len(history), run.State,
			run.Interactions)
	}
	for _, list := range []func(context.Context, store.Query) (store.Page, error){s.Runs, waitsOf(s)} {
		page, err := list(ctx, store.Query{})
		if err != nil {
			return err
		}
		for _, r := range page.Runs {
			if err := r.Validate(); err != nil {
				return err
			}
		}
	}
	waiting, err := s.Waiting(ctx, store.WaitingQuery{})
	if err != nil {
		return err
	}
	due, _, err := s.Due(ctx, before.UpdatedAt.AddDate(1, 0, 0), 9)
	if err != nil {
		return err
	}
	for _, r := range append(waiting.Runs, due...) {
		if r.State != fsm.StateWaitingUser || len(r.Open) == 0 {
			return fmt.Errorf("run %s is listed as waiting and is %s", r.ID, r.State)
		}
	}
	return nil
}
