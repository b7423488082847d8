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
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// Sessions stores an engine's sessions as versions, and makes and reads the handles that name them.
// It is safe for concurrent use.
type Sessions struct {
	// Engine is the engine's name in its handles, Version the format of handles and versions. Other
	// handles are refused.
	Engine, Version string
	// Revision is the revision of the host's graph or agent; empty: none. Handles of another
	// revision are refused.
	Revision string
	// Store stores the versions. Nil: files in the run's folder, Turn.HomeDir.
	Store Store
}

const homeFolder = "checkpoints"

type handleData struct {
	Run      string `json:"run"`
	Revision string `json:"revision,omitempty"`
	// Key names the version. Until a turn has saved one, it is empty, and the next turn starts a
	// new session.
	Key string `json:"key,omitempty"`
	Sum string `json:"sum,omitempty"` // of the version, SHA-256
	// Home is the run's folder if the version is in it: Check does not get the turn.
	Home string `json:"home,omitempty"`
	// Older are earlier versions, latest first.
	Older []string `json:"older,omitempty"`
	// Interrupts are the framework's names of the run's interrupts, for people.
	Interrupts []string `json:"interrupts,omitempty"`
}

// Limits that bound the size of a handle.
const (
	maxOlder       = 2
	maxInterrupts  = 32
	maxInterruptID = 512
)

// Fresh returns the handle of a run without a version. An engine stores it when the first turn
// begins, so that a lost first turn is repeated from the beginning.
func (s Sessions) Fresh(t engine.Turn) (engine.SessionHandle, error) {
	return s.handle(handleData{Run: t.RunID, Revision: s.Revision})
}

// Load returns the version for the turn; nil for a new session. An error is a Failure:
// SESSION_RESUME_FAILED if the handle cannot be resumed, ENGINE_FAILED if the store still fails
// after retries. Unneeded versions are removed.
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
		f := failed(ctx, "the session cannot be read now", err)
		f.Transient = engine.PassingError(err) // nothing was executed yet
		return nil, f
	}
	s.deleteOld(ctx, t, n)
	return body, nil
}

func (s Sessions) load(ctx context.Context, t engine.Turn) ([]byte, handleData, error) {
	n, err := s.readHandle(t.RunID, *t.Session)
	if err != nil || n.Key == "" {
		return nil, n, err
	}
	st, err := s.storeOf(t)
	if err != nil {
		return nil, n, err
	}
	var body []byte
	err = retry(ctx, func() (err error) {
		body, err = read(ctx, st, n)
		return err
	})
	return body, n, err
}

func (s Sessions) storeOf(t engine.Turn) (Store, error) {
	switch {
	case s.Store != nil:
		return s.Store, nil
	case t.HomeDir == "":
		return nil, errors.New("checkpoint: the run has no folder: configure one for runs, or the engine's " +
			"folder or store")
	}
	return Files{Dir: filepath.Join(t.HomeDir, homeFolder)}, nil
}

// Save stores body as a new version of the turn's session and returns its handle. The handle lists
// the interrupts, for people. An error is a Failure.
func (s Sessions) Save(ctx context.Context, t engine.Turn, body []byte, interrupts ...string) (engine.SessionHandle,
	error) {
	if len(body) > MaxBody {
		return engine.SessionHandle{}, &engine.Failure{
			Code: fsm.CodeEngineFailed, Detail: fmt.Sprintf("the checkpoint has %d bytes, want at most %d", len(body),
				MaxBody),
		}
	}
	n := handleData{Run: t.RunID, Revision: s.Revision, Sum: sum(body)}
	st, err := s.storeOf(t)
	if err != nil {
		return engine.SessionHandle{}, &engine.Failure{Code: fsm.CodeEngineUnavailable,
			Detail: "the checkpoint has no place", Err: err}
	}
	if s.Store == nil {
		n.Home = t.HomeDir
	}
	for _, id := range interrupts[:min(len(interrupts), maxInterrupts)] {
		n.Interrupts = append(n.Interrupts, id[:min(len(id), maxInterruptID)])
	}
	if t.Session != nil {
		if before, err := s.readHandle(t.RunID, *t.Session); err == nil && before.Key != "" {
			n.Older = append([]string{before.Key}, before.Older...)
			n.Older = n.Older[:min(len(n.Older), maxOlder)]
		}
	}
	err = retry(ctx, func() error { // each time with a new key: a failed write may have stored the version
		n.Key = fmt.Sprintf("%s/%d-%d-%s", t.RunID, t.Attempt, t.Epoch, rand.Text())
		return st.Set(ctx, n.Key, body)
	})
	if err != nil {
		return engine.SessionHandle{}, failed(ctx, "the checkpoint could not be stored", err)
	}
	return s.handle(n)
}

