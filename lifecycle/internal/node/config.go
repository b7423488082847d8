package node

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Config configures the nodes of a process. All fields except Folders are required.
type Config struct {
	Process *Process
	// Lease, Grace and Poll are from lifecycle.Config, with defaults applied.
	Lease, Grace, Poll time.Duration
	// Pace is the interval of heartbeats and recovery passes; a third of Lease if zero.
	Pace time.Duration
	// Engines are the names of the engines, sorted.
	Engines []string
	Folders Folders
	// Permits bounds the process's turns: each executing turn holds one.
	Permits *semaphore.Weighted
	Specs   Specs
	// Subscribe calls onHint, which does not block, for each hint of the store, until stop is called.
	Subscribe func(onHint func(store.Hint)) (stop func())
}

// Spec has the fields of a run's specification that its turns need.
type Spec struct {
	Prompt       string
	Input        json.RawMessage
	OutputSchema json.RawMessage
	Mode         fsm.Mode
	WorkDir      string
	Meta         map[string]string
	TurnTimeout  time.Duration
	RepairRounds int
	MaxQuestions int
	Retry        *store.Retry
	Ask          *interaction.AskPolicy
	Submitter    string
	// Stored is the stored form, without a fork's inheritance, for Specs.Child.
	Stored []byte
}

// Specs decodes and makes stored specifications, whose form only package lifecycle knows.
type Specs interface {
	// Decode decodes a run's stored specification and, for a fork, its inheritance.
	Decode(runID string, stored []byte) (Spec, *decide.Origin, error)
	// Child makes a child's record and stored specification. Fields missing in c are the parent's.
	Child(parentID string, parent *Spec, id string, c *engine.Child, now time.Time) (store.Run, []byte, error)
}

// Notices informs the host. Its methods must not block, and retain no record.
type Notices interface {
	// Committed is called for each stored commit.
	Committed(cm *store.Commit)
	// Claimed is called for each run whose turn a claim has started.
	Claimed(run *store.Run)
	// StartTurn is called before the engine executes a turn. It returns the engine's context, nil for
	// ctx, and the turn's trace.
	StartTurn(ctx context.Context, run *store.Run, at time.Time, meta map[string]string) (
		forEngine context.Context, trace string)
	// TurnEnded is called at a turn's end, with the latest known record.
	TurnEnded(run *store.Run, turn EndedTurn)
}

type EndedTurn struct {
	Stored  bool // the turn's end was stored
	Queued  time.Duration
	Usage   store.Usage
	Meta    map[string]string
	Context context.Context //nolint:containedctx // what StartTurn returned; it ends nothing here
}

// member is the part of a Node that its turns and claims use.
type member struct {
	proc *Process
	cfg  *Config
	id   string
	// live ends when the node may not execute any more, which ends turns and their commits. A shutdown
	// ends it after the turns, or when they take too long.
	live context.Context //nolint:containedctx // the life of the node, not of a call
}
