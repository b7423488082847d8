// Package effecttest verifies that an agent whose engine asks before it acts has one effect per
// accepted answer: under concurrent replies, host crashes, and forks. The suite is for engines of
// frameworks that would execute an answer as often as it is given.
package effecttest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Harness makes the agent that is to be proven.
type Harness struct {
	// Open creates a store. The function that it returns opens the store again and again, as the
	// hosts do that use it one after the other.
	Open func(t *testing.T) func() store.Store
	// Agent makes an agent that asks one question, has an effect if the answer is yes, and ends. Each
	// host makes its own engine of it. Count returns how many effects there were so far.
	Agent func(t *testing.T) (newEngine func() engine.Engine, count func() int)
	// Prompt is the prompt of each run.
	Prompt string
	// Always: the agent has its effect whatever the answer, so forks with other answers are not tried.
	Always bool
}

// Run executes every case. It takes real time.
func Run(t *testing.T, h Harness) {
	t.Helper()
	t.Run("C5 C8 I1/of many replies one is accepted, and has an effect", h.manyReplies)
	t.Run("C5 I9/of two replies to a host that dies one is accepted, and has an effect", h.hostDies)
	if !h.Always {
		t.Run("J6 N11/a fork continues from its question", h.fork)
	}
}

// Host is a process that executes runs.
type Host struct {
	*lifecycle.Lifecycle
	tb   testing.TB
	stop func()
}

// Serve returns a host that serves until Stop is called, or until the test ends.
func Serve(tb testing.TB, s store.Store, e engine.Engine, dir string) *Host {
	tb.Helper()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: s, Engine: e, Dir: dir, Poll: 10 * time.Millisecond, Grace: -1, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(tb.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	h := &Host{Lifecycle: lc, tb: tb}
	h.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(tb, <-served)
	})
	tb.Cleanup(func() { h.stop(); lc.Close() })
	return h
}

// Stop ends Serve. Clients can use the host as before.
func (h *Host) Stop() { h.stop() }

// Start submits a run, and returns its first question.
func (h *Host) Start(spec lifecycle.Spec) (lifecycle.Run, interaction.Question) {
	h.tb.Helper()
	run, err := h.Submit(h.tb.Context(), spec)
	require.NoError(h.tb, err)
	return run, h.Parked(run.ID)
}

// Parked waits for the run's next question.
func (h *Host) Parked(id string) interaction.Question {
	h.tb.Helper()
	for ev, err := range h.Events(h.tb.Context(), id, 0) {
		require.NoError(h.tb, err)
		if ev.Type != fcmp.TypeInputRequired {
			continue
		}
		q, err := h.Pending(h.tb.Context(), id)
		require.NoError(h.tb, err)
		if q != nil {
			return *q
		}
	}
	h.tb.Fatal("the run ended and asked nothing")
	return interaction.Question{}
}

// Succeeds waits for the run's end.
func (h *Host) Succeeds(id string) lifecycle.Run {
	h.tb.Helper()
	run, err := h.Wait(h.tb.Context(), id)
	require.NoError(h.tb, err)
	require.Equal(h.tb, fsm.StateSucceeded, run.State, "%+v", run.Error)
	return run
}

// race sends n concurrent replies, of which one must be accepted, and returns its receipt.
func (h *Host) race(id string, question, n int) interaction.Receipt {
	h.tb.Helper()
	accepted := make(chan interaction.Receipt, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			key := string(rune('a' + i))
			receipt, err := h.Reply(h.tb.Context(), id, interaction.Reply{ID: question, Text: "yes", Key: key,
				Actor: lifecycle.Actor{ID: key}})
			if err == nil {
				accepted <- receipt
			}
		})
	}
	all.Wait()
	require.Len(h.tb, accepted, 1)
	return <-accepted
}

func (h Harness) manyReplies(t *testing.T) {
	newEngine, count := h.Agent(t)
	host := Serve(t, h.Open(t)(), newEngine(), t.TempDir())
	run, q := host.Start(lifecycle.Spec{Prompt: h.Prompt})
	receipt := host.race(run.ID, q.ID, 16)
	host.Succeeds(run.ID)
	require.Equal(t, 1, count())

	again, err := host.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes", Key: receipt.Key,
		Actor: lifecycle.Actor{ID: receipt.Key}})
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, 1, count())
}

func (h Harness) hostDies(t *testing.T) {
	newEngine, count := h.Agent(t)
	open, dir := h.Open(t), t.TempDir()
	first := Serve(t, open(), newEngine(), dir)
	run, q := first.Start(lifecycle.Spec{Prompt: h.Prompt})
	first.Stop() // before the reply, so that the turn cannot begin before the host is gone
	first.race(run.ID, q.ID, 2)
	_, err := first.Reply(t.Context(), run.ID, interaction.Reply{ID: q.ID, Text: "yes", Key: "late"})
	require.ErrorIs(t, err, lifecycle.ErrSettled)
	require.Zero(t, count())

	require.Equal(t, 2, Serve(t, open(), newEngine(), dir).Succeeds(run.ID).Attempt)
	require.Equal(t, 1, count())
}

// fork forks a run that was answered with no, with another answer and with the stored one. A fork
// asks an approval again.
func (h Harness) fork(t *testing.T) {
	newEngine, count := h.Agent(t)
	host := Serve(t, h.Open(t)(), newEngine(), t.TempDir())
	run, q := host.Start(lifecycle.Spec{Prompt: h.Prompt})
	reply := func(id string, question int, text string) {
		_, err := host.Reply(t.Context(), id, interaction.Reply{ID: question, Text: text})
		require.NoError(t, err)
	}
	reply(run.ID, q.ID, "no")
	source := host.Succeeds(run.ID)
	require.Zero(t, count())
	for i, text := range []string{"yes", "", "yes"} {
		at := lifecycle.At{ID: fmt.Sprint("f", i), Question: q.ID, Answer: lifecycle.Reply{Text: text}}
		fork, err := host.Fork(t.Context(), run.ID, at)
		require.NoError(t, err)
		attempts := 1
		if text == "" && q.Kind == interaction.Approval {
			reply(fork.ID, host.Parked(fork.ID).ID, "no")
			attempts = 2
		}
		require.Equal(t, attempts, host.Succeeds(fork.ID).Attempt)
		require.Equal(t, (i+2)/2, count())
	}
	now, err := host.Get(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, source, now)
}
