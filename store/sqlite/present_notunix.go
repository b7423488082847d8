//go:build !unix

package sqlite

import (
	"io/fs"
	"os"
)

type fileID struct{ info fs.FileInfo }

func identify(path string, id *fileID) (err error) {
	id.info, err = os.Stat(path)
	return err
}

// inodeOf identifies files on Linux only.
func inodeOf(*os.File) (inode string, ok bool) { return "", false }

func (id *fileID) same(other *fileID) bool { return os.SameFile(id.info, other.info) }
