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

// Folders are the folders of runs: one for each run, below one directory.
type Folders struct {
	Dir   string // empty: runs have no folders
	Store string // the identity of the runs' store; empty if it has none
}

// Workspace has the folders of a run; all are empty if Folders.Dir is.
type Workspace struct{ Work, Artifacts, Transcripts, Home string }

// Prepare creates the run's folders. The working folder is created only as long as the run has no
// session: a turn that lost its files must not continue with an empty folder. Only the host's user
// can access the folders. A symbolic link in place of a folder is refused: the agent could have
// planted it. WorkDir is the working folder chosen by the caller; empty: default.
func (f Folders) Prepare(run *store.Run, workDir string) (w Workspace, err error) {
	if f.Dir != "" {
		w, err = f.prepareOwn(run, workDir == "")
	}
	if err == nil && workDir != "" {
		if w.Work, err = Absolute(workDir); err == nil { // an earlier release stored it as it was given
			err = isFolder(w.Work, os.Stat) // the caller's folder may be a link
		}
	}
	if err != nil {
		return w, fmt.Errorf("workspace: %w", err)
	}
	return w, nil
}

// prepareOwn makes the folders below Dir. The working folder is among them unless the spec
// names another one.
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

// Absolute makes a relative path absolute, from the process's working folder. An empty path and an
// absolute one stay as they are.
func Absolute(dir string) (string, error) {
	if dir == "" || filepath.IsAbs(dir) {
		return dir, nil
	}
	return filepath.Abs(dir)
}

// ensureDir makes the folder, unless it is there.
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

// ownerFile in a run's folder says whose folder it is.
const ownerFile = "run.json"

// maxOwnerRecord bounds the file in bytes, since an agent could have written it.
const maxOwnerRecord = 4 << 10

// ownerRecord identifies the run that owns a folder, among all runs that ever had its id, including
// runs of other stores and pruned ones.
type ownerRecord struct {
	RunID     string    `json:"run_id"`
	Store     string    `json:"store,omitempty"` // its identity; empty for a store that has none
	CreatedAt time.Time `json:"created_at"`
}

func (f Folders) ownerRecordOf(run *store.Run) ownerRecord {
	return ownerRecord{RunID: run.ID, Store: f.Store, CreatedAt: run.CreatedAt.UTC()}
}

// sameRun reports whether the records are of the same run. A record without a store's identity was
// written before the store had one.
func (m ownerRecord) sameRun(o ownerRecord) bool {
	return m.RunID == o.RunID && m.CreatedAt.Equal(o.CreatedAt) && (m.Store == o.Store || m.Store == "" ||
		o.Store == "")
}

// alternateName is the name of the run's folder if the one named by its id belongs to another run.
// No id contains a "~".
func (m ownerRecord) alternateName() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", m.RunID, m.Store, m.CreatedAt.UnixMicro()))
	return m.RunID + "~" + hex.EncodeToString(sum[:8])
}

// OfSource are the working folder and the home of the run whose session a fork branches; each is
// empty if it is not known or not here.
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

// Of is the path of the run's folder, and whether the folder exists and the run owns it.
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

// claim finds the run's folder, or makes it and records the run as its owner. A folder
// without an owner was prepared by the host, or made by an earlier release, and becomes the run's.
// Of several hosts that claim it at the same time one gets it.
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

// readOwner reads the owner of a folder, if it has one.
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

// writeOwner records the owner of a folder. The error is fs.ErrExist if it has one. The file is
// written as a whole or not at all.
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

// renameOwner is how an owner is recorded on a file system that has no hard links. Of two hosts
// that claim the folder at the same moment, both may succeed.
func renameOwner(root *os.Root, temporary string) error {
	if _, err := root.Lstat(ownerFile); err == nil {
		return fs.ErrExist
	}
	return root.Rename(temporary, ownerFile)
}
