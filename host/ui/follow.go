package ui

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

// encoder writes one run in a protocol. Its methods are called in the order of the run's events.
type encoder interface {
	open(v *front.View)
	// state is a new view of the run.
	state(v *front.View)
	// text is a message of the agent.
	text(e *lifecycle.Event, text string)
	// settled is a question with its accepted answer, and voted an approval that needs more votes.
	settled(r *lifecycle.Record)
	voted(r *lifecycle.Record)
	// other is an event without a counterpart in the protocols.
	other(e *lifecycle.Event)
	// finish ends the stream: the run has ended, waits for the caller, or for others.
	finish(v *front.View)
	fault(f front.Fault)
}

// follower reads a run for an encoder.
type follower struct {
	*request

	out    encoder
	run    string
	cursor uint64
	// held are the questions that the client shows as open. If they are settled, it learns the answers.
	held map[int]bool
	// shown are the settled questions that were written.
	shown map[int]bool
}

// follow writes the run from the cursor on, until it is the caller's turn.
func (f *follower) follow(ctx context.Context) {
	v, err := f.read(ctx)
	if err == nil && v.Ended() {
		err = f.reveal(ctx, &v)
	}
	switch {
	case ctx.Err() != nil:
		return // the client has left
	case err != nil:
		f.out.fault(f.fault(ctx, err))
		return
	}
	f.out.finish(&v)
}

// read writes views and events. While the run waits for others, it reads for at most Config.Hold.
func (f *follower) read(ctx context.Context) (v front.View, _ error) {
	limit, stop := context.WithCancel(ctx)
	defer stop()
	var hold *time.Timer
	for step, err := range f.Follow(limit, f.run, f.cursor) {
		switch {
		case err != nil && limit.Err() != nil && ctx.Err() == nil:
			return v, nil // the time is over
		case err != nil:
			return v, err
		case step.View != nil:
			first := v.Run.ID == ""
			v = *step.View
			if first {
				f.out.open(&v)
				if err := f.reveal(ctx, &v); err != nil {
					return v, err
				}
			}
			f.out.state(&v)
		default:
			if err := f.event(ctx, step.Event); err != nil {
				return v, err
			}
		}
		switch waits := !v.Settled() && (len(v.Others) > 0 || v.Run.Block != nil); {
		case waits && hold == nil:
			hold = time.AfterFunc(f.server.config.Hold, stop)
		case !waits && hold != nil:
			hold.Stop()
			hold = nil
		}
	}
	return v, nil
}

// reveal writes the answers to questions that the client shows as open and that are settled.
func (f *follower) reveal(ctx context.Context, v *front.View) error {
	open := make(map[int]bool)
	for i := range v.Run.Open {
		open[v.Run.Open[i].ID] = true
	}
	for _, n := range sorted(f.held) {
		if f.shown[n] {
			continue
		}
		record, err := f.Client().Question(ctx, f.run, n)
		if errors.Is(err, lifecycle.ErrNotFound) {
			continue // the client has made it up
		}
		if err != nil {
			return err
		}
		f.outcome(&record, open[n])
	}
	return nil
}

// outcome writes a question that was answered.
func (f *follower) outcome(r *lifecycle.Record, open bool) {
	switch {
	case r.Resolution != "":
		f.shown[r.Question.ID] = true
		f.out.settled(r)
	case open && r.Question.VoteOf(f.Actor()) != nil:
		f.out.voted(r)
	}
}

func (f *follower) event(ctx context.Context, e *lifecycle.Event) error {
	switch e.Type {
	case lifecycle.TypeMessageIntermediate, lifecycle.TypeMessageFinal:
		var m lifecycle.MessageIntermediate // the text of a final message has the same name
		if err := e.Decode(&m); err != nil {
			return err
		}
		f.out.text(e, m.Text)
		return nil
	}
	f.out.other(e)
	n, err := settles(e)
	if err != nil || n == 0 || f.shown[n] {
		return err
	}
	record, err := f.Client().Question(ctx, f.run, n)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil // its record was lost
	}
	if err == nil {
		f.outcome(&record, true)
	}
	return err
}

// settles returns the number of the question that the event settles or votes on; 0: none.
func settles(e *lifecycle.Event) (int, error) {
	var settled struct {
		Question int `json:"interaction_id"`
	}
	switch e.Type {
	case lifecycle.TypeReplyAccepted, lifecycle.TypeAutoDecided, lifecycle.TypeRecorded, lifecycle.TypeClosed,
		lifecycle.TypeDefaultTaken:
		err := e.Decode(&settled)
		return settled.Question, err
	}
	return 0, nil
}

func sorted(set map[int]bool) []int { return slices.Sorted(maps.Keys(set)) }
