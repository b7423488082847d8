package acp

import (
	"errors"
	"os"
	"sync"
	"time"
)

// feed is the agent's output. It can tell when all that was written by a moment has been dealt
// with.
type feed struct {
	out     *os.File
	running func() bool

	mu      sync.Mutex
	drained chan struct{} // guarded by mu; closed when nothing is left to read; nil when nobody asked
}

// drain has what the agent has written by now be read. The channel is closed when that is done; not
// at all when the output ends.
func (f *feed) drain() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drained = make(chan struct{})
	_ = f.out.SetReadDeadline(time.Now()) // wakes the reader
	return f.drained
}

// Read returns what is there, or waits for it.
func (f *feed) Read(p []byte) (int, error) {
	for {
		n, err := f.out.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !f.asked() {
			return n, err
		}
		if n, err := f.there(p); n > 0 || err != nil {
			return n, err
		}
	}
}

// asked reports whether it was drain that ended a read, and not the end of the process.
func (f *feed) asked() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.drained != nil
}

// there reads what is there without waiting, and when that is nothing says so to who asked.
func (f *feed) there(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.out.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	n, err := readable(f.out, p)
	if n > 0 {
		_ = f.out.SetReadDeadline(time.Now()) // and look again
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	close(f.drained)
	f.drained = nil
	if !f.running() { // whoever left the group may hold the output open: its end had a deadline
		return 0, os.ErrDeadlineExceeded
	}
	return 0, nil
}
