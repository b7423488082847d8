package examples_test

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// TestMain ends the PostgreSQL that a rehearsal has started.
func TestMain(m *testing.M) { pgtest.Main(m) }

// Common functions of the examples. A host handles errors; here they end the program.
func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// shipper is an agent that asks before it ships.
var shipper = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf("Ship it?")), nil
	}
	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
		return engine.Done("not shipped"), nil
	}
	return engine.Done("shipped"), nil
})

// serve serves until stop is called, which waits for the end.
func serve(lc *lifecycle.Lifecycle) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return func() {
		cancel()
		must(<-served)
	}
}

// untilAsked follows a run until it asks.
func untilAsked(ctx context.Context, lc *lifecycle.Lifecycle, id string) {
	for ev, err := range lc.Events(ctx, id, 0) {
		must(err)
		if ev.Type == "user.input.required" {
			return
		}
	}
}

// file returns the path of a new database file, and a function that removes its folder.
func file() (name string, remove func()) {
	dir, err := os.MkdirTemp("", "interlude-example-")
	must(err)
	return filepath.Join(dir, "runs.db"), func() { must(os.RemoveAll(dir)) }
}
