package process

import (
	"errors"
	"os/exec"
	"slices"
	"syscall"
)

// Killed reports whether a process ended because somebody else ended it: by KILL, which is also
// what a system does that runs out of memory, TERM, INT or HUP. A shell or another program that ran
// it tells the first two by the statuses 137 and 143. Its work was interrupted then; it did not
// fail. err is what Process.Err returned. A process that was ended for its own memory is none of
// these.
func Killed(err error) bool {
	var memory *MemoryError
	var exit *exec.ExitError
	if errors.As(err, &memory) || !errors.As(err, &exit) {
		return false
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP},
			status.Signal())
	}
	return slices.Contains([]int{137, 143}, exit.ExitCode())
}
