package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/interlude-go/interlude/internal/plainfile"
)

const envTemp = "TMPDIR"

// maxTempPath is the maximum length of a temporary folder's path in a run's home, in bytes.
// Programs create Unix sockets in their temporary folder, and on some systems a socket's path is
// limited to 103 bytes.
const maxTempPath = 64

// TempIn is Command.TempIn for a process of a turn: the run's home, or "" if Set names the folder
// for temporary files.
func (e Environment) TempIn(home string) string {
	if _, set := e.Set[envTemp]; set {
		return ""
	}
	return home
}

// tempPath chooses the path of the process's temporary folder, "" for none. It is in the system's
// temporary folder if Command.TempIn cannot be used or makes the path too long. Sandboxes often
// contain only the run's folders.
func (c Command) tempPath() string {
	if c.TempIn == "" {
		return ""
	}
	name := strings.ToLower(rand.Text())
	system := filepath.Join(os.TempDir(), "interlude-"+name[:10])
	own := filepath.Join(c.TempIn, "t"+name[:7])
	root, err := plainfile.Root(c.TempIn)
	if err != nil { // an agent may have removed its home, or replaced it by a link
		return system
	}
	_ = root.Close() // nothing was written to it
	if len(own) > maxTempPath && len(system) < len(own) && c.Sandbox == nil {
		return system
	}
	return own
}

// makeTemp creates the temporary folder of a record, if it has one. An existing folder belongs to
// another process.
func (r record) makeTemp() error {
	if r.Temp == "" {
		return nil
	}
	if err := os.Mkdir(r.Temp, 0o700); err != nil {
		return fmt.Errorf("process: temporary folder: %w", err)
	}
	return nil
}

// tempName matches the names from tempPath, so that a record cannot cause the removal of any other
// folder.
var tempName = regexp.MustCompile(`^(t[a-z2-7]{7}|interlude-[a-z2-7]{10})$`)

// removeTemp removes the temporary folder of a record, once its processes are gone.
func (r record) removeTemp() error {
	if !tempName.MatchString(filepath.Base(r.Temp)) {
		return nil
	}
	if os.RemoveAll(r.Temp) == nil {
		return nil
	}
	// Caches of some build tools have folders that their owner cannot write to.
	if err := errors.Join(makeWritable(r.Temp), os.RemoveAll(r.Temp)); err != nil {
		return fmt.Errorf("process: temporary folder of run %s: %w", r.RunID, err)
	}
	return nil
}

// makeWritable gives the user all rights to the folders below dir. It follows no links.
func makeWritable(dir string) error {
	root, err := plainfile.Root(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it is removed
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // the removal reports failures
		}
		return root.Chmod(path, 0o700)
	})
}