// failed is the failure of a turn whose store failed, or that ended during the retries.
func failed(ctx context.Context, detail string, err error) *engine.Failure {
	code := fsm.CodeEngineFailed
	switch {
	case errors.Is(context.Cause(ctx), engine.ErrTurnTimeout):
		code = fsm.CodeTurnTimeout
	case ctx.Err() != nil:
		code = fsm.CodeTurnInterrupted
	}
	return &engine.Failure{Code: code, Detail: detail, Err: err}
}

// Resumable has the engine methods that need only Sessions: Profile, and the methods of
// engine.Checker and engine.Brancher. The engine embeds it. Use Sessions.Resumable.
type Resumable struct {
	sessions Sessions
	reason   string
	change   func(ctx context.Context, t engine.Turn, body []byte) ([]byte, error)
}

// Resumable returns the methods of an engine with these sessions. The reason is its profile's.
// change adapts a version for a fork; it gets the fork's first turn.
func (s Sessions) Resumable(reason string,
	change func(ctx context.Context, t engine.Turn, body []byte) ([]byte, error)) Resumable {
	return Resumable{s, reason, change}
}

// Profile is resumable: sessions outlive the process.
func (r Resumable) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: fsm.ProfileResumable, Reason: r.reason}, nil
}

// Check implements engine.Checker. It returns ErrHandleRefused if the version of the handle is
// missing, has changed, or belongs to another engine, format, revision or run. If the run's folder
// is missing, the error is another one, because the answer is not known.
func (r Resumable) Check(ctx context.Context, runID string, h engine.SessionHandle) error {
	s := r.sessions
	n, err := s.readHandle(runID, h)
	if err != nil || n.Key == "" {
		return err
	}
	st := s.Store
	if st == nil {
		if _, err := os.Stat(n.Home); err != nil {
			return fmt.Errorf("checkpoint: the run's own folder: %w", err)
		}
		st = Files{Dir: filepath.Join(n.Home, homeFolder)}
	}
	_, err = read(ctx, st, n)
	return err
}

// CanBranch implements engine.Brancher. It returns the reason if the handle's version is missing:
// versions that no attempt of the run needs any more are deleted, a question's two turns later.
func (r Resumable) CanBranch(ctx context.Context, p engine.BranchPoint) error {
	return r.Check(ctx, p.RunID, p.Session)
}

// Branch implements engine.Brancher: it stores the version of the point, adapted by the engine, as
// the first version of t's run, and returns its handle. Errors are Failures, as from Load.
func (r Resumable) Branch(ctx context.Context, p engine.BranchPoint, t engine.Turn) (engine.SessionHandle, error) {
	s := r.sessions
	source := engine.Turn{RunID: p.RunID, HomeDir: p.HomeDir, Session: &p.Session}
	body, n, err := s.load(ctx, source)
	switch {
	case errors.Is(err, engine.ErrHandleRefused):
		return engine.SessionHandle{}, &engine.Failure{Code: fsm.CodeSessionResumeFailed,
			Detail: "the session cannot be branched", Err: err}
	case err != nil:
		return engine.SessionHandle{}, failed(ctx, "the session cannot be read now", err)
	case n.Key == "":
		return s.Fresh(t)
	}
	if body, err = r.change(ctx, t, body); err != nil {
		return engine.SessionHandle{}, err
	}
	t.Session = nil // versions of another run are not older versions of this one
	return s.Save(ctx, t, body, n.Interrupts...)
}

// CheckReply returns a Failure if the turn starts with a reply to no question, as in a fork from
// the end of a run, and its version waits for an answer.
func CheckReply(t engine.Turn, waits bool) error {
	if !waits || !slices.ContainsFunc(t.Answers, func(a engine.Answer) bool { return a.ID == 0 }) {
		return nil
	}
	return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the session ended where the last question was " +
		"asked, so it takes no other message: fork the run at that question"}
}

func (s Sessions) handle(n handleData) (engine.SessionHandle, error) {
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

// readHandle decodes a handle. The error wraps engine.ErrHandleRefused for a handle of another
// engine, version, revision or run.
func (s Sessions) readHandle(runID string, h engine.SessionHandle) (handleData, error) {
	var n handleData
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

func read(ctx context.Context, st Store, n handleData) ([]byte, error) {
	body, found, err := st.Get(ctx, n.Key)
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

// deleteOld deletes the versions older than the predecessor of the run's current one. An attempt
// that has lost its run has older handles, so it deletes nothing that the run needs. Errors are
// ignored: a leftover version does no harm.
func (s Sessions) deleteOld(ctx context.Context, t engine.Turn, n handleData) {
	st, err := s.storeOf(t)
	d, ok := st.(Deleter)
	if err != nil || !ok || len(n.Older) < maxOlder {
		return
	}
	for _, key := range n.Older[maxOlder-1:] {
		_ = d.Delete(ctx, key)
	}
}

func sum(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:])
}
