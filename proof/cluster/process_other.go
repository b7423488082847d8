//go:build !unix

package main

import (
	"errors"
	"os/exec"
)

func ownProcessGroup(*exec.Cmd) {}

// canPause is false: this system cannot stop processes and continue them.
const canPause = false

func pause(*exec.Cmd) error   { return errors.ErrUnsupported }
func unpause(*exec.Cmd) error { return nil }

// terminate asks a node to end. This system has no signal for that, so the node's input is closed
// instead.
func (p *process) terminate() error { return p.input.Close() }
