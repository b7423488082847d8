//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the process's CPU time so far, on all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// flushPages waits until the system has written its delayed pages, so that the next phase does not
// pay for them.
func flushPages() { syscall.Sync() }
