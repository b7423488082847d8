package lifecycle_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// I5: a page of a listing needs bounded memory, however large its runs are, and pages of small runs
// are as long as was asked for; following Next passes over no run.
func TestI5APageOfLargeRunsIsShort(t *testing.T) {
	const small, large, size = 30, 70, 200 << 10
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func(func(_ context.Context, in engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if in.Prompt == "small" {
				return engine.Done("x"), nil
			}
			return engine.Done(strings.Repeat("x", size)), nil
		})})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-served)
	}()
	var want []string
	for i := range small + large {
		prompt := "large"
		if i < small { // which says nothing about the size of later ones
			prompt = "small"
		}
		run, err := lc.Submit(t.Context(), lifecycle.Spec{ID: fmt.Sprintf("r%02d", i), Prompt: prompt})
		require.NoError(t, err)
		want = append(want, run.ID)
	}
	for _, id := range want {
		_, err := lc.Wait(t.Context(), id)
		require.NoError(t, err)
	}
	var got []string
	pages := 0
	for q := (lifecycle.Query{Limit: 1000}); ; pages++ {
		page, err := lc.Runs(t.Context(), q)
		require.NoError(t, err)
		bytes := 0
		for _, run := range page.Runs {
			bytes += len(run.FinalText)
			got = append(got, run.ID)
		}
		require.LessOrEqual(t, bytes, 4<<20+size)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	require.Equal(t, want, got)
	require.Positive(t, pages)
}

func TestI5APageOfSmallRunsIsFull(t *testing.T) {
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
			return engine.Done("done"), nil
		})})
	require.NoError(t, err)
	for range 250 {
		_, err := lc.Submit(t.Context(), lifecycle.Spec{Prompt: "Go."})
		require.NoError(t, err)
	}
	for limit, want := range map[int]int{0: 100, 1: 1, 20: 20, 21: 21, 249: 249, 250: 250, 1000: 250} {
		page, err := lc.Runs(t.Context(), lifecycle.Query{Limit: limit})
		require.NoError(t, err)
		require.Len(t, page.Runs, want)
		require.Equal(t, want < 250, page.Next != "")
	}
}
