package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/engine/modeltest"
)

// E1, E4, I11: kill -9 of the host and of Codex, while the run is parked and while a turn runs. The
// scripted model knows the replies only from the history that the resumed session sends.
func TestCodexSurvivesOffline(t *testing.T) {
	survives(t, hello(t), "codex-offline", "-agent", "codex", "-offline", "-command", agentstest.Program(t, "codex"))
}

// The scripted model decides only by the history, also if a turn was repeated, or an agent adds
// text to the person's messages.
func TestTheModelGoesByTheHistory(t *testing.T) {
	said := func(role modeltest.Role, text string) modeltest.Message {
		return modeltest.Message{Role: role, Text: text}
	}
	task := said(modeltest.User, "Say hello.\n\n## Artifacts\nWrite every file that is a result of your work into "+
		"this folder: /a b/c\n\n## Output\n```json-schema\n{\"type\":\"object\"}\n```\n")
	first, second := said(modeltest.Assistant, "? How shall it sound?"), said(modeltest.Assistant,
		"May I write it into a file?")
	pirate, yes := said(modeltest.User, "pirate"), said(modeltest.User, "yes")
	for name, c := range map[string]struct {
		history []modeltest.Message
		given   []string
	}{
		"a first turn":  {[]modeltest.Message{task}, nil},
		"repeated":      {[]modeltest.Message{task, said(modeltest.Assistant, "I have read the skill."), task}, nil},
		"a second turn": {[]modeltest.Message{task, first, pirate}, []string{"pirate"}},
		"repeated as well": {[]modeltest.Message{task, first, pirate, said(modeltest.Assistant, "Noted."), pirate},
			[]string{"pirate"}},
		"the last turn": {[]modeltest.Message{task, first, pirate, second, yes}, []string{"pirate", "yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := recalled(modeltest.Conversation{Messages: c.history})
			require.Equal(t, c.given, a.given)
			require.Equal(t, "/a b/c", a.folder)
			require.JSONEq(t, `{"type":"object"}`, string(a.schema))
			require.False(t, a.alone)
		})
	}
	lost := recalled(modeltest.Conversation{Messages: []modeltest.Message{pirate}})
	require.Empty(t, lost.given, "a session that lost its history starts again")
}

// A sample matches simple schemas.
func TestOutputPassesASimpleSchema(t *testing.T) {
	a := act{alone: true,
		schema: []byte(`{"type": "object", "required": ["tone", "n", "list", "pick", "in", "extra"], "properties": {
		"tone": {"type": "string"}, "n": {"type": "integer", "minimum": 3},
		"list": {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
		"pick": {"enum": ["x", "y"]}, "in": {"type": "object", "required": ["s"], "properties": {"s": {"type": "string", "minLength": 2}}}}}`)}
	body, err := a.output()
	require.NoError(t, err)
	require.JSONEq(t, `{"tone": "friendly", "n": 3, "list": [false, false], "pick": "x", "in": {"s": "xx"}, "extra": {}}`, string(body))
}
