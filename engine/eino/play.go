package eino

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"github.com/interlude-go/interlude/engine"
)

// play is a turn under way.
type play struct {
	turn   engine.Turn
	sink   engine.Sink
	cancel context.CancelCauseFunc
	open   *open // what the turn resumes; nil when it starts the graph or agent
	data   any   // what it is resumed with
	past   []*schema.Message
	pages  *pages
	usage  usage
	begun  atomic.Bool // a node of the graph has begun
}

type turnKey struct{}

// playing finds the turn of a context.
func playing(ctx context.Context) (*play, error) {
	p, ok := ctx.Value(turnKey{}).(*play)
	if !ok {
		return nil, errNoTurn
	}
	return p, nil
}

// say tells an intermediate message. A turn that is no longer its run's is ended at once, even if
// whoever speaks does not listen.
func (p *play) say(ctx context.Context, text string) error {
	err := p.sink.Message(ctx, engine.Message{Text: text})
	if errors.Is(err, engine.ErrStale) {
		p.cancel(err)
	}
	return err
}

// Say tells an intermediate message of the assistant, from within a node or tool; ctx is the one
// that it was given. A node that gets an error should return it: the turn is no longer the run's
// (engine.ErrStale), or the store is out of order.
func Say(ctx context.Context, text string) error {
	p, err := playing(ctx)
	if err != nil {
		return err
	}
	return p.say(ctx, text)
}

// Turn returns the turn that a node or tool runs in, as for its folders; ctx is the one that it was
// given. False: it belongs to none.
func Turn(ctx context.Context) (engine.Turn, bool) {
	p, err := playing(ctx)
	if err != nil {
		return engine.Turn{}, false
	}
	return p.turn, true
}

// usage sums up what the models of a turn took.
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
