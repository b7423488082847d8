package node

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// TestOwnerOfFolderWithoutHardLinks: J11, also where the file system has no hard links, the first
// owner of a folder remains.
func TestOwnerOfFolderWithoutHardLinks(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"first", "second"} {
		require.NoError(t, root.WriteFile(name, []byte(name), 0o600))
	}
	require.NoError(t, renameOwner(root, "first"))
	require.ErrorIs(t, renameOwner(root, "second"), fs.ErrExist)
	owner, err := root.ReadFile(ownerFile)
	require.NoError(t, err)
	require.Equal(t, "first", string(owner))
	require.NoError(t, root.Close())
}

// J11 J14: whose folder it is. A record of a time when the store had no identity is the run's, too.
func TestSameRunOwnsTheFolder(t *testing.T) {
	own := ownerRecord{RunID: "r", Store: "A", CreatedAt: noon}
	for name, c := range map[string]struct {
		other ownerRecord
		want  bool
	}{
		"the same":            {ownerRecord{"r", "A", noon}, true},
		"in another zone":     {ownerRecord{"r", "A", noon.In(time.FixedZone("", 3600))}, true},
		"without an identity": {ownerRecord{"r", "", noon}, true},
		"of another store":    {ownerRecord{"r", "B", noon}, false},
		"of another run":      {ownerRecord{"s", "A", noon}, false},
		"of an earlier run":   {ownerRecord{"r", "A", noon.Add(-1)}, false},
	} {
		require.Equal(t, c.want, own.sameRun(c.other), name)
		require.Equal(t, c.want, c.other.sameRun(own), name)
	}
}

// J11: the first owner of a folder is recorded, and remains.
func TestOwnerOfAFolderIsWrittenOnce(t *testing.T) {
	dir, first := t.TempDir(), ownerRecord{RunID: "r", Store: "A", CreatedAt: noon}
	require.NoError(t, writeOwner(dir, first))
	require.ErrorIs(t, writeOwner(dir, ownerRecord{RunID: "r", Store: "B", CreatedAt: noon}), fs.ErrExist)
	owner, found, err := readOwner(dir)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, first, owner)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing else is left")
}

// J6: an engine that branches a session gets the other run's local folders, and no others.
func TestJ6FoldersOfTheOtherRun(t *testing.T) {
	dir := t.TempDir()
	folders := Folders{Dir: dir}
	base, err := folders.claim(&store.Run{ID: "here", CreatedAt: noon})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "nobodys"), 0o700))
	for _, c := range []struct {
		from       decide.Origin
		work, home string
	}{
		{decide.Origin{RunID: "here", CreatedAt: noon}, filepath.Join(base, "work"), filepath.Join(base, "home")},
		{decide.Origin{RunID: "here", CreatedAt: noon, WorkDir: "/src"}, "/src", filepath.Join(base, "home")},
		{decide.Origin{RunID: "here", CreatedAt: noon.Add(time.Hour)}, "", ""}, // of another run with the id
		{decide.Origin{RunID: "nobodys", CreatedAt: noon}, "", ""},
		{decide.Origin{RunID: "elsewhere", CreatedAt: noon}, "", ""},
		{decide.Origin{RunID: "elsewhere", CreatedAt: noon, WorkDir: "/src"}, "/src", ""},
	} {
		work, home := folders.OfSource(&c.from)
		require.Equal(t, []string{c.work, c.home}, []string{work, home}, "%+v", c.from)
	}
}
