package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/interaction"
)

// toolCall describes a tool call. Missing members come from an earlier message.
//
//nolint:tagliatelle // the protocol's words
type toolCall struct {
	ID        string          `json:"toolCallId"`
	Title     *string         `json:"title"`
	Kind      *string         `json:"kind"`
	RawInput  json.RawMessage `json:"rawInput"`
	Locations json.RawMessage `json:"locations"`
}

const maxTools = 256

// tools are a turn's tool calls by id: a permission request may give only the id.
type tools struct {
	order []string
	calls map[string]subject
}

// subject is the subject of a permission request.
//
//nolint:tagliatelle // the protocol's words
type subject struct {
	Kind      string          `json:"kind"`
	Title     string          `json:"title"`
	RawInput  json.RawMessage `json:"rawInput"`
	Locations json.RawMessage `json:"locations"`
	Content   json.RawMessage `json:"content"`
}

// add stores a tool call's description, dropping the oldest of too many.
func (t *tools) add(c toolCall, content json.RawMessage) {
	if c.ID == "" || len(c.ID) > maxLabel {
		return
	}
	if t.calls == nil {
		t.calls = make(map[string]subject)
	}
	if _, known := t.calls[c.ID]; !known {
		if t.order = append(t.order, c.ID); len(t.order) > maxTools {
			delete(t.calls, t.order[0])
			t.order = t.order[1:]
		}
	}
	t.calls[c.ID] = t.subject(c, content)
}

// subject describes a tool call: members missing in c and content come from an earlier message.
func (t *tools) subject(c toolCall, content json.RawMessage) subject {
	s := t.calls[c.ID]
	if c.Kind != nil {
		s.Kind = *c.Kind
	}
	if c.Title != nil {
		s.Title = *c.Title
	}
	for _, part := range []struct {
		to   *json.RawMessage
		said json.RawMessage
	}{{&s.RawInput, c.RawInput}, {&s.Locations, c.Locations}, {&s.Content, content}} {
		if said := string(part.said); said != "" && said != "null" {
			*part.to = part.said
		}
	}
	return s
}

// changes returns the diffs in the content. A diff without an old text creates a file.
func (s subject) changes(redacted func(string) string) (all []interaction.Change) {
	//nolint:tagliatelle // the protocol's words
	var content []struct {
		Type string  `json:"type"`
		Path string  `json:"path"`
		Old  *string `json:"oldText"`
		New  string  `json:"newText"`
	}
	if json.Unmarshal(s.Content, &content) != nil {
		return nil
	}
	for _, c := range content {
		if c.Type != "diff" {
			continue
		}
		change := interaction.Change{Path: redacted(c.Path), Kind: interaction.ChangeCreate, After: redacted(c.New)}
		if c.Old != nil {
			change.Kind, change.Before = interaction.ChangeEdit, redacted(*c.Old)
		}
		all = append(all, change)
	}
	return all
}

// withoutDiffs returns the content without its diffs.
func (s subject) withoutDiffs() json.RawMessage {
	var content []json.RawMessage
	if json.Unmarshal(s.Content, &content) != nil {
		return s.Content
	}
	others, err := json.Marshal(slices.DeleteFunc(content, func(raw json.RawMessage) bool {
		var c struct{ Type string }
		return json.Unmarshal(raw, &c) == nil && c.Type == "diff"
	}))
	if err != nil {
		return s.Content
	}
	return others
}

// digest identifies the subject: SHA-256 over its canonical JSON. It is empty for a subject without
// title, input and content, which cannot be distinguished.
func (s subject) digest() string {
	parts := []any{s.Kind, s.Title, canonical(s.RawInput), canonical(s.Locations), canonical(s.Content)}
	if parts[2] == nil && parts[4] == nil && strings.TrimSpace(s.Title) == "" {
		return ""
	}
	body, err := json.Marshal(parts)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// canonical decodes a JSON value to encode it with sorted members and numbers as written. An empty
// value counts as missing.
func canonical(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}
