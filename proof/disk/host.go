package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// patience is how long the proof waits for a host. It is long because the machine may be busy.
const patience = 5 * time.Minute

// questions is the number of questions that each run asks.
const questions = 2

// work is the work of a host: it submits runs, and people reply to them or cancel them. As
// docs/production.md recommends, every call that fails is repeated with the same id or key.
type work struct {
	store  store.Store
	runs   int
	ledger *ledger
	lease  time.Duration
	// repeatable says that interrupted turns are executed again.
	repeatable bool
	// unreadable: reads may fail. SQLite reports this as damage of the file.
	unreadable bool
	// halt, unless 0, is a number of acknowledged commits. When it is reached, people do nothing
	// until resume is closed.
	halt   int
	resume chan struct{}
	// over, unless nil, is closed when the store is well again: the first turn of some runs lasts
	// until then.
	over chan struct{}

	mu      sync.Mutex
	refused []error // guarded by mu; the errors of calls while the store was out of order
}

func runID(n int) string { return fmt.Sprintf("run-%03d", n) }

// withdrawn reports whether run n is canceled at its first question.
func withdrawn(n int) bool { return n%5 == 4 }

func answerTo(run string, question int) string { return fmt.Sprintf("answer %d of %s", question, run) }

// lasting is the agent, some of whose turns last until the store is well again.
func (w *work) lasting(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	if w.over != nil && len(t.Answers) == 0 && strings.ContainsAny(t.RunID[len(t.RunID)-1:], "048") {
		select {
		case <-w.over:
		case <-ctx.Done():
			return engine.Outcome{}, context.Cause(ctx)
		}
	}
	return agent(ctx, t, sink)
}

// agent asks its questions, and its output is the list of answers. Some turns report a long
// message.
func agent(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	heard, err := cast.Recall(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	if strings.HasSuffix(t.RunID, "3") {
		if err := sink.Message(ctx, engine.Message{Text: strings.Repeat("so far, so good. ", 1000)}); err != nil {
			return engine.Outcome{}, err
		}
	}
	return heard.Next(questions, "How shall I go on?")
}

// do serves until every run has ended, or ctx ends.
func (w *work) do(ctx context.Context) error {
	var lc *lifecycle.Lifecycle
	err := w.repeat(ctx, func() (err error) {
		lc, err = lifecycle.New(lifecycle.Config{
			Store: w.ledger.over(w.store), Engine: engine.Func(w.lasting), Poll: 20 * time.Millisecond,
			Lease: max(w.lease, time.Second), Logger: slog.New(slog.DiscardHandler),
		})
		return err
	})
	if err != nil {
		return err
	}
	defer lc.Close()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var node errgroup.Group
	node.Go(func() error { // an operator would start the host again if it cannot join
		for serving.Err() == nil {
			if err := w.repeat(ctx, func() error { return lc.Serve(serving) }); err != nil {
				return err
			}
		}
		return nil
	})
	people, given := errgroup.WithContext(ctx)
	for n := range w.runs {
		people.Go(func() error { return w.follow(given, lc, n) })
	}
	err = people.Wait()
	stop()
	return errors.Join(err, node.Wait())
}

// follow submits a run, and replies to it until it has ended.
func (w *work) follow(ctx context.Context, lc *lifecycle.Lifecycle, n int) error {
	id := runID(n)
	err := w.insist(ctx, func() error {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Ask, please.", Repeatable: w.repeatable})
		return err
	})
	if err != nil {
		return err
	}
	for seq := uint64(0); ; {
		ended := false
		err := w.insist(ctx, func() error {
			for e, err := range lc.Events(ctx, id, seq) {
				if err != nil {
					return err
				}
				if e.Type == fcmp.TypeInputRequired {
					if err := w.react(ctx, lc, n, e); err != nil {
						return err
					}
				}
				seq = e.Seq
			}
			ended = true
			return nil
		})
		if err != nil || ended {
			return err
		}
	}
}

// react replies to a question, or cancels the run.
func (w *work) react(ctx context.Context, lc *lifecycle.Lifecycle, n int, e fcmp.Event) error {
	id := runID(n)
	var asked fcmp.InputRequired
	if err := e.Decode(&asked); err != nil {
		return err
	}
	if withdrawn(n) {
		return w.insist(ctx, func() error {
			err := lc.Cancel(ctx, id, "changed my mind")
			if err == nil {
				w.ledger.canceled(id)
			}
			if errors.Is(err, lifecycle.ErrTerminal) {
				return nil
			}
			return err
		})
	}
	return w.insist(ctx, func() error {
		reply := lifecycle.Reply{ID: asked.InteractionID, Text: answerTo(id, asked.InteractionID),
			Key: fmt.Sprint(asked.InteractionID), Actor: lifecycle.Actor{ID: "ada"}}
		r, err := lc.Reply(ctx, id, reply)
		if err == nil {
			err = w.ledger.receipt(r, reply.Text)
		}
		return err
	})
}

// errWrong says that the library returned an answer that contradicts an earlier one.
var errWrong = errors.New("wrong answer")

// insist repeats a person's call until it is acknowledged.
func (w *work) insist(ctx context.Context, do func() error) error {
	return w.repeat(ctx, func() error {
		if w.halt > 0 && w.ledger.commits() >= w.halt {
			select {
			case <-w.resume:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return do()
	})
}

// repeat repeats a call until it is acknowledged. It gives up if the error does not say that the
// store is out of order.
func (w *work) repeat(ctx context.Context, do func() error) error {
	definite := func(err error) bool {
		return cast.Definite(err) || errors.Is(err, errWrong) || errors.Is(err, store.ErrCorrupt) && !w.unreadable
	}
	err := cast.Insist(ctx, 5*time.Millisecond, definite, func() error {
		err := do()
		if err != nil && !definite(err) && ctx.Err() == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.refused = append(w.refused, err)
		}
		return err
	})
	if err != nil && definite(err) {
		return fmt.Errorf("a call was refused for good: %w", err)
	}
	return errors.Join(err, ctx.Err())
}
