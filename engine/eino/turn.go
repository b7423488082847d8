package eino

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"github.com/interlude-go/interlude/engine"
)

// activeTurn is a turn in which a graph or agent runs.
type activeTurn struct {
	turn   engine.Turn
	sink   engine.Sink
	cancel context.CancelCauseFunc
	open   []openInterrupt // that the turn resumes; none when it starts the graph or agent
	data   map[string]any  // with which they are resumed, by their ids
	// history is the earlier conversation, and what this turn adds.
	history     []*schema.Message
	checkpoints *turnCheckpoints
	usage       usage
	nodeStarted atomic.Bool // a node of the graph has started
}

type turnKey struct{}

// turnOf returns the turn of a context.
func turnOf(ctx context.Context) (*activeTurn, error) {
	p, ok := ctx.Value(turnKey{}).(*activeTurn)
	if !ok {
		return nil, errNoTurn
	}
	return p, nil
}

// say stores an intermediate message. When the attempt is no longer the run's, it cancels the turn,
// also when the caller ignores the error.
func (p *activeTurn) say(ctx context.Context, text string) error {
	err := p.sink.Message(ctx, engine.Message{Text: text})
	if errors.Is(err, engine.ErrStale) {
		p.cancel(err)
	}
	return err
}

// Say stores an intermediate message of the assistant. Call it from within a node or tool, with the
// context that the call was given. A node that gets an error should return it: the attempt is no
// longer the run's (engine.ErrStale), or the store has failed.
func Say(ctx context.Context, text string) error {
	p, err := turnOf(ctx)
	if err != nil {
		return err
	}
	return p.say(ctx, text)
}

// Turn returns the turn that a node or tool runs in, as for its folders; ctx is the one that it was
// given. False: it belongs to none.
func Turn(ctx context.Context) (engine.Turn, bool) {
	p, err := turnOf(ctx)
	if err != nil {
		return engine.Turn{}, false
	}
	return p.turn, true
}

// usage sums up the tokens that the models of a turn used.
type usage struct {
	mu  sync.Mutex
	all engine.Usage // guarded by mu
}

func (u *usage) add(in, out int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all.InputTokens += int64(in)
	u.all.OutputTokens += int64(out)
}

func (u *usage) sum() engine.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all
}
