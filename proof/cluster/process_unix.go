//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownProcessGroup gives a node a process group of its own: an interrupt at the terminal is the conductor's to
// handle, and a node that is stopped when the conductor dies is woken by the system, and finds its
// input at an end.
func ownProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// canPause says that processes can be stopped and go on.
const canPause = true

func pause(cmd *exec.Cmd) error   { return cmd.Process.Signal(syscall.SIGSTOP) }
func unpause(cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGCONT) }

// terminate asks a node to end.
func (p *process) terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
