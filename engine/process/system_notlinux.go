//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// Supported says that this system can control processes: it has process groups and signals.
const Supported = true

// group starts the command in a new process group.
func group(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// Contain needs Linux.
func Contain(*exec.Cmd) error { return ErrUnsupported }

// reap waits for the process and ends the rest of its group. A group keeps its number as long as it
// has a process.
func (p *Process) reap() error {
	err := p.cmd.Wait()
	p.retire()
	return err
}

// findsByToken says that processes are found by the token in their environment.
const findsByToken = false

// endByToken cannot read other processes' environments here, so the result is unknown.
func endByToken(string, int) bool { return false }

// endGroup does nothing: without the leader's environment, its number might have been reused.
func endGroup(record) int { return 0 }
