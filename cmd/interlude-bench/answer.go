package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// answerer replies to each question when a hint announces it, and measures the time until the next
// turn is stored as running.
type answerer struct {
	asked   chan string
	replied sync.Map // run id → time of the reply
	unwatch func()
	work    sync.WaitGroup
	ownOnly bool // answer only runs that this process has parked: other nodes have answerers too

	mu     sync.Mutex // guards the fields below
	delays []time.Duration
	failed error
}

// startAnswerer starts an answerer with n goroutines, each of which replies to one question at a
// time.
func startAnswerer(ctx context.Context, h *host, n int, ownOnly bool) *answerer {
	a := &answerer{asked: make(chan string, 1<<16), ownOnly: ownOnly}
	a.unwatch = h.store.Watch(a.hint)
	for range n {
		a.work.Go(func() {
			for id := range a.asked {
				a.replied.Store(id, time.Now())
				err := h.reply(ctx, id, interaction.Reply{ID: 1, Text: "yes", Key: "reply-1",
					Actor: interaction.Actor{ID: "ada"}})
				if err != nil && ctx.Err() == nil {
					a.fail(err)
				}
			}
		})
	}
	return a
}

func (a *answerer) hint(h store.Hint) {
	switch {
	case strings.HasPrefix(h.RunID, parkedPrefix), strings.HasPrefix(h.RunID, duePrefix),
		strings.HasPrefix(h.RunID, inboxPrefix), strings.HasPrefix(h.RunID, childPrefix): // these get no reply
	case h.State == fsm.StateWaitingUser && (h.Run != nil || !a.ownOnly):
		a.asked <- h.RunID
	case h.State == fsm.StateRunning:
		if at, ok := a.replied.LoadAndDelete(h.RunID); ok {
			delay := time.Since(at.(time.Time)) //nolint:forcetypeassert // the map contains only times
			a.mu.Lock()
			a.delays = append(a.delays, delay)
			a.mu.Unlock()
		}
	}
}

func (a *answerer) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = errors.Join(a.failed, err)
}

func (a *answerer) drain() ([]time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delays := a.delays
	a.delays = nil
	return delays, a.failed
}

func (a *answerer) leave() {
	a.unwatch()
	close(a.asked)
	a.work.Wait()
}
