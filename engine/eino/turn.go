package eino

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"github.com/interlude-go/interlude/engine"
)

type activeTurn struct {
	turn   engine.Turn
	sink   engine.Sink
	cancel context.CancelCauseFunc
	open   []openInterrupt // resumed by the turn; none if it starts the graph or agent
	data   map[string]any  // the resume data, by id
	// history is the earlier conversation, with this turn's additions.
	history     []*schema.Message
	checkpoints *turnCheckpoints
	usage       usage
	nodeStarted atomic.Bool // a node of the graph has started
}

type turnKey struct{}

func turnOf(ctx context.Context) (*activeTurn, error) {
	p, ok := ctx.Value(turnKey{}).(*activeTurn)
	if !ok {
		return nil, errNoTurn
	}
	return p, nil
}

// say stores an intermediate message. If the run no longer belongs to this attempt, it cancels the
// turn, even if the caller ignores the error.
func (p *activeTurn) say(ctx context.Context, text string) error {
	err := p.sink.Message(ctx, engine.Message{Text: text})
	if errors.Is(err, engine.ErrStale) {
		p.cancel(err)
	}
	return err
}

// Say stores an intermediate message of the assistant. Call it within a node or tool, with the
// call's context. A node that gets an error should return it: the run no longer belongs to this
// attempt (engine.ErrStale), or the store has failed.
func Say(ctx context.Context, text string) error {
	p, err := turnOf(ctx)
	if err != nil {
		return err
	}
	return p.say(ctx, text)
}

// Turn returns the turn in which a node or tool runs, for example for its folders; ctx is the
// call's context. False: outside of a turn.
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
