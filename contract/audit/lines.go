package audit

import (
	"bufio"
	"errors"
	"io"

	"github.com/interlude-go/interlude/contract"
)

// lines reads a log line by line into the same memory.
type lines struct {
	from *bufio.Reader
	line []byte
	read int // lines, the one that next returned among them
}

func newLines(r io.Reader) *lines { return &lines{from: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without its end; of one that is too long for an event only a part that
// is too long as well. It is valid until the next call. With the last line comes io.EOF.
func (l *lines) next() ([]byte, error) {
	l.line = l.line[:0]
	l.read++
	for {
		part, err := l.from.ReadSlice('\n')
		if n := len(part); err == nil {
			part = part[:n-1]
		}
		if room := contract.MaxEvent + 1 - len(l.line); room > 0 {
			l.line = append(l.line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.line, err
		}
	}
}
