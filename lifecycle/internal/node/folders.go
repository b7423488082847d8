package node

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/interlude-go/interlude/internal/plainfile"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

type Folders struct {
	Dir   string // empty: runs have no folders
	Store string // the identity of the runs' store; empty if none
}

// Workspace has a run's folders; empty if Folders.Dir is.
type Workspace struct{ Work, Artifacts, Transcripts, Home string }

// Prepare creates the run's folders, private to the host's user. workDir is the spec's working
// folder; if it is empty, the run gets a separate folder. This folder is created only while the
// run has no session, since a turn that lost its files must not continue with an empty folder. A
// symbolic link in place of a folder is refused: the agent could have planted it.
func (f Folders) Prepare(run *store.Run, workDir string) (w Workspace, err error) {
	if f.Dir != "" {
		w, err = f.prepareOwn(run, workDir == "")
	}
	if err == nil && workDir != "" {
		if w.Work, err = Absolute(workDir); err == nil { // an earlier release stored it unchanged
			err = isFolder(w.Work, os.Stat) // the caller's folder may be a link
		}
	}
	if err != nil {
		return w, fmt.Errorf("workspace: %w", err)
	}
	return w, nil
}

func (f Folders) prepareOwn(run *store.Run, withWork bool) (Workspace, error) {
	base, err := f.claim(run)
	if err != nil {
		return Workspace{}, err
	}
	w := Workspace{filepath.Join(base, "work"), filepath.Join(base, "artifacts"), filepath.Join(base, "transcripts"),
		filepath.Join(base, "home")}
	needed := []string{w.Artifacts, w.Transcripts}
	if run.Session == nil {
		needed = append(needed, w.Home)
		if withWork {
			needed = append(needed, w.Work)
		}
	}
	for _, dir := range needed {
		if err := ensureDir(dir); err != nil {
			return w, err
		}
	}
	if withWork {
		err = isFolder(w.Work, os.Lstat)
	}
	return w, err
}

func Absolute(dir string) (string, error) {
	if dir == "" || filepath.IsAbs(dir) {
		return dir, nil
	}
	return filepath.Abs(dir)
}

func ensureDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return isFolder(dir, os.Lstat)
}

func isFolder(dir string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return err
}

// ownerFile in a run's folder names its owner.
const ownerFile = "run.json"

// maxOwnerRecord bounds the file, in bytes: an agent could have written it.
const maxOwnerRecord = 4 << 10

// ownerRecord identifies a folder's run among all runs that ever had its id, also in other stores.
type ownerRecord struct {
	RunID     string    `json:"run_id"`
	Store     string    `json:"store,omitempty"` // its identity; empty if none
	CreatedAt time.Time `json:"created_at"`
}

func (f Folders) ownerRecordOf(run *store.Run) ownerRecord {
	return ownerRecord{RunID: run.ID, Store: f.Store, CreatedAt: run.CreatedAt.UTC()}
}

// sameRun compares two runs. A record without a store's identity is older than the identity.
func (m ownerRecord) sameRun(o ownerRecord) bool {
	return m.RunID == o.RunID && m.CreatedAt.Equal(o.CreatedAt) && (m.Store == o.Store || m.Store == "" ||
		o.Store == "")
}

// alternateName names the run's folder if the folder named by its id belongs to another run. No id
// contains a "~".
func (m ownerRecord) alternateName() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", m.RunID, m.Store, m.CreatedAt.UnixMicro()))
	return m.RunID + "~" + hex.EncodeToString(sum[:8])
}

// OfSource returns the folders of the run whose session a fork branches; empty if unknown.
func (f Folders) OfSource(from *decide.Origin) (work, home string) {
	work = from.WorkDir
	if f.Dir == "" {
		return work, ""
	}
	base, owned, err := f.Of(&store.Run{ID: from.RunID, CreatedAt: from.CreatedAt})
	if err != nil || !owned {
		return work, ""
	}
	if work == "" {
		work = filepath.Join(base, "work")
	}
	return work, filepath.Join(base, "home")
}

// Of is the path of the run's folder; owned: it exists and belongs to the run.
func (f Folders) Of(run *store.Run) (base string, owned bool, err error) {
	self := f.ownerRecordOf(run)
	alternate := filepath.Join(f.Dir, self.alternateName())
	if _, err := os.Lstat(alternate); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return alternate, err == nil, err
	}
	base = filepath.Join(f.Dir, run.ID)
	owner, found, err := readOwner(base)
	switch {
	case err != nil:
		return "", false, err
	case !found:
		return base, false, nil
	case owner.sameRun(self):
		return base, true, nil
	default:
		return alternate, false, nil
	}
}

// claim finds or makes the run's folder and records its owner. A folder without an owner, prepared by
// the host or an earlier release, becomes the run's. Of concurrent claims one succeeds.
func (f Folders) claim(run *store.Run) (string, error) {
	for {
		base, own, err := f.Of(run)
		if err != nil {
			return "", err
		}
		if own {
			return base, isFolder(base, os.Lstat)
		}
		if run.Session != nil && filepath.Base(base) != run.ID { // a session, but no folder
			return "", fmt.Errorf("%s belongs to another run of this id, and %s, this run's, is missing",
				filepath.Join(f.Dir, run.ID), base)
		}
		if err := ensureDir(base); err != nil {
			return "", err
		}
		if err := writeOwner(base, f.ownerRecordOf(run)); !errors.Is(err, fs.ErrExist) {
			return base, err
		}
	}
}

func readOwner(base string) (m ownerRecord, found bool, _ error) {
	if err := isFolder(base, os.Lstat); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return m, false, nil
		}
		return m, false, err
	}
	body, err := plainfile.Read(base, ownerFile, maxOwnerRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		return m, false, fmt.Errorf("%s does not say whose folder it is: %w", filepath.Join(base, ownerFile), err)
	}
	return m, true, nil
}

// writeOwner records a folder's owner atomically; fs.ErrExist if it has one.
func writeOwner(base string, m ownerRecord) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	root, err := plainfile.Root(base)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written to it
	temporary := ownerFile + "." + rand.Text()
	f, err := root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = root.Remove(temporary) }() // the link remains
	_, err = f.Write(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = root.Link(temporary, ownerFile); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return renameOwner(root, temporary)
}

// renameOwner records an owner on a file system without hard links, where two concurrent hosts may
// both succeed.
func renameOwner(root *os.Root, temporary string) error {
	if _, err := root.Lstat(ownerFile); err == nil {
		return fs.ErrExist
	}
	return root.Rename(temporary, ownerFile)
}
