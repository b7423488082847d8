//go:build unix

package process

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) } // it may already be gone

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// private reports whether it is a folder of this user that only this user can write to.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm()&0o022 == 0 && int64(stat.Uid) == int64(os.Getuid())
}

// giveTemp gives the temporary folder, "" for none, to the sandbox's user.
func giveTemp(dir string, cmd *exec.Cmd) error {
	if dir == "" || cmd.SysProcAttr == nil || cmd.SysProcAttr.Credential == nil {
		return nil
	}
	user := cmd.SysProcAttr.Credential
	if err := os.Chown(dir, int(user.Uid), int(user.Gid)); err != nil {
		return fmt.Errorf("process: temporary folder: %w", err)
	}
	return nil
}
