//go:build unix

package acp_test

import (
	"os/exec"
	"syscall"
)

// leave moves the command to its own process group.
func leave(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func pipe(path string) error { return syscall.Mkfifo(path, 0o600) }
