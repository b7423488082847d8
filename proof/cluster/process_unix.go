//go:build unix

package main

import "syscall"

// ownProcessGroup gives a node its own process group, so that only the parent gets an interrupt
// from the terminal. If the parent dies while a node is stopped, the system continues the node,
// which then finds its input at an end.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// canPause is true: processes can be stopped and continued.
const canPause = true

func pause(p *process) error   { return p.Signal(syscall.SIGSTOP) }
func unpause(p *process) error { return p.Signal(syscall.SIGCONT) }
