package exec

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/fsm"
)

// messages are the assistant's texts in one turn. The last one is the final text, so a message is
// sent only when the next one arrives.
type messages struct {
	limit       int // bytes of a text
	secrets     *redact.Redactor
	diagnostics *process.Diagnostics
	send        func(engine.Message) error

	last      *engine.Message // not sent yet
	final     *engine.Message // the final text found by a rule
	pieces    strings.Builder // of an incomplete message
	piecesCut bool            // pieces were dropped
	text      strings.Builder // the output so far, in Format Text
}

// add adds a complete message, and sends the previous one.
func (m *messages) add(text string, ref *engine.RawRef) error {
	if err := m.joinPieces(); err != nil {
		return err
	}
	before := m.last
	m.last = &engine.Message{Text: text, RawRef: ref}
	if before == nil {
		return nil
	}
	return m.send(*before)
}

func (m *messages) addPiece(text string) {
	if room := m.limit - m.pieces.Len(); len(text) > room {
		m.reportCut()
		text, m.piecesCut = process.Cut(text, room), true
	}
	m.pieces.WriteString(text)
}

func (m *messages) joinPieces() error {
	if m.pieces.Len() == 0 {
		return nil
	}
	text := m.joined()
	m.pieces.Reset()
	m.piecesCut = false
	return m.add(text, nil)
}

// joined is the text of the pieces, redacted: a secret may be spread over several pieces.
func (m *messages) joined() string {
	text := m.pieces.String()
	if m.secrets == nil {
		return text
	}
	var b strings.Builder
	w := m.secrets.Writer(&b)
	_, _ = w.Write([]byte(text)) // a Builder never fails
	if m.piecesCut {
		w.Drop() // the end may be the beginning of a secret
	}
	_ = w.Close()
	return process.Cut(b.String(), m.limit)
}

// addText adds a line of plain text. The text may exceed the limit by one line; endText cuts it.
func (m *messages) addText(line string) {
	if m.text.Len() <= m.limit {
		m.text.WriteString(m.diagnostics.ValidUTF8(line) + "\n")
	}
}

func (m *messages) endText() {
	if m.text.Len() > 0 {
		m.final = &engine.Message{Text: m.bounded(m.secrets.String(m.text.String()))}
	}
}

// conclude returns the final text, and sends the messages before it that were not sent yet. If send
// is false, the turn has already failed and nothing is sent.
func (m *messages) conclude(send bool) (final engine.Message, err error) {
	if m.final != nil && send {
		err = m.joinPieces()
	}
	before := m.last
	switch {
	case m.final != nil:
		final = *m.final
		if before != nil && before.Text == final.Text {
			before = nil
		}
	case m.pieces.Len() > 0:
		final.Text = m.joined()
	case m.last != nil:
		final, before = *m.last, nil
	}
	if before != nil && send && err == nil {
		err = m.send(*before)
	}
	return final, err
}

func (m *messages) bounded(s string) string {
	if len(s) > m.limit {
		m.reportCut()
	}
	return process.Cut(s, m.limit)
}

func (m *messages) reportCut() {
	m.diagnostics.Add(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a text was cut at %d bytes", m.limit))
}
