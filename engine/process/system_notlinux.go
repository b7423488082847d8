//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// Supported says that this system can keep processes under control: it needs process groups and
// signals.
const Supported = true

// group gives the command a process group of its own.
func group(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// Contain is for Linux.
func Contain(*exec.Cmd) error { return ErrUnsupported }

// reap waits for the process and ends what it left in its group. A group keeps its number as long
// as it has a process.
func (p *Process) reap() error {
	err := p.cmd.Wait()
	p.retire()
	return err
}

// findsByToken says that processes are found by the token in their environment.
const findsByToken = false

// endByToken cannot read other processes' environments here: it reports that it does not know.
func endByToken(string, int) bool { return false }

// endGroup does nothing: where the leader's environment cannot be read, its number might be
// another's.
func endGroup(record) int { return 0 }
