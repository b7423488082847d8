package acp

import (
	"errors"
	"os"
	"sync"
	"time"
)

// feed reads the agent's output. drain reports when everything written so far has been handled.
type feed struct {
	out     *os.File
	running func() bool

	mu      sync.Mutex
	drained chan struct{} // guarded by mu; closed when nothing is left to read; nil without drain
}

// drain returns a channel that is closed when all output so far was handled. It is never closed if
// the output ends before.
func (f *feed) drain() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drained = make(chan struct{})
	_ = f.out.SetReadDeadline(time.Now()) // interrupts a waiting read
	return f.drained
}

// Read returns available bytes, or waits for some.
func (f *feed) Read(p []byte) (int, error) {
	for {
		n, err := f.out.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !f.draining() {
			return n, err
		}
		if n, err := f.readAvailable(p); n > 0 || err != nil {
			return n, err
		}
	}
}

// draining reports whether drain interrupted the read, rather than the end of the process.
func (f *feed) draining() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.drained != nil
}

// readAvailable reads without waiting. If nothing is available, it closes drain's channel.
func (f *feed) readAvailable(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.out.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	n, err := readable(f.out, p)
	if n > 0 {
		_ = f.out.SetReadDeadline(time.Now()) // interrupts the next read too
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	close(f.drained)
	f.drained = nil
	if !f.running() { // a process outside the group holds the output open; the read must not wait for it
		return 0, os.ErrDeadlineExceeded
	}
	return 0, nil
}
