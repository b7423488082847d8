//go:build unix && !linux

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

type fileID syscall.Stat_t

// identify is os.Stat with fewer allocations, since each flush calls it.
func identify(path string, id *fileID) error {
	for {
		if err := syscall.Stat(path, (*syscall.Stat_t)(id)); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// inodeOf identifies files on Linux only.
func inodeOf(*os.File) (inode string, ok bool) { return "", false }

func (id *fileID) same(other *fileID) bool { return id.Dev == other.Dev && id.Ino == other.Ino }
