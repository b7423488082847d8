// Package fronttest checks front ends for the traps in which protocols agree. Its table is Traps; a
// front end passes it with one test:
//
//	func TestTraps(t *testing.T) { fronttest.Run(t, newFrontEnd) }
package fronttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// FrontEnd drives a front end as its clients do. Persons are the IDs of actors whom the front end
// identifies; "ops" is in no group.
type FrontEnd interface {
	// Start starts a run with this prompt as the person, by Config.Spec, and returns its id.
	Start(ctx context.Context, person, prompt string) (run string, err error)
	// See reads the run as the person: by a stream, a call or a poll, until there is something to
	// report. It returns the report. If the person is not asked and the run has not
	// ended, it may wait for at most a second before it reports Status.
	See(ctx context.Context, person, run string) (Seen, error)
	// Answer sends an answer. Answers with the same id are the same message, sent again.
	Answer(ctx context.Context, person, run, id string, a Answer) error
	// Dismiss closes the question without an answer, in the protocol's words.
	Dismiss(ctx context.Context, person, run string, question int) error
}

// Seen is the report of a front end.
type Seen struct {
	Questions []int  // the questions that the person is asked
	Ended     bool   // the run has ended
	Result    string // its result contains the text of the last answer
	Status    string // of a run with no question for the person
}

// Answer is an answer to a question: a text, or the decision about an approval.
type Answer struct {
	Question int
	Text     string
	Decision lifecycle.Decision
}

// Config is given to a front end.
type Config struct {
	Client *lifecycle.Client
	// Spec returns the specification of a run. The front end adds an ID.
	Spec func(person, prompt string) lifecycle.Spec
}

// New starts a front end for a test.
type New func(tb testing.TB, c Config) FrontEnd

// Trap is one promise that front ends broke at first.
type Trap struct {
	Name string
	// Why explains the promise.
	Why   string
	check func(w *world)
}

// Run checks a front end for all traps.
func Run(t *testing.T, newFrontEnd New) {
	for _, trap := range Traps {
		t.Run(trap.Name, func(t *testing.T) {
			w := newWorld(t, newFrontEnd)
			defer func() {
				if t.Failed() {
					t.Log(trap.Why)
				}
			}()
			trap.check(w)
		})
	}
}

// The prompts of runs, which the suite's agent obeys.
const (
	oneText    = "one"      // asks for one text
	twoTexts   = "two"      // asks for two texts at once
	twoRounds  = "rounds"   // asks for one text, twice
	approval   = "approval" // asks for an approval
	reviewed   = "reviewed" // asks for an approval, which the submitter may not give
	yesOrNo    = "sure"     // asks for a yes or a no, and accepts only these
	noQuestion = "none"
	endless    = "endless" // works until it is canceled
	absent     = "absent"  // asks ann for one text, whose deputy is ada
)

const storeText = "/var/secret/runs.db"

type world struct {
	testing.TB

	ctx      context.Context //nolint:containedctx // of one test
	host     *lifecycle.Lifecycle
	frontEnd FrontEnd
	store    *faulty
	people   *directory
}

// directory makes ada the deputy of ann.
type directory struct{ broken atomic.Bool }

func (d *directory) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	switch {
	case d.broken.Load():
		return nil, errors.New("the directory does not answer")
	case id == "ada":
		return []lifecycle.Principal{{ID: "ann"}}, nil
	}
	return nil, nil
}

func newWorld(t *testing.T, newFrontEnd New) *world {
	t.Helper()
	w := &world{TB: t, store: &faulty{Store: memory.New()}, people: new(directory)}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	w.ctx = ctx
	var err error
	w.host, err = lifecycle.New(lifecycle.Config{Store: w.store, Engine: engine.Func(agent),
		Authorize: authorize, Directory: w.people, Poll: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- w.host.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	w.frontEnd = newFrontEnd(t, Config{Client: w.host.Client, Spec: spec})
	return w
}

func spec(person, prompt string) lifecycle.Spec {
	s := lifecycle.Spec{Prompt: prompt, Labels: map[string]string{"owner": person}}
	if prompt == reviewed {
		s.Submitter, s.Ask = person, &lifecycle.AskPolicy{NotSubmitter: true}
	}
	return s
}

// authorize: everybody starts runs, their owner and ops may do everything with them.
func authorize(_ context.Context, a lifecycle.Access) error {
	if a.Actor.IsZero() || a.Actor.ID == "ops" || a.Run != nil && a.Run.Labels["owner"] == a.Actor.ID {
		return nil
	}
	return errors.New("not yours")
}

func agent(ctx context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	question := engine.Question{Kind: engine.OpenText, Prompt: "What next?"}
	var said []string
	for _, a := range t.Answers {
		said = append(said, a.Message())
	}
	switch {
	case t.Prompt == noQuestion:
		return engine.Done("nothing to ask"), nil
	case t.Prompt == endless:
		<-ctx.Done()
		return engine.Outcome{}, ctx.Err()
	case len(t.Answers) > 0 && (t.Prompt != twoRounds || t.Attempt > 2):
		return engine.Done(strings.Join(said, ", ")), nil
	case t.Prompt == absent:
		question.To = &lifecycle.Audience{Users: []string{"ann"}}
		return engine.Ask(question), nil
	case t.Prompt == yesOrNo:
		return engine.Ask(engine.ConfirmOf("Sure?")), nil
	case t.Prompt == twoTexts:
		return engine.AskAll(question, question), nil
	case t.Prompt == approval, t.Prompt == reviewed:
		return engine.Ask(engine.Question{Kind: engine.Approval, Prompt: "Refund?",
			Subject: &engine.Subject{Tool: "refund", Arguments: []byte(`{"cents":4200}`)}}), nil
	}
	return engine.Ask(question), nil
}

type faulty struct {
	store.Store

	broken atomic.Bool
}

func (f *faulty) Run(ctx context.Context, id string) (store.Run, error) {
	if f.broken.Load() {
		return store.Run{}, fmt.Errorf("open %s: disk I/O error", storeText)
	}
	return f.Store.Run(ctx, id)
}

// start starts a run of ada, and waits until it waits or has ended.
func (w *world) start(prompt string) string {
	w.Helper()
	run, err := w.frontEnd.Start(w.ctx, "ada", prompt)
	require.NoError(w, err)
	if prompt != endless {
		w.until(run, func(r *lifecycle.Run) bool { return len(r.Open) > 0 || r.State.Terminal() })
	}
	return run
}

func (w *world) until(run string, done func(*lifecycle.Run) bool) {
	w.Helper()
	var cursor uint64
	for {
		r, err := w.host.Get(w.ctx, run)
		require.NoError(w, err)
		if done(&r) {
			return
		}
		for e, err := range w.host.Events(w.ctx, run, max(cursor, r.Seq)) {
			require.NoError(w, err)
			cursor = e.Seq
			break
		}
	}
}

func (w *world) see(run string) Seen {
	w.Helper()
	s, err := w.frontEnd.See(w.ctx, "ada", run)
	require.NoError(w, err)
	return s
}

// seeEnd waits until the run has ended, and returns what the front end shows then.
func (w *world) seeEnd(run string) Seen {
	w.Helper()
	w.until(run, func(r *lifecycle.Run) bool { return r.State.Terminal() })
	return w.see(run)
}

func (w *world) answer(run, id string, a Answer) {
	w.Helper()
	require.NoError(w, w.frontEnd.Answer(w.ctx, "ada", run, id, a))
}

func (w *world) history(run string) []lifecycle.Record {
	w.Helper()
	all, err := w.host.History(w.ctx, run)
	require.NoError(w, err)
	return all
}
