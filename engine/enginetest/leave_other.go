//go:build !unix

package enginetest

import (
	"os"
	"os/exec"
)

// leave does nothing: there are no process groups here.
func leave(*exec.Cmd) {}

// pipe makes a folder: this system has no pipes among its files.
func pipe(path string) error { return os.Mkdir(path, 0o700) }
