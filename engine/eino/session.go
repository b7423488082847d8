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

// session is the data for the next turn: a version of package checkpoint, as JSON.
type session struct {
	// Open is the interrupt that waits for its answer, and Together are several that wait together.
	// At most one field is set.
	Open     *openInterrupt  `json:"open,omitempty"`
	Together []openInterrupt `json:"together,omitempty"`
	// Checkpoints are Eino's, by their ids.
	Checkpoints map[string][]byte `json:"checkpoints,omitempty"`
	// Past is the conversation: for a graph the turns that ended without an interrupt, for an agent
	// all turns.
	Past []*schema.Message `json:"past,omitempty"`
}

// openInterrupt is an interrupt about which a person was asked.
type openInterrupt struct {
	ID       string               `json:"id"`
	Address  string               `json:"address"`
	Gate     bool                 `json:"gate,omitempty"`
	Question interaction.Question `json:"question"`
}

// asked are the interrupts that wait for their answers.
func (s *session) asked() []openInterrupt {
	if s.Open != nil {
		return []openInterrupt{*s.Open}
	}
	return s.Together
}

// setOpen sets the waiting interrupts. A single one is stored as by earlier releases.
func (s *session) setOpen(open []openInterrupt) {
	if s.Together = open; len(open) == 1 {
		s.Open, s.Together = &open[0], nil
	}
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

// Checkpoints is the checkpoint store with which a graph must be compiled for New; Compile sets it.
// It reads the checkpoints of the session that the turn continues, and writes become part of the
// turn's outcome. Outside of a turn it returns errors. A graph that runs within a node may use it
// too, with a different checkpoint id.
func Checkpoints() compose.CheckPointStore { return contextCheckpoints{} }

type contextCheckpoints struct{}

func (contextCheckpoints) Get(ctx context.Context, id string) ([]byte, bool, error) {
	p, err := turnOf(ctx)
	if err != nil {
		return nil, false, err
	}
	return p.checkpoints.Get(ctx, id)
}

func (contextCheckpoints) Set(ctx context.Context, id string, body []byte) error {
	p, err := turnOf(ctx)
	if err != nil {
		return err
	}
	return p.checkpoints.Set(ctx, id, body)
}

// turnCheckpoints are the checkpoints of one turn for Eino: those in the continued session,
// replaced by the turn's. They are stored as one version when the turn ends.
type turnCheckpoints struct {
	mu   sync.Mutex
	byID map[string][]byte // guarded by mu
}

func (p *turnCheckpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, found := p.byID[id]
	return body, found, nil
}

// Set sets a checkpoint. It is stored when the turn ends.
func (p *turnCheckpoints) Set(_ context.Context, id string, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = make(map[string][]byte)
	}
	p.byID[id] = append([]byte(nil), body...)
	return nil
}

func (p *turnCheckpoints) all() map[string][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	byID := make(map[string][]byte, len(p.byID))
	for id, body := range p.byID {
		byID[id] = body
	}
	return byID
}

var errNoTurn = errors.New("eino: this context belongs to no turn: use the context that the node got")
