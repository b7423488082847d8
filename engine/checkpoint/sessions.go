package checkpoint

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// Sessions keeps an engine's sessions in versions, and makes and reads the handles that name them.
// It is safe for concurrent use.
type Sessions struct {
	// Engine is the engine's name in its handles, Version the version of what it writes into them
	// and into versions. Handles of others are refused.
	Engine, Version string
	// Revision is the revision of the host's own graph or agent, empty when it has none. Handles of
	// another revision are refused.
	Revision string
	// Store keeps the versions. Nil: each run's are files in its own folder, Turn.HomeDir.
	Store Store
}

// inHome is the folder in a run's own one where its versions are.
const inHome = "checkpoints"

// note is what a handle says.
type note struct {
	Run      string `json:"run"`
	Revision string `json:"revision,omitempty"`
	// Key names the version; it is empty until a turn has left one: then the run begins anew.
	Key string `json:"key,omitempty"`
	Sum string `json:"sum,omitempty"` // of the version, SHA-256
	// Home is where the version is when it is in the run's own folder: Check is given no turn.
	Home string `json:"home,omitempty"`
	// Older are the versions before, the latest first.
	Older []string `json:"older,omitempty"`
	// Interrupts are the framework's names of what the run waits for, for people who look.
	Interrupts []string `json:"interrupts,omitempty"`
}

// A handle names so many of each at most, so that its size is bounded.
const (
	keptOlder      = 2
	keptInterrupts = 32
	maxInterrupt   = 512
)

// Fresh is the handle of a run that has left no version yet. An engine tells it as soon as its
// first turn begins: a turn that is lost before it ends is then begun anew.
func (s Sessions) Fresh(t engine.Turn) (engine.SessionHandle, error) {
	return s.handle(note{Run: t.RunID, Revision: s.Revision})
}

// Load returns the version that the turn goes on from, nil when it begins anew. An error is a
// Failure: SESSION_RESUME_FAILED when the handle cannot be resumed, ENGINE_FAILED when the store
// could not tell, also not when it was asked again. Versions that nobody will come back to are
// removed.
func (s Sessions) Load(ctx context.Context, t engine.Turn) ([]byte, error) {
	if t.Session == nil {
		return nil, nil
	}
	body, n, err := s.load(ctx, t)
	switch {
	case errors.Is(err, engine.ErrHandleRefused):
		return nil, &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the session cannot be resumed",
			Err: err}
	case err != nil:
		return nil, failed(ctx, "the session cannot be read now", err)
	}
	s.forget(ctx, t, n)
	return body, nil
}

func (s Sessions) load(ctx context.Context, t engine.Turn) ([]byte, note, error) {
	n, err := s.note(t.RunID, *t.Session)
	if err != nil || n.Key == "" {
		return nil, n, err
	}
	kept, err := s.of(t)
	if err != nil {
		return nil, n, err
	}
	var body []byte
	err = retry(ctx, func() (err error) {
		body, err = read(ctx, kept, n)
		return err
	})
	return body, n, err
}

// of is where the versions of the turn's run are.
func (s Sessions) of(t engine.Turn) (Store, error) {
	switch {
	case s.Store != nil:
		return s.Store, nil
	case t.HomeDir == "":
		return nil, errors.New("checkpoint: the run has no folder of its own: set lifecycle.Config.Dir, or the " +
			"engine's folder or store")
	}
	return Files{Dir: filepath.Join(t.HomeDir, inHome)}, nil
}

// Save stores body as a new version of the turn's session and returns the handle that names it. The
// interrupts are kept in the handle for people who look. An error is a Failure.
func (s Sessions) Save(ctx context.Context, t engine.Turn, body []byte, interrupts ...string) (engine.SessionHandle,
	error) {
	if len(body) > MaxBody {
		return engine.SessionHandle{}, &engine.Failure{
			Code: fsm.CodeEngineFailed, Detail: fmt.Sprintf("the checkpoint has %d bytes, want at most %d", len(body),
				MaxBody),
		}
	}
	n := note{Run: t.RunID, Revision: s.Revision, Sum: sum(body)}
	kept, err := s.of(t)
	if err != nil {
		return engine.SessionHandle{}, &engine.Failure{Code: fsm.CodeEngineUnavailable,
			Detail: "the checkpoint has no place", Err: err}
	}
	if s.Store == nil {
		n.Home = t.HomeDir
	}
	for _, id := range interrupts[:min(len(interrupts), keptInterrupts)] {
		n.Interrupts = append(n.Interrupts, id[:min(len(id), maxInterrupt)])
	}
	if t.Session != nil {
		if before, err := s.note(t.RunID, *t.Session); err == nil && before.Key != "" {
			n.Older = append([]string{before.Key}, before.Older...)
			n.Older = n.Older[:min(len(n.Older), keptOlder)]
		}
	}
	err = retry(ctx, func() error { // each time under another key: nobody knows what came of the one before
		n.Key = fmt.Sprintf("%s/%d-%d-%s", t.RunID, t.Attempt, t.Epoch, rand.Text())
		return kept.Set(ctx, n.Key, body)
	})
	if err != nil {
		return engine.SessionHandle{}, failed(ctx, "the checkpoint could not be stored", err)
	}
	return s.handle(n)
}

