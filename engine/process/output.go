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

// ErrFlood: an agent wrote more than its limit in a turn.
var ErrFlood = errors.New("the agent wrote more than its limit for a turn")

// Line is one line of output, without its line break.
type Line struct {
	Text   []byte // valid until the next line is read
	Length int64  // in the stream, including the line break
	Cut    bool   // Text is the beginning of a line longer than the limit
}

// LineReader reads lines of limited length. It keeps the beginning of a longer line and skips the
// rest. Allow may be called concurrently with Next; the other methods may not.
type LineReader struct {
	source    *redact.Reader
	r         *bufio.Reader
	limit     int
	buf       []byte
	allowance atomic.Int64 // bytes that may still be read
}

// NewLineReader reads lines of at most limit bytes, redacted if secrets is not nil. Nothing can be
// read before Allow.
func NewLineReader(r io.Reader, secrets *redact.Redactor, limit int) *LineReader {
	source := secrets.Reader(r)
	return &LineReader{source: source, r: bufio.NewReaderSize(source, 64<<10), limit: limit}
}

// Allow permits reading n bytes, and replaces the previous allowance.
func (l *LineReader) Allow(n int) { l.allowance.Store(int64(n)) }

// Next returns the next line, io.EOF after the last one, and ErrFlood once the allowance is used
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

// Skip discards buffered input, and then p, which the caller read directly from the stream. If a
// secret begins there, its remaining part is replaced.
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

// MaxDiagnostics is the maximum number of listed diagnostics of a turn.
const MaxDiagnostics = 20

// Diagnostics collects the faults of an agent's output in a turn. The zero value is empty. It is
// not safe for concurrent use.
type Diagnostics struct {
	list  []interaction.Diagnostic
	count int
}

// Count counts a diagnostic, and reports whether it is within the limit.
func (d *Diagnostics) Count() bool {
	d.count++
	return d.count <= MaxDiagnostics
}

// Add counts a diagnostic, and lists it if it is within the limit.
func (d *Diagnostics) Add(code fsm.Warning, detail string) {
	if d.Count() {
		d.list = append(d.list, interaction.Diagnostic{Code: code, Detail: detail})
	}
}

// ValidUTF8 replaces invalid UTF-8 in s, and then adds a diagnostic.
func (d *Diagnostics) ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	d.Add(fsm.WarnEngineOutputInvalidUTF8, "invalid UTF-8 in the agent's output was replaced")
	return strings.ToValidUTF8(s, "\uFFFD")
}

// List returns the diagnostics. Above the limit, the last one counts the rest.
func (d *Diagnostics) List() []interaction.Diagnostic {
	if d.count <= MaxDiagnostics {
		return d.list
	}
	return append(d.list, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic,
		Detail: fmt.Sprintf("%d more diagnostics of the output are not listed", d.count-MaxDiagnostics)})
}

// Clip shortens a text for people, and marks the cut.
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

// ForPeople is error output in a form for messages: trimmed, valid UTF-8, and at most limit bytes.
func ForPeople(output string, limit int) string {
	return Clip(strings.ToValidUTF8(strings.TrimSpace(output), "\uFFFD"), limit)
}
