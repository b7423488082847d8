//go:build unix

package plainfile

import (
	"io/fs"
	"os"
	"syscall"
)

// noWait has the opening of a named pipe or of a device not wait for anybody.
const noWait = syscall.O_NONBLOCK

// shared says why a file may be another's too; empty when it is this user's and has one name.
func shared(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "does not say whose it is"
	case int64(stat.Uid) != int64(os.Geteuid()):
		return "belongs to another user"
	case uint64(stat.Nlink) != 1: //nolint:unconvert // its type differs from system to system
		return "has other names (hard links)"
	}
	return ""
}
