package sqlite

import (
	"time"

	"github.com/interlude-go/interlude/store"
)

// Watch implements store.Watcher: hints of this process's commits come with their run, those of other
// processes as "anything may have changed".
func (s *Store) Watch(fn func(store.Hint)) (stop func()) { return s.watchers.Watch(fn) }

// watch looks for commits of other processes while somebody watches. On the writing connection data_version
// changes by the commits of others only. The first look always tells: what came before it cannot be known.
func (s *Store) watch(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last int64
	for {
		select {
		case <-tick.C:
		case <-s.closed:
			return
		}
		if !s.watchers.Any() {
			continue
		}
		var version int64
		err := s.look(func(w *writer) error {
			r, err := w.one("PRAGMA data_version")
			if err == nil {
				version = r.int(0)
			}
			return err
		})
		if err == nil && version != last {
			last = version
			s.watchers.Tell([]store.Hint{{}})
		}
	}
}
