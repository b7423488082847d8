package notify

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/lifecycle"
)

// chatted returns the text posted for a notice; empty if nothing was posted.
func chatted(t *testing.T, newChat func(ChatConfig) (Sender, error), cfg ChatConfig, n Notice) string {
	t.Helper()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	cfg.URL, cfg.Network = server.URL, loopback
	s, err := newChat(cfg)
	require.NoError(t, err)
	require.NoError(t, s.Send(t.Context(), n))
	return string(body)
}

// L4: chats get the question as plain text: an agent's text contains no mention or link.
func TestL4ChatsGetPlainText(t *testing.T) {
	n := sample()
	n.Event.Data = json.RawMessage(`{"interaction_id":1,"prompt":"<!channel> [ship](https://evil.example) & <it>?",
		"options":[{"label":"yes","value":"y"},{"label":"no\u200b","value":"no\u200b"}],"subject":{"tool":"pay","arguments":"{\"to\":1}"}}`)
	page := func(_ context.Context, n Notice) (Message, error) {
		m := DefaultMessage(n)
		m.Address = "https://example.com/q?a=1&b=<x|y>"
		return m, nil
	}
	text := "release-1.2 asks: <!channel> [ship](https://evil.example) & <it>?\n" +
		"pay {\"to\":1}\n- yes (y)\n- no\\u{200B}"
	var slack struct {
		Text   string
		Blocks []struct{ Text struct{ Type, Text string } }
	}
	require.NoError(t, json.Unmarshal([]byte(chatted(t, NewSlack, ChatConfig{Message: page}, n)), &slack))
	require.NotContains(t, slack.Text, "<")
	require.Equal(t, "plain_text", slack.Blocks[0].Text.Type)
	require.Equal(t, text, slack.Blocks[0].Text.Text)
	require.Equal(t, "<https://example.com/q?a=1&b=%3Cx%7Cy%3E|Answer>", slack.Blocks[1].Text.Text)
	require.NoError(t, json.Unmarshal([]byte(chatted(t, NewSlack, ChatConfig{}, n)), &slack))
	require.Len(t, slack.Blocks, 1)

	var teams struct {
		Attachments []struct {
			ContentType string
			Content     struct {
				Body    []struct{ Inlines []struct{ Type, Text string } }
				Actions []struct{ Type, URL string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(chatted(t, NewTeams, ChatConfig{Message: page}, n)), &teams))
	card := teams.Attachments[0].Content
	require.Equal(t, "TextRun", card.Body[0].Inlines[0].Type)
	require.Equal(t, text, card.Body[0].Inlines[0].Text)
	require.Equal(t, "https://example.com/q?a=1&b=<x|y>", card.Actions[0].URL)
}

// L4: every event that people wait for has a message, and other events are skipped.
func TestL4MessagesOfEvents(t *testing.T) {
	for _, c := range []struct{ kind, data, want string }{
		{lifecycle.TypeInputRequired, `{"prompt":"Ship it?"}`, "release-1.2 asks: Ship it?"},
		{lifecycle.TypeReminder, `{"interaction_id":1}`, "A question of release-1.2 is still open."},
		{lifecycle.TypeEscalated, `{"interaction_id":1}`,
			"A question of release-1.2 was escalated, because it was not answered."},
		{lifecycle.TypeBlocked, `{"message":"no engine"}`, "release-1.2 cannot continue: no engine"},
		{lifecycle.TypeStateChanged, `{"to":"failed"}`, "release-1.2 has ended: failed"},
		{lifecycle.TypeStateChanged, `{"to":"queued"}`, ""},
		{lifecycle.TypeMessageFinal, `{"text":"hello"}`, ""},
		{lifecycle.TypeInputRequired, `[]`, ""},
	} {
		n := sample()
		n.Event.Type, n.Event.Data = c.kind, json.RawMessage(c.data)
		require.Equal(t, c.want, DefaultMessage(n).Text)
		require.Equal(t, c.want == "", chatted(t, NewTeams, ChatConfig{}, n) == "", c.kind)
	}
	n := sample()
	n.Event.Data = json.RawMessage(`{"prompt":"` + strings.Repeat("é", MaxText) + `"}`)
	got := cut(DefaultMessage(n).Text)
	require.True(t, utf8.ValidString(got))
	require.LessOrEqual(t, len(got), MaxText)
	require.Greater(t, len(got), MaxText-3)
	require.Equal(t, "short", cut("short"))

	broken := func(context.Context, Notice) (Message, error) { return Message{}, errDown }
	s, err := NewSlack(ChatConfig{URL: "https://example.com", Message: broken})
	require.NoError(t, err)
	require.ErrorIs(t, s.Send(t.Context(), n), errDown)
	_, err = NewSlack(ChatConfig{URL: "http://example.com/secret"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	s, err = NewTeams(ChatConfig{URL: "http://127.0.0.1:1/secret", Network: netguard.Network{PlainHTTP: true}})
	require.NoError(t, err)
	err = s.Send(t.Context(), n)
	require.ErrorIs(t, err, netguard.ErrForbiddenAddress)
	require.NotContains(t, err.Error(), "secret", "a chat's address is a secret")
}

// N7: every message exists in every language, with the same content.
func TestN7MessagesAreInEachLanguage(t *testing.T) {
	require.Equal(t, []string{"de", "en"}, Languages())
	for _, c := range []struct {
		kind   string
		data   any
		en, de string
	}{
		{lifecycle.TypeInputRequired, lifecycle.InputRequired{Prompt: "Ship?"}, "r asks: Ship?", "r fragt: Ship?"},
		{lifecycle.TypeReminder, struct{}{}, "A question of r is still open.", "Eine Frage von r ist noch offen."},
		{lifecycle.TypeEscalated, struct{}{}, "A question of r was escalated, because it was not answered.",
			"Eine Frage von r wurde eskaliert, weil sie nicht beantwortet wurde."},
		{lifecycle.TypeBlocked, map[string]string{"message": "no key"}, "r cannot continue: no key",
			"r kann nicht fortfahren: no key"},
		{lifecycle.TypeStateChanged, lifecycle.StateChanged{From: "running", To: "succeeded"}, "r has ended: succeeded",
			"r war erfolgreich."},
		{lifecycle.TypeStateChanged, lifecycle.StateChanged{From: "running", To: "failed"}, "r has ended: failed",
			"r ist gescheitert."},
		{lifecycle.TypeStateChanged, lifecycle.StateChanged{From: "running", To: "canceled"}, "r has ended: canceled",
			"r wurde abgebrochen."},
		{lifecycle.TypeStateChanged, lifecycle.StateChanged{From: "queued", To: "running"}, "", ""},
	} {
		data, err := json.Marshal(c.data)
		require.NoError(t, err)
		n := Notice{Event: lifecycle.Event{RunID: "r", Type: c.kind, Data: data}}
		require.Equal(t, c.en, DefaultMessage(n).Text)
		require.Equal(t, c.de, MessageIn("de", n).Text)
		require.Equal(t, c.en, MessageIn("xx", n).Text)
	}
}
