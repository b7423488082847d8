package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// host is a program that uses the library: a serving lifecycle, and an answerer.
type host struct {
	*lifecycle.Lifecycle
	store *timed
	// talks has what the agent does instead of asking: run id → chan string, messages to send, or
	// chan time.Time, which receives the turn's start.
	talks    *sync.Map
	answerer *answerer
	other    *replier // the node that replies; nil: this one
	observed *telemetry
	stop     context.CancelFunc
	served   chan error
}

// agent asks one question and is done once it has the answer. But a run in talks sends the messages
// of its channel and asks nothing, and a run of readInbox asks ten questions.
func agent(talks *sync.Map) engine.Engine {
	return engine.Func(func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) > 0 {
			return engine.Done("Shipped."), nil
		}
		if strings.HasPrefix(t.RunID, inboxPrefix) {
			return askGroups(t.RunID)
		}
		switch said, _ := talks.Load(t.RunID); said := said.(type) {
		case chan string:
			for line := range said {
				if err := s.Message(ctx, engine.Message{Text: line}); err != nil {
					return engine.Outcome{}, err
				}
			}
			return engine.Done("Said."), nil
		case chan time.Time:
			said <- time.Now()
			return engine.Done("Started."), nil
		}
		return engine.Ask(interaction.Question{Kind: interaction.Confirm, Prompt: "The release is built. Shall I " +
			"ship it?"}), nil
	})
}

// newHost opens the store and serves with enough concurrency for all runs.
func newHost(ctx context.Context, p *place) (*host, error) {
	observed, err := newTelemetry(p.o.telemetry)
	if err != nil {
		return nil, err
	}
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	room := max(p.o.concurrency, p.o.followers) + 64
	h := &host{store: &timed{counted: s}, talks: &sync.Map{}, served: make(chan error, 1), observed: observed}
	var seen store.Store = h.store
	if a, ok := s.(store.Announcer); ok {
		seen = struct {
			*timed
			store.Announcer
		}{h.store, a}
	}
	h.Lifecycle, err = lifecycle.New(lifecycle.Config{
		Store: seen, Engine: agent(h.talks), Concurrency: room,
		Engines: map[string]engine.Engine{parentEngine: parent(p.o.children)},
		Pools:   []slots.Pool{{Name: slots.DefaultPool, Capacity: room}},
		Logger:  slog.New(slog.DiscardHandler), Observer: observed.observer,
	})
	if err != nil {
		return nil, err
	}
	if err := observed.watch(h.Client, h.store); err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	if p.o.across {
		if h.other, err = newReplier(ctx, p); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	h.answerer = startAnswerer(serving, h, room, p.o.nodes > 0)
	go func() { h.served <- h.Serve(serving) }()
	return h, nil
}

func (h *host) leave() error {
	h.stop()
	err := <-h.served
	h.answerer.leave()
	h.Close()
	if h.other != nil {
		err = errors.Join(err, h.other.leave())
	}
	return errors.Join(err, h.observed.end(context.Background()), h.store.Close())
}

// replier is a front end: a node that executes nothing.
type replier struct {
	*lifecycle.Client
	store store.Store
}

func newReplier(ctx context.Context, p *place) (*replier, error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	return &replier{c, s}, err
}

func (r *replier) leave() error {
	r.Close()
	return r.store.Close()
}

func (h *host) reply(ctx context.Context, id string, reply interaction.Reply) error {
	c := h.Client
	if h.other != nil {
		c = h.other.Client
	}
	_, err := c.Reply(ctx, id, reply)
	return err
}

func spec() lifecycle.Spec { return lifecycle.Spec{Prompt: "Build the release, ask, and ship it."} }

// trip is one round trip: it submits a run and waits for its end. With follow it also reads the
// run's events, as a front end does.
func (h *host) trip(ctx context.Context, follow bool) error {
	run, err := h.Submit(ctx, spec())
	if err != nil {
		return err
	}
	if follow {
		for _, err := range h.Events(ctx, run.ID, 0) {
			if err != nil {
				return err
			}
		}
	}
	run, err = h.Wait(ctx, run.ID)
	if err != nil {
		return err
	}
	if run.State != fsm.StateSucceeded || run.Interactions != 1 || run.Attempt != 2 {
		return fmt.Errorf("run %s is %s after %d turns and %d questions: %v", run.ID, run.State, run.Attempt,
			run.Interactions, run.Error)
	}
	return nil
}
