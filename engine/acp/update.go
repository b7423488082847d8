package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// notification is the parameters of session/update, as far as a turn needs them.
type notification struct {
	SessionID string `json:"sessionId"` //nolint:tagliatelle // the protocol's word
	Update    struct {
		Kind      string          `json:"sessionUpdate"` //nolint:tagliatelle // the protocol's word
		MessageID string          `json:"messageId"`     //nolint:tagliatelle // the protocol's word
		Content   json.RawMessage `json:"content"`
		toolCall
	} `json:"update"`
}

// update handles a notification about the agent's work.
func (t *turn) update(params json.RawMessage, ref *engine.RawRef) {
	var n notification
	if err := json.Unmarshal(params, &n); err != nil {
		t.diagnose(fsm.WarnEngineOutputMalformed, "an update cannot be read: "+process.Clip(err.Error(), 200))
		return
	}
	if n.SessionID != t.state.Session {
		return // of a session within the agent
	}
	u := n.Update
	if !t.speaking {
		t.replayed = t.replayed || u.Kind == "user_message_chunk" || u.Kind == "agent_message_chunk"
		return
	}
	var err error
	switch u.Kind {
	case "agent_message_chunk":
		err = t.chunk(u.MessageID, u.Content, ref)
	case "tool_call":
		err = t.messages.end(t.say)
		t.tools.note(u.toolCall, u.Content)
	case "tool_call_update":
		t.tools.note(u.toolCall, u.Content)
	}
	if err != nil {
		t.halt(err)
	}
}

// chunk adds a piece of a message.
func (t *turn) chunk(id string, content json.RawMessage, ref *engine.RawRef) error {
	var block struct{ Type, Text string }
	if err := json.Unmarshal(content, &block); err != nil || block.Type != "text" || block.Text == "" {
		return nil // what is no text is in the transcript
	}
	if id != t.messages.id && t.messages.id != "" && id != "" {
		if err := t.messages.end(t.say); err != nil {
			return err
		}
	}
	if t.messages.add(id, block.Text, ref, t.cfg.MaxOutput) {
		t.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a text was cut at %d bytes", t.cfg.MaxOutput))
	}
	return nil
}

// say stores an intermediate message.
func (t *turn) say(m engine.Message) error {
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	m.Text = t.agent.text(m.Text)
	return t.sink.Message(t.ctx, m)
}

// messages are the texts of the agent. The last one is the final text, so that a message is stored
// only when the next one has come.
type messages struct {
	id          string
	text        strings.Builder
	first, last *engine.RawRef
	cut         bool
	held        *engine.Message
}

// add adds a piece, and reports whether the text became too long.
func (m *messages) add(id, text string, ref *engine.RawRef, limit int) (cut bool) {
	if m.text.Len() == 0 {
		m.first, m.cut = ref, false
	}
	if m.cut {
		return false
	}
	m.id, m.last = id, ref
	if room := limit - m.text.Len(); len(text) > room {
		text, cut, m.cut = process.Cut(text, room), true, true
	}
	m.text.WriteString(text)
	return cut
}

// end makes a message of the pieces that came so far, and passes the one before it to store.
func (m *messages) end(store func(engine.Message) error) error {
	if m.text.Len() == 0 {
		return nil
	}
	before := m.held
	m.held = &engine.Message{Text: m.text.String(), RawRef: span(m.first, m.last)}
	m.text.Reset()
	m.id = ""
	if before == nil {
		return nil
	}
	return store(*before)
}

// final removes and returns the last message, nil when there was none.
func (m *messages) final() *engine.Message {
	last := m.held
	m.held = nil
	return last
}

// What begins a line of a transcript, which holds the lines both ways: who wrote it.
const (
	fromAgent = "< "
	toAgent   = "> "
)

// span is from the beginning of one line to the end of another; nil when either is not there.
func span(first, last *engine.RawRef) *engine.RawRef {
	if first == nil || last == nil {
		return nil
	}
	return &engine.RawRef{File: first.File, Offset: first.Offset, Length: last.Offset + last.Length - first.Offset}
}
