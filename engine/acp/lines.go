package acp

import (
	"bufio"
	"errors"
	"io"
	"sync/atomic"
)

// errFlood says that an agent wrote more than it may.
var errFlood = errors.New("acp: the agent wrote more than Config.MaxStream")

// lines reads lines of bounded length: of a longer one the beginning is kept, and the rest passed
// over.
type lines struct {
	r     *bufio.Reader
	limit int
	buf   []byte
	left  atomic.Int64 // how much may still be read
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// line is one line without its break, valid until the next is read.
type line struct {
	text   []byte
	length int64 // as it was written
	cut    bool  // it was longer than the limit
}

// next returns the next line; the last one counts though it has no break.
func (l *lines) next() (line, error) {
	got := line{text: l.buf[:0]}
	for {
		part, err := l.r.ReadSlice('\n')
		got.length += int64(len(part))
		if l.left.Add(-int64(len(part))) < 0 {
			return line{}, errFlood
		}
		if err == nil {
			part = part[:len(part)-1]
		}
		if room := l.limit - len(got.text); len(part) > room {
			part, got.cut = part[:room], true
		}
		got.text = append(got.text, part...)
		l.buf = got.text
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && got.length == 0:
			return line{}, err
		}
		if n := len(got.text); n > 0 && got.text[n-1] == '\r' {
			got.text = got.text[:n-1]
		}
		return got, nil
	}
}
