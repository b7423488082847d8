package redact

import "io"

// Writer redacts its input. It is not safe for concurrent use.
type Writer struct {
	target io.Writer
	s      stream
	out    []byte
}

// Writer returns a redacting writer to target. Close it to write the held bytes.
func (r *Redactor) Writer(target io.Writer) *Writer { return &Writer{target: target, s: stream{r: r}} }

// Write writes to target what can be released. It reports p as written when target took that.
func (w *Writer) Write(p []byte) (int, error) {
	if w.s.r == nil {
		return w.target.Write(p)
	}
	for taken := 0; taken < len(p); {
		n := min(len(p)-taken, chunk)
		w.out = w.s.feed(w.out[:0], p[taken:taken+n])
		if err := w.flush(); err != nil {
			return taken, err
		}
		taken += n
	}
	return len(p), nil
}

// Close writes the held bytes. It does not close target. The Writer can be used again.
func (w *Writer) Close() error {
	if w.s.r == nil {
		return nil
	}
	w.out = w.s.finish(w.out[:0])
	return w.flush()
}

// Drop discards the held bytes, so that a cut text does not end with the beginning of a secret.
func (w *Writer) Drop() {
	if w.s.r != nil {
		w.s.discard()
	}
}

func (w *Writer) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.target.Write(w.out)
	return err
}
