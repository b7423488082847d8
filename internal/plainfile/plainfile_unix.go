//go:build unix

package plainfile

import (
	"io/fs"
	"os"
	"syscall"
)

// noWait makes opening a named pipe or device return at once.
const noWait = syscall.O_NONBLOCK

// shared returns why the file may also be another user's, or "" if it belongs to this user and has
// one name.
func shared(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "does not say whose it is"
	case int64(stat.Uid) != int64(os.Geteuid()):
		return "belongs to another user"
	case uint64(stat.Nlink) != 1: //nolint:unconvert // the field's type depends on the system
		return "has other names (hard links)"
	}
	return ""
}
