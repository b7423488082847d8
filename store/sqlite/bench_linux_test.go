package sqlite_test

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// cpuTime is the processor time of this process so far, in user and system mode.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFlowStep measures one step of a function, including its durable commit. A run executes 1,000
// steps one after the other. In the case "new", the WAL grows during the measurement. In the case
// "old", it has reached its full size, and SQLite overwrites it. cpu-us is the processor time of the
// whole process.
func BenchmarkFlowStep(b *testing.B) {
	const steps, untilOld = 1000, 5000
	for _, c := range []struct {
		name    string
		old     bool
		options sqlite.Options
	}{{"new", false, sqlite.Options{}}, {"old", true, sqlite.Options{}},
		{"unflushed", true, sqlite.Options{Synchronous: sqlite.Normal}}} {
		b.Run(c.name, func(b *testing.B) {
			s := bench(b, c.options)
			for grow := newRun("grow", 300); c.old && grow.Run.Version < untilOld; grow = report(grow.Run) {
				put(b, s, grow)
			}
			var cpu time.Duration
			var bytes uint64
			agent := flow.New("steps", func(ctx *flow.Ctx, _ string) (string, error) {
				began, written := cpuTime(b), s.Counters().Bytes
				for i := range steps {
					_, err := flow.Step(ctx, "step", func(context.Context) (int, error) { return i, nil })
					if err != nil {
						return "", err
					}
				}
				cpu, bytes = cpu+cpuTime(b)-began, bytes+s.Counters().Bytes-written
				return "done", nil
			})
			for i := 0; b.Loop(); i++ {
				if !c.old {
					s = bench(b, c.options)
				}
				serveOne(b, s, agent, fmt.Sprint("run-", i))
			}
			perStep := func(total float64) float64 { return total / float64(b.N*steps) }
			b.ReportMetric(perStep(float64(cpu.Microseconds())), "cpu-us/step")
			b.ReportMetric(perStep(float64(bytes)), "B/step")
		})
	}
}

// serveOne executes one run of the agent.
func serveOne(b *testing.B, s store.Store, agent engine.Engine, id string) {
	b.Helper()
	lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: agent, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer lc.Close()
	ctx, cancel := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	_, err = lc.Submit(b.Context(), lifecycle.Spec{ID: id, Prompt: "x"})
	require.NoError(b, err)
	run, err := lc.Wait(b.Context(), id)
	require.NoError(b, err)
	require.Equal(b, lifecycle.StateSucceeded, run.State, fmt.Sprint(run.Error))
	cancel()
	require.NoError(b, <-served)
}
