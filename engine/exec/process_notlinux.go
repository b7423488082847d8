//go:build unix && !linux

package exec

import (
	"os/exec"
	"syscall"
)

const supported = true

// group gives the command a process group of its own.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// waitGroup waits for the command and ends what it left in its group. A group keeps its number as long as it has
// a process.
func waitGroup(cmd *exec.Cmd) error {
	err := cmd.Wait()
	killGroup(cmd.Process.Pid)
	return err
}

// sweep cannot look into other processes' environments here; it reports that it does not know.
func sweep(string) bool { return false }
