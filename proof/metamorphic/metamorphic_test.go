package metamorphic_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/store"
)

// play executes the log on one store and returns all answers, step by step.
func play(t *testing.T, p place, log []operation) (answers [][]string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		node, second, shut := p.open(t)
		defer shut()
		w, err := newWorld(t.Context(), node, second)
		require.NoError(t, err)
		for _, o := range log {
			w.said = nil
			w.do(o)
			page, err := w.client.Runs(w.ctx, store.Query{})
			w.say(w.fault(err))
			for i := range page.Runs {
				w.say(w.record(&page.Runs[i]))
			}
			answers = append(answers, w.said)
		}
		w.said = nil
		if err := w.end(); err != nil {
			w.say("the end:", err)
		}
		answers = append(answers, w.said)
	})
	return answers
}

// logs draws short and long logs. A failing log shrinks to a short one.
var logs = rapid.Custom(func(t *rapid.T) []operation {
	n := of(t, "length", 1, 2, 3, 5, 8, 13, 21, 34, 55, 55, 55, 55, 55)
	log := make([]operation, n)
	for i := range log {
		log[i] = operations.Draw(t, fmt.Sprint("step ", i))
	}
	return log
})

// I10 and all promises of a store: one log of operations gets the same answers and the same events
// on every store.
func TestEveryStoreAnswersAlike(t *testing.T) {
	all := places(t)
	began, played, steps, answers := time.Now(), 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		log := logs.Draw(rt, "log")
		want := play(t, all[0], log)
		for _, p := range all[1:] {
			if wrong := difference(log, want, play(t, p, log)); wrong != "" {
				rt.Fatalf("%s and %s differ at %s\nthe log:\n%s", all[0].name, p.name, wrong, listing(log))
			}
		}
		played, steps = played+1, steps+len(log)
		for _, part := range want {
			answers += len(part)
		}
	})
	t.Logf("%d logs of %d steps and %d answers on each of %d stores in %s", played, steps, answers, len(all),
		time.Since(began).Round(time.Millisecond))
}

// listing returns the log as text.
func listing(log []operation) (text string) {
	for i, o := range log {
		text += fmt.Sprintf("%3d %s\n", i, o)
	}
	return text
}

// difference describes the first answer that differs; it is empty if none does.
func difference(log []operation, want, got [][]string) string {
	for i := range want {
		if slices.Equal(want[i], got[i]) {
			continue
		}
		step := "the end"
		if i < len(log) {
			step = fmt.Sprintf("step %d, %s", i, log[i])
		}
		for k := range want[i] {
			if k >= len(got[i]) || want[i][k] != got[i][k] {
				return fmt.Sprintf("%s: answer %d\n  %s  %s", step, k, want[i][k],
					append(got[i], "none")[min(k, len(got[i]))])
			}
		}
		return fmt.Sprintf("%s: %d answers and %d", step, len(want[i]), len(got[i]))
	}
	return ""
}
