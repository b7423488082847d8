package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// agent is a resumable engine that executes its turns with turn, or finishes at once without it.
type agent struct {
	turn func(context.Context, engine.Turn) (engine.Outcome, error)
}

func (agent) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: fsm.ProfileResumable}, nil
}

func (a agent) RunTurn(ctx context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if a.turn == nil {
		return finished(), nil
	}
	return a.turn(ctx, t)
}

func finished() engine.Outcome {
	return engine.Outcome{Process: engine.Process{Status: engine.OK}, FinalText: "ok\n__SKILL_DONE__\n"}
}

// holder is an agent with resident processes. Both functions may be nil.
type holder struct {
	agent

	end    func(ctx context.Context, id string) error
	onLoss func() (stop func())
}

func (h holder) End(ctx context.Context, id string) error {
	if h.end == nil {
		return nil
	}
	return h.end(ctx, id)
}

func (h holder) OnLoss(func(string, error)) (stop func()) {
	if h.onLoss == nil {
		return func() {}
	}
	return h.onLoss()
}

// ending is a holder that removes from alive the runs whose processes it ends.
func ending(alive map[string]bool) holder {
	return holder{end: func(_ context.Context, id string) error {
		delete(alive, id)
		return nil
	}}
}

// saying is a store that returns the same record for each run, or why it cannot.
type saying struct {
	store.Store

	run       store.Run
	err, spec error
}

func (s saying) Run(context.Context, string) (store.Run, error) { return s.run, s.err }

func (s saying) Confirm(_ context.Context, read func(store.Reader) error) error { return read(s) }

func (s saying) Spec(ctx context.Context, id string) ([]byte, error) {
	if s.spec != nil {
		return nil, s.spec
	}
	return s.Store.Spec(ctx, id)
}

// sameSpec decodes each specification as one prompt.
type sameSpec struct{}

func (sameSpec) Decode(string, []byte) (Spec, *decide.Origin, error) {
	return Spec{Prompt: "x", Mode: fsm.ModeInteractive}, nil, nil
}

func (sameSpec) Child(string, *Spec, string, *engine.Child, time.Time) (store.Run, []byte, error) {
	return store.Run{}, nil, errors.New("no run here has children")
}

// alone returns a node whose loops do not run.
func alone(tb testing.TB, s store.Store, e engine.Engine) *Node {
	tb.Helper()
	n := &Node{
		member: member{proc: processOn(s, e), id: "n", cfg: &Config{Lease: 12 * time.Second, Poll: time.Second,
			Permits: semaphore.NewWeighted(8), Specs: sameSpec{}}},
		leavingCh: make(chan struct{}),
		turns:     make(map[string]*turn), residents: make(map[string]resident),
		unexecuted: make(map[store.OwnedRun]bool),
		ended:      make(map[string]endedTurn), endedBefore: make(map[string]endedTurn),
	}
	n.claims = newClaimState(&n.member)
	n.cfg.Process = n.proc
	n.live, n.die = context.WithCancelCause(tb.Context())
	n.endCtx, n.cancelEnd = context.WithCancel(tb.Context())
	return n
}
