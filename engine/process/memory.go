package process

import (
	"errors"
	"fmt"
	"time"
)

const memoryInterval = 250 * time.Millisecond

// ErrNoMemoryLimit: this system cannot limit the memory of processes; see MeasuresMemory.
var ErrNoMemoryLimit = errors.New("process: the memory of processes can only be limited on Linux")

// MemoryError is the result of a process terminated for its memory use, see Command.MaxMemory.
type MemoryError struct {
	// Used is the memory of its processes, in bytes, when the limit was found exceeded.
	Used, Limit int64
	// Err is how the process ended then; nil for status 0.
	Err error
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("its processes held %d bytes of memory, more than %d", e.Used, e.Limit)
}

// Unwrap returns how the process ended.
func (e *MemoryError) Unwrap() error { return e.Err }

// limitMemory ends the process if it and its descendants use more memory than the limit. It returns
// when the process has ended.
func (p *Process) limitMemory(m *meter, limit int64) {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
		}
		if used := m.used(p.cmd.Process.Pid, p.record.Token); used > limit && p.noteExceeded(used, limit) {
			p.End()
			return
		}
	}
}

// noteExceeded records that the process is terminated for its memory use. It returns false if the
// process has already ended.
func (p *Process) noteExceeded(used, limit int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return false
	}
	p.memory = &MemoryError{Used: used, Limit: limit}
	return true
}

// withMemory returns err, or a MemoryError that wraps it if the process was terminated for its
// memory use.
func (p *Process) withMemory(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory == nil {
		return err
	}
	p.memory.Err = err
	return p.memory
}
