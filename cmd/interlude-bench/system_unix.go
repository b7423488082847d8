//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that the process has used so far, on all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// flushPages waits until the system has written its delayed pages: the next phase must not pay for
// those that parking and recovery left.
func flushPages() { syscall.Sync() }
