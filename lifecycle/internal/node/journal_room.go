package node

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
)

// MaxJournalsRead bounds the journals that a process's turns hold in memory at one time, in bytes
// as a run's record counts them. A journal is at most half as large.
const MaxJournalsRead = 2 * interaction.MaxJournalSize

// JournalRoom is the memory of a turn's read journal.
type JournalRoom struct {
	mu   sync.Mutex
	held int64 // guarded by mu; bytes of MaxJournalsRead
	over bool  // guarded by mu; the turn reads no more
}

// Reserve waits, in the order of the calls, until there is room for a journal of this size. It first
// releases the turn's own reservation, so that a turn never waits for itself.
func (j *JournalRoom) Reserve(ctx context.Context, room *semaphore.Weighted, size int64) error {
	j.Release(room)
	if err := room.Acquire(ctx, size); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		room.Release(size)
		return engine.ErrStale
	}
	j.held += size
	return nil
}

// Release returns the memory.
func (j *JournalRoom) Release(room *semaphore.Weighted) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.release(room)
}

// Close returns the memory of a turn that reads no more.
func (j *JournalRoom) Close(room *semaphore.Weighted) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.release(room)
	j.over = true
}

func (j *JournalRoom) release(room *semaphore.Weighted) {
	if j.held > 0 {
		room.Release(j.held)
	}
	j.held = 0
}

// JournalSize is how much of MaxJournalsRead a turn needs to read its journal.
func JournalSize(from *decide.Origin, own *interaction.JournalSize) (size int64) {
	if from != nil {
		for i := range from.Journal {
			size += int64(from.Journal[i].Size())
		}
	}
	if own != nil {
		size += own.Bytes
	}
	return min(size, MaxJournalsRead)
}
