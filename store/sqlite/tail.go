package sqlite

// A run's newest events stand in its own row, which every commit writes anyway: most commits are
// one row then. When they outgrow that, they go to the log together.
const (
	maxTail   = 3 << 10 // bytes of events in a run's row
	maxInline = 1 << 10 // bytes of a spec in a run's row
)

// inline is how much of a spec stands in its run's row.
func inline(spec []byte) int {
	if len(spec) > maxInline {
		return 0
	}
	return len(spec)
}

// tail is the newest events of a run.
type tail struct {
	first  uint64 // number of the first one
	bodies []byte // a line each
}

// blob is the column's value: never NULL.
func (t tail) blob() []byte {
	if t.bodies == nil {
		return []byte{}
	}
	return t.bodies
}

// and returns the tail with more events, for which it has room. Their text is put behind the tail's
// own, in the same memory: there is one next tail at most, since a transaction that fails forgets
// them all.
func (t tail) and(bodies []byte) tail {
	if cap(t.bodies) < maxTail {
		t.bodies = append(make([]byte, 0, maxTail), t.bodies...)
	}
	if len(t.bodies) > 0 {
		t.bodies = append(t.bodies, '\n')
	}
	t.bodies = append(t.bodies, bodies...)
	return t
}

// extend returns the tail with the events of an entry. What there is no room for goes to the log.
func (w *writer) extend(n int64, t tail, e *entry) (tail, error) {
	if len(e.Events) == 0 {
		return t, nil
	}
	if len(t.bodies) == 0 {
		t.first = e.first()
	}
	if len(t.bodies)+1+len(e.bodies) <= maxTail {
		return t.and(e.bodies), nil
	}
	if len(t.bodies) > 0 {
		if err := w.spill(n, t.first, e.first()-1, t.bodies); err != nil {
			return t, err
		}
	}
	if len(e.bodies) <= maxTail {
		return tail{first: e.first()}.and(e.bodies), nil
	}
	return tail{first: e.Run.Seq + 1}, w.spill(n, e.first(), e.Run.Seq, e.bodies)
}

// spill writes events to the log.
func (w *writer) spill(n int64, first, last uint64, bodies []byte) error {
	_, err := w.exec(`INSERT INTO log (k, first, bodies) VALUES (?, ?, ?)`, place(n, last), int64(first), bodies)
	w.meter.row(len(bodies))
	return err
}
