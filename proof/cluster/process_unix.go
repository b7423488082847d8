//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownProcessGroup gives a node its own process group, so that only the parent gets an interrupt
// from the terminal. If the parent dies while a node is stopped, the system continues the node,
// which then finds its input at an end.
func ownProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// canPause is true: processes can be stopped and continued.
const canPause = true

func pause(cmd *exec.Cmd) error   { return cmd.Process.Signal(syscall.SIGSTOP) }
func unpause(cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGCONT) }

// terminate asks a node to end.
func (p *process) terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
