package sqlite

import (
	"time"

	"github.com/interlude-go/interlude/store"
)

// Watch implements store.Watcher: hints of this process's commits come with events and record,
// those of other processes' without.
func (s *Store) Watch(fn func(store.Hint)) (stop func()) { return s.watchers.Watch(fn) }

// watch looks for commits of other processes while somebody watches. On the writing connection
// data_version changes by the commits of others only, and the table changes names their runs. The
// first look always tells that anything may have changed: what came before it cannot be known.
func (s *Store) watch(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var version, last int64
	for {
		select {
		case <-tick.C:
		case <-s.closed:
			return
		}
		if !s.watchers.Any() {
			version = 0 // which no file has: the next look tells that anything may have changed
			continue
		}
		var hints []store.Hint
		err := s.look(func(w *writer) error {
			r, err := w.one("PRAGMA data_version")
			if err != nil || r.int(0) == version {
				return err
			}
			var known bool
			hints, last, known, err = w.changesAfter(last)
			if err == nil && (!known || version == 0) {
				hints = []store.Hint{{}}
			}
			if err == nil {
				version = r.int(0)
			}
			return err
		})
		if err == nil {
			s.watchers.Tell(hints)
		}
	}
}
