//go:build !unix

package main

import (
	"errors"
	"os/exec"
)

func ownProcessGroup(*exec.Cmd) {}

// canPause says that processes cannot be stopped and go on.
const canPause = false

func pause(*exec.Cmd) error   { return errors.ErrUnsupported }
func unpause(*exec.Cmd) error { return nil }

// terminate asks a node to end: there is no signal for it here, but it listens for the end of its
// input.
func (p *process) terminate() error { return p.input.Close() }
