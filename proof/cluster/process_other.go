//go:build !unix

package main

import (
	"errors"
	"syscall"
)

func ownProcessGroup() *syscall.SysProcAttr { return nil }

// canPause is false: this system cannot stop processes and continue them.
const canPause = false

func pause(*process) error   { return errors.ErrUnsupported }
func unpause(*process) error { return nil }
