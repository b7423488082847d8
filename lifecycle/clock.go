package lifecycle

import (
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// Clock provides the time and timers. Now must not go back by more than a lease; event times never
// go back within a run.
//
// All processes on one store must agree on the time to within a lease, or deadlines fire early and
// silent nodes are taken over late. With a store.Timekeeper and no Clock they use the store's time.
type Clock = engine.Clock

// SystemClock is the operating system's clock.
type SystemClock struct{}

// Now returns time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// Timer returns a time.Timer's channel.
func (SystemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

func clockOf(s store.Store) Clock {
	if k, ok := s.(store.Timekeeper); ok {
		return node.StoreClock{Store: k, Machine: SystemClock{}}
	}
	return SystemClock{}
}
