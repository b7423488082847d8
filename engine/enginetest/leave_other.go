//go:build !unix

package enginetest

import (
	"os"
	"os/exec"
)

// leave does nothing: this system has no process groups.
func leave(*exec.Cmd) {}

// pipe makes a folder: this system has no named pipes in its file system.
func pipe(path string) error { return os.Mkdir(path, 0o700) }
