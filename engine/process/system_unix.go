//go:build unix

package process

import (
	"io/fs"
	"os"
	"syscall"
)

// terminateGroup asks every process of the group to end.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) } // it may be gone already

// killGroup ends every process of the group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// private reports whether it is a folder of this user's that nobody else can write to.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm()&0o022 == 0 && int64(stat.Uid) == int64(os.Getuid())
}
