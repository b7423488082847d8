package redact

import "io"

// Reader redacts what it reads. It is not safe for concurrent use.
type Reader struct {
	source io.Reader
	s      stream
	in     []byte
	out    []byte // room for what is ready
	ready  []byte
	err    error
}

// Reader returns a reader of source without the secrets. It hands over what is certain as soon as
// source does, and the rest at source's end or first error, which is final.
func (r *Redactor) Reader(source io.Reader) *Reader {
	return &Reader{source: source, s: stream{r: r}}
}

// Read reads what is ready, or waits for more.
func (r *Reader) Read(p []byte) (int, error) {
	if r.s.r == nil {
		return r.source.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.in == nil {
			r.in = make([]byte, chunk)
		}
		var n int
		n, r.err = r.source.Read(r.in)
		r.out = r.s.feed(r.out[:0], r.in[:n])
		if r.err != nil {
			r.out = r.s.finish(r.out)
		}
		r.ready = r.out
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// Pass passes over what was read ahead, and then over p, as though all of it had been read. If a
// secret begins in it, the part of the secret that is still to come is replaced.
func (r *Reader) Pass(p []byte) {
	r.ready = nil
	if r.s.r == nil {
		return
	}
	for len(p) > 0 {
		n := min(len(p), chunk)
		r.out = r.s.feed(r.out[:0], p[:n])
		p = p[n:]
	}
	r.s.discard()
}
