//go:build unix

package acp

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// readable reads without waiting: 0 bytes if none are available, io.EOF at the end.
func readable(f *os.File, p []byte) (n int, _ error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var read error
	err = conn.Read(func(fd uintptr) bool {
		for n, read = syscall.Read(int(fd), p); errors.Is(read, syscall.EINTR); {
			n, read = syscall.Read(int(fd), p)
		}
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case errors.Is(read, syscall.EAGAIN):
		return 0, nil
	case read != nil:
		return 0, read
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
