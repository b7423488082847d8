//go:build !linux

package procid

import "errors"

// errUnsupported: this system has no start time and boot that can be read without guessing.
var errUnsupported = errors.New("procid: not supported on this system")

func bootID() (string, error) { return "", errUnsupported }

func startTime(int) (string, error) { return "", errUnsupported }
