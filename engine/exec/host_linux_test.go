package exec_test

import (
	"os/exec"
	"syscall"
)

// leader gives the command a process group of its own, as the engine does.
func leader(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
