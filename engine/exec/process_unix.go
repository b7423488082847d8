//go:build unix

package exec

import "syscall"

// terminateGroup asks every process of the group to end.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) } // it may be gone already

// killGroup ends every process of the group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
