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

// The environment variables that mark a run's processes: the run's id, and the token of the
// process.
const (
	EnvRun   = "INTERLUDE_RUN"
	EnvToken = "INTERLUDE_TOKEN"
)

// record describes a process and its descendants for a later host.
type record struct {
	RunID string `json:"run_id"`
	// Token is in the environment of the process and its descendants.
	Token string `json:"token"`
	// Worker is the identity of the host that started the process (package procid). While it lives,
	// no other host ends the process.
	Worker string `json:"worker,omitempty"`
	// Identity is the process's identity, once it is started.
	Identity string `json:"identity,omitempty"`
	// Temp is the process's temporary folder, recorded before it exists and removed after its end.
	Temp string `json:"temp,omitempty"`
}

func (r record) marked(env []string) []string {
	return append(slices.Clip(env), EnvRun+"="+r.RunID, EnvToken+"="+r.Token)
}

// newRecord is the record of a process about to start, with an unguessable token.
func newRecord(runID string) record {
	return record{RunID: runID, Token: rand.Text(), Worker: procid.Self()}
}

// maxRecord limits the record that is read, in bytes: other processes of the user could have
// written it.
const maxRecord = 16 << 10

// suffix ends the names of records; @ separates the run's id, which cannot contain it, from the
// token.
const suffix = ".json"

func (t *Table) recordPath(r record) string {
	return filepath.Join(t.dir, r.RunID+"@"+r.Token+suffix)
}

// safeName reports whether a run's id is a valid file name; the lifecycle's ids always are.
func safeName(runID string) bool {
	return runID != "" && runID[0] != '.' && len(runID) <= 128 && !strings.ContainsAny(runID, "/\\@\x00")
}

// write writes the record before the process is started, and again with its identity, so a process
// always has a record with its token.
func (t *Table) write(r record) error {
	if !safeName(r.RunID) {
		return fmt.Errorf("process: run id %q cannot be the name of a process record", r.RunID[:min(len(r.RunID), 40)])
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	if err := t.checkFolder(); err != nil {
		return err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	path := t.recordPath(r)
	partial := path + partialSuffix(r.Worker)
	if err = writeDurably(partial, body); err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	return nil
}

// partialSuffix ends the name of a record being written. The name includes the writer: if it dies,
// the content may be incomplete.
func partialSuffix(worker string) string { return "." + escapeIdentity.Replace(worker) + ".new" }

// An identity in a file name cannot contain spaces or slashes. They are replaced by characters that
// no identity has, without changing the length, because names have a limit.
var (
	escapeIdentity   = strings.NewReplacer(" ", "_", "/", "+")
	unescapeIdentity = strings.NewReplacer("_", " ", "+", "/")
)

// removePartial removes the incomplete records of hosts that died while writing them. Their process
// was never started, or also has a complete record.
func (t *Table) removePartial(runID string, gone func(worker string) bool) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return // readRecords reports it
	}
	for _, entry := range entries {
		name, partial := strings.CutSuffix(entry.Name(), ".new")
		_, worker, named := strings.Cut(name, suffix+".")
		worker = unescapeIdentity.Replace(worker)
		if partial && named && (runID == "" || strings.HasPrefix(name, runID+"@")) && worker != "" && gone(worker) {
			_ = os.Remove(filepath.Join(t.dir, entry.Name()))
		}
	}
}

// checkFolder refuses a folder in the system's temporary folder that another user created or can
// write to, because its records determine which processes are ended. The host is responsible for a
// folder that it chose.
func (t *Table) checkFolder() error {
	if !t.shared {
		return nil
	}
	if info, err := os.Lstat(t.dir); err != nil || !private(info) {
		return fmt.Errorf("process records: %s must belong to this user only: remove it, or choose another "+
			"folder", t.dir)
	}
	return nil
}

// writeDurably writes a file through to the disk, so the final name never has incomplete content.
func writeDurably(path string, body []byte) error {
	// The process knows its token and may have created this path, for example as a link.
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

// readRecords reads the records of the run, or all if runID is empty. It returns the readable ones,
// and an error for the others.
func (t *Table) readRecords(runID string) (all []record, broken error) {
	entries, err := os.ReadDir(t.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("process records: %w", err)
	}
	if err := t.checkFolder(); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, complete := strings.CutSuffix(entry.Name(), suffix)
		id, token, named := strings.Cut(name, "@")
		if !complete || !named || runID != "" && id != runID {
			continue
		}
		want := record{RunID: id, Token: token}
		body, err := plainfile.Read(t.dir, entry.Name(), maxRecord)
		if errors.Is(err, os.ErrNotExist) {
			continue // its host has just ended it
		}
		var r record
		if err == nil {
			err = json.Unmarshal(body, &r)
		}
		if err == nil && (r.RunID != id || r.Token != token) {
			err = errors.New("it belongs to another process")
		}
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("process record %s: %w", t.recordPath(want), err))
			continue
		}
		all = append(all, r)
	}
	return all, broken
}

func (t *Table) remove(r record) { _ = os.Remove(t.recordPath(r)) }
