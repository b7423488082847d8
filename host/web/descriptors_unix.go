//go:build unix

package web

import (
	"math"
	"syscall"
)

// maxDescriptors returns the process's limit of open files. The Go runtime has raised the soft
// limit to the hard one.
func maxDescriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return int(max(2, min(uint64(limit.Cur), math.MaxInt32))) //nolint:unconvert // signed on FreeBSD
}
