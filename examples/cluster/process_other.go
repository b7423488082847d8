//go:build !unix

package main

import (
	"errors"
	"os/exec"
)

func apart(*exec.Cmd) {}

// canPause says that processes cannot be stopped and go on.
const canPause = false

func pause(*exec.Cmd) error   { return errors.ErrUnsupported }
func unpause(*exec.Cmd) error { return nil }

// terminate closes nothing in order: there is no such signal here.
func terminate(cmd *exec.Cmd) error { return cmd.Process.Kill() }
