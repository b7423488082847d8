package postgres

import (
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/store"
)

// Bounds of a generation of recent: runs, and bytes of their records and specs.
const (
	recentRuns  = 4096
	recentBytes = 8 << 20
)

// recent holds the runs that this process wrote or read last, so that the next commit of one need
// not read and decode its record again. It decides nothing: a record of a run at a version is what
// it is for ever, and every write says which row and version it is made on.
type recent struct {
	mu         sync.Mutex
	young, old map[string]stored // guarded by mu
	bytes      int               // guarded by mu; of the young
}

// stored is a run as it stood at its version.
type stored struct {
	n    int64
	run  *store.Run // never changed
	spec []byte     // never changed; nil when not known
}

func (r *recent) get(id string) (stored, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.young[id]
	if !ok {
		s, ok = r.old[id]
	}
	return s, ok
}

// put keeps a run whose record has so many bytes, unless a later version is known. A finished one
// is not written again.
func (r *recent) put(s stored, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := s.run.ID
	known, ok := r.young[id]
	if !ok {
		known, ok = r.old[id]
	}
	if ok && known.n == s.n {
		if known.run.Version > s.run.Version {
			return
		}
		if s.spec == nil {
			s.spec = known.spec
		}
	}
	if s.run.State.Terminal() {
		delete(r.young, id)
		delete(r.old, id)
		return
	}
	if len(r.young) >= recentRuns || r.bytes >= recentBytes {
		r.old, r.young, r.bytes = r.young, nil, 0
	}
	if r.young == nil {
		r.young = make(map[string]stored)
	}
	r.young[id] = s
	r.bytes += size + len(s.spec) // counts a run as often as it is written: generations then end sooner
}

// forget empties it. It is called when a connection broke: the server that is reached next may be a
// standby that took over without the last commits, whose versions then name something else.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.young, r.old, r.bytes = nil, nil, 0
}

// doubt forgets what is known when the error says that the connection broke.
func (r *recent) doubt(err error) {
	var e *pgconn.PgError
	if err != nil && (!errors.As(err, &e) || strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08")) {
		r.forget()
	}
}