// failed is the failure of a turn whose store did not do what it was asked, or that was ended while
// it was asked again.
func failed(ctx context.Context, detail string, err error) error {
	code := fsm.CodeEngineFailed
	switch {
	case errors.Is(context.Cause(ctx), engine.ErrTurnTimeout):
		code = fsm.CodeTurnTimeout
	case ctx.Err() != nil:
		code = fsm.CodeTurnInterrupted
	}
	return &engine.Failure{Code: code, Detail: detail, Err: err}
}

// Check is engine.Checker's: ErrHandleRefused when the version that the handle names is missing,
// spoiled, or of another engine, format, revision or run. When the run's own folder is not where it
// was, that is not known.
func (s Sessions) Check(ctx context.Context, runID string, h engine.SessionHandle) error {
	n, err := s.note(runID, h)
	if err != nil || n.Key == "" {
		return err
	}
	kept := s.Store
	if kept == nil {
		if _, err := os.Stat(n.Home); err != nil {
			return fmt.Errorf("checkpoint: the run's own folder: %w", err)
		}
		kept = Files{Dir: filepath.Join(n.Home, inHome)}
	}
	_, err = read(ctx, kept, n)
	return err
}

func (s Sessions) handle(n note) (engine.SessionHandle, error) {
	data, err := json.Marshal(n)
	if err == nil && len(data) > engine.MaxSessionHandle {
		err = fmt.Errorf("%d bytes, want at most %d", len(data), engine.MaxSessionHandle)
	}
	if err != nil {
		return engine.SessionHandle{}, &engine.Failure{Code: fsm.CodeEngineFailed,
			Detail: "the session handle cannot be made", Err: err}
	}
	return engine.SessionHandle{Engine: s.Engine, Version: s.Version, Data: data}, nil
}

// note reads a handle.
func (s Sessions) note(runID string, h engine.SessionHandle) (note, error) {
	var n note
	if h.Engine != s.Engine || h.Version != s.Version {
		return n, fmt.Errorf("%w: it is of %s version %q, and this is %s version %q", engine.ErrHandleRefused, h.Engine,
			h.Version, s.Engine, s.Version)
	}
	if err := json.Unmarshal(h.Data, &n); err != nil {
		return n, fmt.Errorf("%w: %w", engine.ErrHandleRefused, err)
	}
	if n.Run != runID {
		return n, fmt.Errorf("%w: it is of run %q, and this is run %q", engine.ErrHandleRefused, n.Run, runID)
	}
	if n.Revision != s.Revision {
		return n, fmt.Errorf("%w: it is of revision %q, and this is revision %q", engine.ErrHandleRefused, n.Revision,
			s.Revision)
	}
	return n, nil
}

func read(ctx context.Context, kept Store, n note) ([]byte, error) {
	body, found, err := kept.Get(ctx, n.Key)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("%w: checkpoint %s is missing", engine.ErrHandleRefused, n.Key)
	case sum(body) != n.Sum:
		return nil, fmt.Errorf("%w: checkpoint %s is not what was stored", engine.ErrHandleRefused, n.Key)
	}
	return body, nil
}

// forget removes what is older than the version before the one that the run goes on from. An
// attempt that has lost its run removes no more by this: its handle is older, and so is all that it
// names. One that cannot be removed takes up room, and nothing else.
func (s Sessions) forget(ctx context.Context, t engine.Turn, n note) {
	kept, err := s.of(t)
	d, ok := kept.(Deleter)
	if err != nil || !ok || len(n.Older) < keptOlder {
		return
	}
	for _, key := range n.Older[keptOlder-1:] {
		_ = d.Delete(ctx, key)
	}
}

func sum(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:])
}
