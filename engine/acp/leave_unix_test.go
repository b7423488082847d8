//go:build unix

package acp_test

import (
	"os/exec"
	"syscall"
)

// leave takes the command out of the agent's process group.
func leave(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// pipe makes a named pipe.
func pipe(path string) error { return syscall.Mkfifo(path, 0o600) }
