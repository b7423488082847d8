package process

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/internal/plainfile"
	"github.com/interlude-go/interlude/internal/procid"
)

// The environment variables by which a run's processes are known: the run's id, and the token of
// the process.
const (
	EnvRun   = "INTERLUDE_RUN"
	EnvToken = "INTERLUDE_TOKEN"
)

// record is what is known of a process and all that it starts, for a host that comes later.
type record struct {
	RunID string `json:"run_id"`
	// Token is in the environment of the process and of all that it starts.
	Token string `json:"token"`
	// Worker is the identity of the host that started it (package procid): while it lives, the
	// process is its to end.
	Worker string `json:"worker,omitempty"`
	// Identity is the process's, once it is started.
	Identity string `json:"identity,omitempty"`
}

// marked is an environment with the marks of the record.
func (r record) marked(env []string) []string {
	return append(slices.Clip(env), EnvRun+"="+r.RunID, EnvToken+"="+r.Token)
}

// newRecord is the record of a process that is about to start. The token is not to be guessed.
func newRecord(runID string) record {
	return record{RunID: runID, Token: rand.Text(), Worker: procid.Self()}
}

// maxRecord bounds a record that is read, in bytes: processes of the same user could have written
// it.
const maxRecord = 16 << 10

// suffix ends the names of records; @ stands between the run's id, which cannot hold it, and the
// token.
const suffix = ".json"

func (t *Table) recordPath(r record) string {
	return filepath.Join(t.dir, r.RunID+"@"+r.Token+suffix)
}

// safeName reports whether a run's id can be a file's name; the lifecycle's always can.
func safeName(runID string) bool {
	return runID != "" && runID[0] != '.' && len(runID) <= 128 && !strings.ContainsAny(runID, "/\\@\x00")
}

// remember writes the record before the process is started, and again when its identity is known:
// what is started is always known by its token.
func (t *Table) remember(r record) error {
	if !safeName(r.RunID) {
		return fmt.Errorf("process: run id %q cannot be the name of a process record", r.RunID[:min(len(r.RunID), 40)])
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	if err := t.trusted(); err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	path := t.recordPath(r)
	half := path + halfOf(r.Worker)
	if err = durable(half, body); err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	return nil
}

// halfOf ends the name of a record that is being written. It names the writer, since what is in the
// file may not be all of it.
func halfOf(worker string) string { return "." + toName.Replace(worker) + ".new" }

// An identity holds neither of the marks that it is written with as a part of a name, where it is
// as long as before: a name is bounded.
var (
	toName   = strings.NewReplacer(" ", "_", "/", "+")
	fromName = strings.NewReplacer("_", " ", "+", "/")
)

// tidy removes what hosts that are gone left when they died while they wrote a record: the process
// was never started, or has a record.
func (t *Table) tidy(runID string, gone func(worker string) bool) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return // recall says so
	}
	for _, entry := range entries {
		name, half := strings.CutSuffix(entry.Name(), ".new")
		_, worker, named := strings.Cut(name, suffix+".")
		worker = fromName.Replace(worker)
		if half && named && (runID == "" || strings.HasPrefix(name, runID+"@")) && worker != "" && gone(worker) {
			_ = os.Remove(filepath.Join(t.dir, entry.Name()))
		}
	}
}

// trusted refuses a folder in the system's temporary one that somebody else made, or can write to:
// its records say which processes are ended. A folder that the host chose is the host's to keep.
func (t *Table) trusted() error {
	if !t.shared {
		return nil
	}
	if info, err := os.Lstat(t.dir); err != nil || !private(info) {
		return fmt.Errorf("process records: %s is not this user's alone: remove it, or choose another folder", t.dir)
	}
	return nil
}

// durable writes a file through to the disk, so that no half of it is ever found under its final
// name.
func durable(path string, body []byte) error {
	// a link that the process put there, say: it knows its token
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	return errors.Join(err, f.Sync(), f.Close())
}

// recall reads the records of the run, or all when runID is empty. What cannot be read is an error
// beside those that can.
func (t *Table) recall(runID string) (all []record, broken error) {
	entries, err := os.ReadDir(t.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("process records: %w", err)
	}
	if err := t.trusted(); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, whole := strings.CutSuffix(entry.Name(), suffix)
		id, token, marked := strings.Cut(name, "@")
		if !whole || !marked || runID != "" && id != runID {
			continue
		}
		want := record{RunID: id, Token: token}
		body, err := plainfile.Read(t.dir, entry.Name(), maxRecord)
		if errors.Is(err, os.ErrNotExist) {
			continue // its host ended it meanwhile
		}
		var r record
		if err == nil {
			err = json.Unmarshal(body, &r)
		}
		if err == nil && (r.RunID != id || r.Token != token) {
			err = errors.New("it is of another process")
		}
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("process record %s: %w", t.recordPath(want), err))
			continue
		}
		all = append(all, r)
	}
	return all, broken
}

func (t *Table) forget(r record) { _ = os.Remove(t.recordPath(r)) }
