//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used of all cores so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// settle waits until the system has written what was put off: what parking and recovery left is not
// the next phase's.
func settle() { syscall.Sync() }
