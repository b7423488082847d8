//go:build !linux

package procid

import "errors"

// errUnsupported: this system offers no reliable way to read a process's start time and boot.
var errUnsupported = errors.New("procid: not supported on this system")

func bootID() (string, error) { return "", errUnsupported }

func startTime(int) (string, error) { return "", errUnsupported }
