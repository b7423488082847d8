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

type updateParams struct {
	SessionID string `json:"sessionId"` //nolint:tagliatelle // the protocol's word
	Update    struct {
		Kind      string          `json:"sessionUpdate"` //nolint:tagliatelle // the protocol's word
		MessageID string          `json:"messageId"`     //nolint:tagliatelle // the protocol's word
		Content   json.RawMessage `json:"content"`
		Meta      json.RawMessage `json:"_meta"` //nolint:tagliatelle // the protocol's word
		toolCall
	} `json:"update"`
}

// isNotice reports whether a chunk is a notice: a remark of the agent's program, not its model.
// claude-agent-acp marks some so for clients that do not announce session.notices, and older
// versions for all clients.
func isNotice(meta json.RawMessage) bool {
	var of struct {
		ClaudeCode struct {
			Kind string `json:"kind"`
		} `json:"claudeCode"` //nolint:tagliatelle // the agent's word
	}
	_ = json.Unmarshal(meta, &of) // other agents have other members of this name
	return of.ClaudeCode.Kind == "informational" || of.ClaudeCode.Kind == "mcpServerStatus"
}

func (t *turn) update(params json.RawMessage, ref *engine.RawRef) {
	var n updateParams
	if err := json.Unmarshal(params, &n); err != nil {
		t.diagnose(fsm.WarnEngineOutputMalformed, "an update cannot be read: "+process.Clip(err.Error(), 200))
		return
	}
	if n.SessionID != t.state.Session {
		return // of another session of the agent, a sub-agent's for example
	}
	u := n.Update
	if !t.live {
		t.replayed = t.replayed || u.Kind == "user_message_chunk" || u.Kind == "agent_message_chunk"
		return
	}
	var err error
	switch u.Kind {
	case "notice":
		t.addNotice(params)
	case "agent_message_chunk":
		if isNotice(u.Meta) {
			t.diagnoseNotice(textOf(u.Content))
			break
		}
		err = t.addChunk(u.MessageID, u.Content, ref)
	case "tool_call":
		err = t.messages.end(t.storeMessage)
		t.tools.add(u.toolCall, u.Content)
	case "tool_call_update":
		t.tools.add(u.toolCall, u.Content)
	}
	if err != nil {
		t.halt(err)
	}
}

// addNotice handles a notice, such as a server that did not start or a substituted model: a
// diagnostic, not part of the final text.
func (t *turn) addNotice(params json.RawMessage) {
	var n struct {
		Update struct{ Severity, Title, Description string } `json:"update"`
	}
	if err := json.Unmarshal(params, &n); err != nil {
		t.diagnose(fsm.WarnEngineOutputMalformed, "a notice cannot be read: "+process.Clip(err.Error(), 200))
		return
	}
	text := n.Update.Title
	if n.Update.Description != "" {
		text += ": " + n.Update.Description
	}
	if n.Update.Severity != "" {
		text = n.Update.Severity + ": " + text
	}
	t.diagnoseNotice(text)
}

func (t *turn) diagnoseNotice(text string) {
	if text != "" {
		t.diagnose(fsm.WarnEngineDiagnostic, "the agent reports: "+process.Clip(t.agent.redacted(text), maxNotice))
	}
}

const maxNotice = 1000

func textOf(content json.RawMessage) string {
	var block struct{ Type, Text string }
	if err := json.Unmarshal(content, &block); err != nil || block.Type != "text" {
		return "" // other content is in the transcript only
	}
	return block.Text
}

func (t *turn) addChunk(id string, content json.RawMessage, ref *engine.RawRef) error {
	text := textOf(content)
	if text == "" {
		return nil
	}
	if id != t.messages.id && t.messages.id != "" && id != "" {
		if err := t.messages.end(t.storeMessage); err != nil {
			return err
		}
	}
	if t.messages.add(id, text, ref, t.cfg.MaxOutput) {
		t.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a text was cut at %d bytes", t.cfg.MaxOutput))
	}
	return nil
}

func (t *turn) storeMessage(m engine.Message) error {
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	m.Text = t.agent.redacted(m.Text)
	return t.sink.Message(t.ctx, m)
}

// messages are the agent's texts in a turn. The last one is the final text, so a message is stored
// only when the next one arrives.
type messages struct {
	id       string
	text     strings.Builder
	from, to *engine.RawRef // of its first and last piece
	cut      bool
	last     *engine.Message // complete, and not stored yet
}

// add adds a piece, and reports whether the text became too long.
func (m *messages) add(id, text string, ref *engine.RawRef, limit int) (cut bool) {
	if m.text.Len() == 0 {
		m.from, m.cut = ref, false
	}
	if m.cut {
		return false
	}
	m.id, m.to = id, ref
	if room := limit - m.text.Len(); len(text) > room {
		text, cut, m.cut = process.Cut(text, room), true, true
	}
	m.text.WriteString(text)
	return cut
}

// end makes one message of the pieces so far, and passes the previous message to store.
func (m *messages) end(store func(engine.Message) error) error {
	if m.text.Len() == 0 {
		return nil
	}
	before := m.last
	m.last = &engine.Message{Text: m.text.String(), RawRef: span(m.from, m.to)}
	m.text.Reset()
	m.id = ""
	if before == nil {
		return nil
	}
	return store(*before)
}

func (m *messages) final() *engine.Message {
	last := m.last
	m.last = nil
	return last
}

// These marks say which side wrote a line of the transcript.
const (
	fromAgent = "< "
	toAgent   = "> "
)

// span is the part of the transcript between two lines; nil if either is missing.
func span(first, last *engine.RawRef) *engine.RawRef {
	if first == nil || last == nil {
		return nil
	}
	return &engine.RawRef{File: first.File, Offset: first.Offset, Length: last.Offset + last.Length - first.Offset}
}
