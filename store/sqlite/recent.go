package sqlite

import (
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Bounds of a generation of recent: runs, and bytes of their records and specs.
const (
	recentRuns  = 1024
	recentBytes = 4 << 20
)

// recent holds the runs that this connection wrote last, and the nodes and pools, so that the next
// commit of a run need not read and decode its record again. It decides nothing that the file does
// not say: it is emptied, under the file's write lock, as soon as anybody else has written to the
// file or a transaction failed, just as SQLite's own page cache is.
type recent struct {
	version    int64 // PRAGMA data_version, which the commits of others change
	young, old map[string]stored
	bytes      int // of the young

	pools []slots.Pool    // nil when not known
	nodes map[string]bool // registered or not, as far as somebody has looked
}

// stored is a run as it stands in the file.
type stored struct {
	n    int64
	run  *store.Run // never changed
	spec []byte     // never changed; nil when not known
	tail tail
}

// recall makes recent true for the transaction that has just begun.
func (w *writer) recall() error {
	r, err := w.one("PRAGMA data_version")
	if err != nil {
		return err
	}
	if v := r.int(0); v != w.recent.version {
		w.recent.forget()
		w.recent.version = v
	}
	return nil
}

func (r *recent) forget() { *r = recent{version: r.version} }

func (r *recent) get(id string) (stored, bool) {
	s, ok := r.young[id]
	if !ok {
		s, ok = r.old[id]
	}
	return s, ok
}

// put keeps a run that was written in so many bytes. A finished one is not written again.
func (r *recent) put(s stored, size int) {
	if s.run.State.Terminal() {
		delete(r.young, s.run.ID)
		delete(r.old, s.run.ID)
		return
	}
	if len(r.young) >= recentRuns || r.bytes >= recentBytes {
		r.old, r.young, r.bytes = r.young, nil, 0
	}
	if r.young == nil {
		r.young = make(map[string]stored)
	}
	r.young[s.run.ID] = s
	r.bytes += size // counts a run as often as it is written: generations then end sooner
}
