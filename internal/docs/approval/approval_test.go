package approval_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// agent asks once, and ships only if the answer is a yes.
func agent(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf("Ship it?")), nil
	}
	switch yes, ok := t.Answers[0].Yes(); {
	case !ok: // a deadline has ended the wait
		return engine.Done("not shipped: no answer"), nil
	case !yes:
		return engine.Done("not shipped: no"), nil
	}
	return engine.Done("shipped"), nil
}

// serve starts a host on the store. A test must call stop, which ends the host as a deployment
// does.
func serve(t *testing.T, st lifecycle.Store) (lc *lifecycle.Lifecycle, stop func()) {
	t.Helper()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: st, Engine: engine.Func(agent),
		Poll: time.Hour, Lease: 24 * time.Hour, // so that an idle host rarely wakes up
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- lc.Serve(ctx) }()
	return lc, func() {
		t.Helper()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		lc.Close()
	}
}

// submit starts a run and returns once it has asked its question.
func submit(t *testing.T, lc *lifecycle.Lifecycle, spec lifecycle.Spec) lifecycle.Run {
	t.Helper()
	spec.Prompt = "Release version 2."
	run, err := lc.Submit(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // returns when every goroutine waits: the first turn has ended
	question, err := lc.Pending(t.Context(), run.ID)
	if err != nil || question == nil {
		t.Fatalf("the run does not ask: %v", err)
	}
	return run
}

// ended waits for the run's end, and fails the test if the run ended in another way.
func ended(t *testing.T, lc *lifecycle.Lifecycle, id, want string) lifecycle.Run {
	t.Helper()
	run, err := lc.Wait(t.Context(), id)
	if err != nil || run.FinalText != want {
		t.Fatalf("the run ended with %q, %v; want %q", run.FinalText, err, want)
	}
	return run
}

func TestAnAnswerAfterTwoWeeks(t *testing.T) {
	for text, end := range map[string]string{"yes": "shipped", "no": "not shipped: no"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lc, stop := serve(t, memory.New())
				defer stop()
				run := submit(t, lc, lifecycle.Spec{})
				time.Sleep(14 * 24 * time.Hour) // takes no real time
				if _, err := lc.Reply(t.Context(), run.ID, lifecycle.Reply{ID: 1, Text: text}); err != nil {
					t.Fatal(err)
				}
				ended(t, lc, run.ID, end)
			})
		})
	}
}

func TestADeadlineDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, memory.New())
		defer stop()
		asked := time.Now()
		run := submit(t, lc, lifecycle.Spec{AutoDecide: true, SessionTimeout: 72 * time.Hour})
		run = ended(t, lc, run.ID, "not shipped: no answer")
		if waited := run.FinishedAt.Sub(asked); waited != 72*time.Hour {
			t.Errorf("it ended after %s", waited)
		}
	})
}

func TestAQuestionSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New()
		lc, stop := serve(t, st)
		run := submit(t, lc, lifecycle.Spec{})
		stop()
		time.Sleep(time.Hour)
		lc, stop = serve(t, st)
		defer stop()
		if _, err := lc.Reply(t.Context(), run.ID, lifecycle.Reply{ID: 1, Text: "yes"}); err != nil {
			t.Fatal(err)
		}
		ended(t, lc, run.ID, "shipped")
	})
}
