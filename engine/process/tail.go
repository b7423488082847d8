package process

import "sync"

// tail keeps the end of a stream, for the failure's text.
type tail struct {
	mu   sync.Mutex
	last []byte // guarded by mu
	size int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p[max(0, len(p)-t.size):]...)
	if extra := len(t.last) - t.size; extra > 0 {
		t.last = append(t.last[:0], t.last[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
