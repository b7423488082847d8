package redact

import "io"

// Reader redacts its input. It is not safe for concurrent use.
type Reader struct {
	source io.Reader
	s      stream
	in     []byte
	out    []byte // room for ready bytes
	ready  []byte
	err    error
}

// Reader returns a redacting reader of source. It returns bytes as soon as they are certain, and
// the rest at source's end or first error, which is final.
func (r *Redactor) Reader(source io.Reader) *Reader {
	return &Reader{source: source, s: stream{r: r}}
}

// Read returns ready bytes, or waits for more.
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

// Pass skips the bytes read ahead, and then p, as if all had been read. If a secret begins there,
// its remaining part is replaced.
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
