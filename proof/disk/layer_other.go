//go:build !linux || (!amd64 && !arm64)

package main

import (
	"errors"
	"fmt"
)

// attach returns an error: the layer below SQLite is only for Linux on 64-bit processors, where CI
// runs.
func attach(*disk) (func(), error) {
	return nil, fmt.Errorf("disk: the layer below SQLite is for Linux on amd64 and arm64: %w", errors.ErrUnsupported)
}
