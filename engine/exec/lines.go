package exec

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine/redact"
)

// errFlood says that a turn wrote more than it may.
var errFlood = errors.New("exec: the agent wrote more than Config.MaxStream")

// line is one line of output, without its line break.
type line struct {
	text   []byte // valid until the next call
	offset int64  // where it begins in the stream
	length int64  // in the stream, line break included
	cut    bool   // it was longer than the limit; the rest was passed over
}

// lines reads lines of bounded length: a longer one is cut and its rest passed over without being
// kept.
type lines struct {
	source *redact.Reader
	r      *bufio.Reader
	limit  int
	buf    []byte
	offset int64
	end    int64 // where the turn's allowance ends in the stream
}

// newLines reads lines without the secrets.
func newLines(r io.Reader, secrets *redact.Redactor, limit int) *lines {
	source := secrets.Reader(r)
	return &lines{source: source, r: bufio.NewReaderSize(source, 64<<10), limit: limit}
}

// allow lets the stream go on for n bytes.
func (l *lines) allow(n int) { l.end = l.offset + int64(n) }

// next returns the next line; io.EOF after the last one. A last line without a line break counts.
func (l *lines) next() (line, error) {
	l.buf = l.buf[:0]
	got := line{offset: l.offset}
	for {
		part, err := l.r.ReadSlice('\n')
		l.offset += int64(len(part))
		got.length += int64(len(part))
		if l.offset > l.end {
			return line{}, errFlood
		}
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
		if got.cut {
			l.buf = whole(l.buf)
		}
		got.text = l.buf
		return got, nil
	}
}

// whole takes off a character that a cut has split.
func whole(text []byte) []byte {
	for n := len(text) - 1; n >= 0 && n >= len(text)-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			if !utf8.FullRune(text[n:]) {
				return text[:n]
			}
			break
		}
	}
	return text
}

// pass passes over what was read ahead, and then over p, for a stream that goes on elsewhere.
func (l *lines) pass(p []byte) {
	l.offset += int64(l.r.Buffered() + len(p))
	l.source.Pass(p)
	l.r.Reset(l.source)
}
