package exec

import (
	"bufio"
	"errors"
	"io"
)

// line is one line of output, without its line break.
type line struct {
	text   []byte // valid until the next call
	offset int64  // where it begins in the stream
	length int64  // in the stream, line break included
	cut    bool   // it was longer than the limit; the rest was passed over
}

// lines reads lines of bounded length: a longer one is cut and its rest passed over without being kept.
type lines struct {
	r      *bufio.Reader
	limit  int
	buf    []byte
	offset int64
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next returns the next line; io.EOF after the last one. A last line without a line break counts.
func (l *lines) next() (line, error) {
	l.buf = l.buf[:0]
	got := line{offset: l.offset}
	for {
		part, err := l.r.ReadSlice('\n')
		l.offset += int64(len(part))
		got.length += int64(len(part))
		body := part
		if err == nil {
			body = part[:len(part)-1]
		}
		if room := l.limit - len(l.buf); len(body) > room {
			body, got.cut = body[:room], true
		}
		l.buf = append(l.buf, body...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && got.length == 0:
			return line{}, err
		}
		if n := len(l.buf); n > 0 && l.buf[n-1] == '\r' {
			l.buf = l.buf[:n-1]
		}
		got.text = l.buf
		return got, nil
	}
}
