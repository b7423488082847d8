package flow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

type recorder struct {
	engine.Sink

	entries []engine.JournalEntry
}

func (r *recorder) Entries(context.Context) ([]engine.JournalEntry, error) { return r.entries, nil }

func (*recorder) Release() {}

func (r *recorder) Append(_ context.Context, entries ...engine.JournalEntry) error {
	r.entries = append(r.entries, entries...)
	return nil
}

// steps is a function of n steps.
func steps(n int, f func(step int) (int, error)) engine.Engine {
	return flow.New("steps", func(c *flow.Ctx, _ string) (string, error) {
		for i := range n {
			if _, err := flow.Step(c, "step", func(context.Context) (int, error) { return f(i) }); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
}

// BenchmarkReplay1000 is a turn that continues after a thousand steps, without its store.
func BenchmarkReplay1000(b *testing.B) {
	var journal recorder
	agent := steps(1000, func(step int) (int, error) { return step, nil })
	_, err := agent.RunTurn(b.Context(), engine.Turn{RunID: "r"}, &journal)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := agent.RunTurn(b.Context(), engine.Turn{RunID: "r"}, &journal); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStep is a step with its commit on the memory store: a run's first hundred, and the
// hundred after nine thousand.
func BenchmarkStep(b *testing.B) {
	const measured = 100
	for _, before := range []int{0, 1000, 9000} {
		b.Run(fmt.Sprint("after", before), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				var began, took time.Time
				agent := steps(before+measured, func(step int) (int, error) {
					switch step {
					case before:
						began = time.Now()
					case before + measured - 1:
						took = time.Now()
					}
					return step, nil
				})
				execute(b, agent)
				b.StartTimer()
				b.ReportMetric(float64(took.Sub(began).Nanoseconds())/(measured-1), "ns/step")
			}
		})
	}
}

// BenchmarkRoundTrip is a run with one step and one question, as a function and as plain code
// without a journal, on the memory store, one at a time.
func BenchmarkRoundTrip(b *testing.B) {
	agents := map[string]engine.Engine{
		"flow": flow.New("one", func(c *flow.Ctx, _ string) (string, error) {
			if _, err := flow.Step(c, "step", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			return flow.Ask[string](c, "q", ask("?"))
		}),
		"plain": engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(t.Answers) == 0 {
				return engine.Ask(ask("?")), nil
			}
			return engine.Done(t.Answers[0].Text), nil
		}),
	}
	for name, agent := range agents {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				lc, end := benchHost(b, agent)
				b.StartTimer()
				for i := range 200 {
					roundTrip(b, lc, fmt.Sprint("r", i))
				}
				b.StopTimer()
				end()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/200, "us/run")
		})
	}
}

func benchHost(b *testing.B, agent engine.Engine) (*lifecycle.Lifecycle, func()) {
	b.Helper()
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Engine: agent})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return lc, func() {
		cancel()
		require.NoError(b, <-served)
		lc.Close()
	}
}

// execute executes one run of the agent.
func execute(b *testing.B, agent engine.Engine) {
	b.Helper()
	lc, end := benchHost(b, agent)
	defer end()
	_, err := lc.Submit(b.Context(), lifecycle.Spec{ID: "r", Prompt: "x"})
	require.NoError(b, err)
	run, err := lc.Wait(b.Context(), "r")
	require.NoError(b, err)
	require.Equal(b, lifecycle.StateSucceeded, run.State, "%+v", run.Error)
}

func roundTrip(b *testing.B, lc *lifecycle.Lifecycle, id string) {
	b.Helper()
	_, err := lc.Submit(b.Context(), lifecycle.Spec{ID: id, Prompt: "x"})
	require.NoError(b, err)
	for ev, err := range lc.Events(b.Context(), id, 0) {
		require.NoError(b, err)
		if ev.Type == "user.input.required" {
			_, err := lc.Reply(b.Context(), id, lifecycle.Reply{ID: 1, Text: "yes"})
			require.NoError(b, err)
		}
	}
	run, err := lc.Get(b.Context(), id)
	require.NoError(b, err)
	require.Equal(b, "yes", run.FinalText)
}
