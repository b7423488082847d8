package eino

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/interlude-go/interlude/interaction"
)

// session is what a turn leaves for the next one: a version of package checkpoint, as JSON.
type session struct {
	// Open is the interrupt that waits for its answer; nil when none does.
	Open *open `json:"open,omitempty"`
	// Checkpoints are Eino's, by their ids.
	Checkpoints map[string][]byte `json:"checkpoints,omitempty"`
	// Past is what was said: by graphs in turns that ended without an interrupt, by agents in all.
	Past []*schema.Message `json:"past,omitempty"`
}

// open is an interrupt that was asked.
type open struct {
	ID       string               `json:"id"`
	Address  string               `json:"address"`
	Gate     bool                 `json:"gate,omitempty"`
	Question interaction.Question `json:"question"`
}

func readSession(body []byte) (*session, error) {
	var s session
	if body == nil {
		return &s, nil
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("eino: read session: %w", err)
	}
	return &s, nil
}

// Checkpoints is the checkpoint store that a graph must be compiled with for New; Compile sets it.
// It reads what the turn's session has and writes what its outcome will have, so it is of no use
// outside a turn. A graph that runs within a node may use it too, with a checkpoint id of its own.
func Checkpoints() compose.CheckPointStore { return inTurn{} }

// inTurn leads to the turn that the context belongs to.
type inTurn struct{}

func (inTurn) Get(ctx context.Context, id string) ([]byte, bool, error) {
	p, err := playing(ctx)
	if err != nil {
		return nil, false, err
	}
	return p.pages.Get(ctx, id)
}

func (inTurn) Set(ctx context.Context, id string, body []byte) error {
	p, err := playing(ctx)
	if err != nil {
		return err
	}
	return p.pages.Set(ctx, id, body)
}

// pages are the checkpoints of one turn, as Eino sees them: those of the session that it goes on
// from, and over them its own. They are stored as one version when the turn ends.
type pages struct {
	mu   sync.Mutex
	byID map[string][]byte // guarded by mu
}

// Get returns a checkpoint.
func (p *pages) Get(_ context.Context, id string) ([]byte, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, found := p.byID[id]
	return body, found, nil
}

// Set keeps a checkpoint for the end of the turn.
func (p *pages) Set(_ context.Context, id string, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = make(map[string][]byte)
	}
	p.byID[id] = append([]byte(nil), body...)
	return nil
}

// all returns the checkpoints as they are now.
func (p *pages) all() map[string][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	byID := make(map[string][]byte, len(p.byID))
	for id, body := range p.byID {
		byID[id] = body
	}
	return byID
}

var errNoTurn = errors.New("eino: this context belongs to no turn: pass on the one that the node was given")
