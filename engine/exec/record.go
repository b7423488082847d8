package exec

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The environment variables by which a run's processes are known.
const (
	envRun   = "INTERLUDE_RUN"
	envToken = "INTERLUDE_TOKEN"
)

// record is what is known of the processes of a run, for a host that comes later.
type record struct {
	RunID string `json:"run_id"`
	// Token is in the environment of the process and of all that it starts.
	Token string `json:"token"`
	// Identity is the process's, once it is started (package procid).
	Identity string `json:"identity,omitempty"`
}

// recordPath is a file's name by run id, which is a safe name (lifecycle.Spec).
func (e *Engine) recordPath(runID string) string {
	return filepath.Join(e.cfg.StateDir, filepath.Base(runID)+".json")
}

// remember writes the record before the process is started, and again when its identity is known: what is
// started is always known by its token.
func (e *Engine) remember(r record) error {
	if err := os.MkdirAll(e.cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	path := e.recordPath(r.RunID)
	if err := os.WriteFile(path+".new", body, 0o600); err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	return nil
}

// recall reads the record of a run; ok is false when there is none.
func (e *Engine) recall(runID string) (r record, ok bool, _ error) {
	body, err := os.ReadFile(e.recordPath(runID))
	if errors.Is(err, os.ErrNotExist) {
		return record{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err == nil && (r.RunID != runID || r.Token == "") {
		err = errors.New("it is another run's")
	}
	if err != nil {
		return record{}, false, fmt.Errorf("process record %s: %w", e.recordPath(runID), err)
	}
	return r, true, nil
}

func (e *Engine) forget(runID string) { _ = os.Remove(e.recordPath(runID)) }

// newToken is not to be guessed.
func newToken() string { return rand.Text() }
