package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// host is a program with the library: a lifecycle that serves.
type host struct {
	*lifecycle.Lifecycle
	store  *timed
	talks  *sync.Map // run id → chan string: what the agent says in it before it is done, instead of asking
	stop   context.CancelFunc
	served chan error
}

// agent asks once and is done with the answer; a run that is to talk does that instead.
func agent(talks *sync.Map) engine.Engine {
	return engine.Func(func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) > 0 {
			return engine.Done("Shipped."), nil
		}
		if said, ok := talks.Load(t.RunID); ok {
			for line := range said.(chan string) { //nolint:forcetypeassert // there is nothing else in it
				if err := s.Message(ctx, engine.Message{Text: line}); err != nil {
					return engine.Outcome{}, err
				}
			}
			return engine.Done("Said."), nil
		}
		return engine.Ask(interaction.Question{Kind: interaction.Confirm, Prompt: "The release is built. Shall I ship it?"}), nil
	})
}

// newHost opens the store and serves. Concurrency is above what the load has at one time, so that no run waits for a slot.
func newHost(ctx context.Context, p *place) (*host, error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	room := max(p.o.concurrency, p.o.followers) + 64
	h := &host{store: &timed{counted: s}, talks: &sync.Map{}, served: make(chan error, 1)}
	h.Lifecycle, err = lifecycle.New(lifecycle.Config{
		Store: h.store, Engine: agent(h.talks), Concurrency: room,
		Pools:  []slots.Pool{{Name: slots.DefaultPool, Capacity: room}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	go func() { h.served <- h.Serve(serving) }()
	return h, nil
}

func (h *host) leave() error {
	h.stop()
	err := <-h.served
	h.Close()
	if closed := h.store.Close(); err == nil {
		err = closed
	}
	return err
}

// spec is the job of a round trip.
func spec() lifecycle.Spec { return lifecycle.Spec{Prompt: "Build the release, ask, and ship it."} }

// trip is one round trip: submit, follow, reply to the question, follow to the end. Answered is the time from the reply until the
// follower saw the next turn stored as running.
func (h *host) trip(ctx context.Context) (answered time.Duration, _ error) {
	run, err := h.Submit(ctx, spec())
	if err != nil {
		return 0, err
	}
	var replied time.Time
	for e, err := range h.Events(ctx, run.ID, 0) {
		if err != nil {
			return 0, err
		}
		switch e.Type {
		case contract.TypeInputRequired:
			replied = time.Now()
			if _, err := h.Reply(ctx, run.ID, interaction.Reply{ID: 1, Text: "yes", Key: "reply-1", Actor: "ada"}); err != nil {
				return 0, err
			}
		case contract.TypeStateChanged:
			if e.Meta.Attempt == 2 && answered == 0 {
				answered = time.Since(replied)
			}
		}
	}
	if answered == 0 {
		return 0, fmt.Errorf("run %s ended without its question", run.ID)
	}
	return answered, nil
}

// ended makes sure that a run has succeeded with one reply.
func ended(run store.Run) error {
	if run.State != "succeeded" || run.Interactions != 1 || run.Attempt != 2 {
		return fmt.Errorf("run %s is %s after %d turns and %d questions: %v", run.ID, run.State, run.Attempt, run.Interactions, run.Error)
	}
	return nil
}
