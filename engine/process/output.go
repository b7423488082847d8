package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// ErrFlood says that an agent wrote more in a turn than it may.
var ErrFlood = errors.New("the agent wrote more than Config.MaxStream")

// Line is one line of output, without its line break.
type Line struct {
	Text   []byte // valid until the next line is read
	Length int64  // in the stream, line break included
	Cut    bool   // the line was longer than the limit, and Text is its beginning
}

// LineReader reads lines of bounded length. Of a longer line it keeps the beginning and skips the
// rest. Allow may be called while a line is read; all else is for one goroutine.
type LineReader struct {
	source    *redact.Reader
	r         *bufio.Reader
	limit     int
	buf       []byte
	allowance atomic.Int64 // bytes that may still be read
}

// NewLineReader reads lines of at most limit bytes without the secrets, which may be nil. Nothing
// can be read before Allow.
func NewLineReader(r io.Reader, secrets *redact.Redactor, limit int) *LineReader {
	source := secrets.Reader(r)
	return &LineReader{source: source, r: bufio.NewReaderSize(source, 64<<10), limit: limit}
}

// Allow lets the next n bytes be read. What was left of the allowance before is gone.
func (l *LineReader) Allow(n int) { l.allowance.Store(int64(n)) }

// Next returns the next line, io.EOF after the last one, and ErrFlood when the allowance is used
// up. A last line without a line break counts.
func (l *LineReader) Next() (Line, error) {
	l.buf = l.buf[:0]
	var line Line
	for {
		part, err := l.r.ReadSlice('\n')
		line.Length += int64(len(part))
		if l.allowance.Add(-int64(len(part))) < 0 {
			return Line{}, ErrFlood
		}
		if err == nil {
			part = part[:len(part)-1]
		}
		if room := l.limit - len(l.buf); len(part) > room {
			part, line.Cut = part[:room], true
		}
		l.buf = append(l.buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && line.Length == 0:
			return Line{}, err
		}
		if n := len(l.buf); n > 0 && l.buf[n-1] == '\r' {
			l.buf = l.buf[:n-1]
		}
		if line.Cut {
			l.buf = trimSplitRune(l.buf)
		}
		line.Text = l.buf
		return line, nil
	}
}

// Skip discards what was read ahead, and then p, which the caller took from the stream itself. If a
// secret begins there, the part of the secret that is still to come is replaced.
func (l *LineReader) Skip(p []byte) {
	l.source.Pass(p)
	l.r.Reset(l.source)
}

// trimSplitRune removes an incomplete character at the end.
func trimSplitRune(text []byte) []byte {
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

// MaxDiagnostics is how many diagnostics of a turn are listed.
const MaxDiagnostics = 20

// Diagnostics collects the diagnostics about an agent's output in a turn. The zero value is empty.
// It is not safe for concurrent use.
type Diagnostics struct {
	list  []interaction.Diagnostic
	count int
}

// Count counts a diagnostic, and reports whether it is within the limit.
func (d *Diagnostics) Count() bool {
	d.count++
	return d.count <= MaxDiagnostics
}

// Add counts a diagnostic, and lists it when it is within the limit.
func (d *Diagnostics) Add(code fsm.Warning, detail string) {
	if d.Count() {
		d.list = append(d.list, interaction.Diagnostic{Code: code, Detail: detail})
	}
}

// ValidUTF8 replaces invalid UTF-8 in s, and adds a diagnostic when there is any.
func (d *Diagnostics) ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	d.Add(fsm.WarnEngineOutputInvalidUTF8, "invalid UTF-8 in the agent's output was replaced")
	return strings.ToValidUTF8(s, "\uFFFD")
}

// List returns the diagnostics. When there are more, the last one says how many are not listed.
func (d *Diagnostics) List() []interaction.Diagnostic {
	if d.count <= MaxDiagnostics {
		return d.list
	}
	return append(d.list, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic,
		Detail: fmt.Sprintf("%d more oddities of the output are not listed", d.count-MaxDiagnostics)})
}

// Clip shortens a text for people, and shows that it did.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Cut(s, limit) + "…"
}

// Cut cuts s at limit bytes, or a little before, between two characters.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:max(limit, 0)]
}

// ForPeople is error output as it stands in a message: trimmed, valid UTF-8, and at most limit
// bytes of it.
func ForPeople(output string, limit int) string {
	return Clip(strings.ToValidUTF8(strings.TrimSpace(output), "\uFFFD"), limit)
}
