package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// ChatConfig configures a chat's incoming webhook. URL is required.
type ChatConfig struct {
	// URL is the webhook of a channel. It is a secret: its holder can write to the channel.
	URL string
	// Message returns the text for a notice. A Message without a Text is not sent, and its notice
	// counts as delivered. Nil: DefaultMessage, without an address.
	Message func(ctx context.Context, n Notice) (Message, error)
	// Network restricts the addresses.
	Network netguard.Network
	// Clock interprets a Retry-After date. Nil: lifecycle.SystemClock.
	Clock lifecycle.Clock
}

// Message is a notice for people.
type Message struct {
	// Text is plain text: links, mentions and markup in it have no effect. Invisible characters are
	// named (interaction.VisibleProse), and it is cut to MaxText bytes.
	Text string
	// Address is a page where the question can be answered; may be empty. Many people read a
	// channel, so use host/link's personal links only in mails.
	Address string
}

// MaxText is the maximum length of a Message's Text, in bytes.
const MaxText = 3000

// DefaultMessage describes questions, reminders, escalations, blocked runs, and the ends of runs.
// For other events its Text is empty.
func DefaultMessage(n Notice) Message { return MessageIn("en", n) }

// Languages are the languages of messages.
func Languages() []string { return slices.Sorted(maps.Keys(texts)) }

// texts are the sentences of messages by language. The first argument is the run.
var texts = map[string]sentences{
	"en": {asks: "%s asks: %s", reminds: "A question of %s is still open.",
		escalates: "A question of %s was escalated, because it was not answered.", stops: "%s cannot continue: %s",
		ends: map[lifecycle.State]string{lifecycle.StateSucceeded: "%s has ended: succeeded",
			lifecycle.StateFailed: "%s has ended: failed", lifecycle.StateCanceled: "%s has ended: canceled"}},
	"de": {asks: "%s fragt: %s", reminds: "Eine Frage von %s ist noch offen.",
		escalates: "Eine Frage von %s wurde eskaliert, weil sie nicht beantwortet wurde.",
		stops:     "%s kann nicht fortfahren: %s",
		ends: map[lifecycle.State]string{lifecycle.StateSucceeded: "%s war erfolgreich.",
			lifecycle.StateFailed: "%s ist gescheitert.", lifecycle.StateCanceled: "%s wurde abgebrochen."}},
}

type sentences struct {
	asks, reminds, escalates, stops string
	ends                            map[lifecycle.State]string
}

// MessageIn is DefaultMessage in the given language, or in English if Languages lacks it.
func MessageIn(language string, n Notice) Message {
	t, ok := texts[language]
	if !ok {
		t = texts["en"]
	}
	e := n.Event
	run := interaction.Visible(e.RunID)
	if n.Summary != "" {
		run += " (" + interaction.Visible(n.Summary) + ")"
	}
	switch e.Type {
	case lifecycle.TypeInputRequired:
		if q, ok := n.Question(); ok {
			return Message{Text: fmt.Sprintf(t.asks, run, questionText(q))}
		}
	case lifecycle.TypeReminder:
		return Message{Text: fmt.Sprintf(t.reminds, run)}
	case lifecycle.TypeEscalated:
		return Message{Text: fmt.Sprintf(t.escalates, run)}
	case lifecycle.TypeBlocked:
		var b struct{ Message string }
		if e.Decode(&b) == nil {
			return Message{Text: fmt.Sprintf(t.stops, run, interaction.VisibleProse(b.Message))}
		}
	case lifecycle.TypeStateChanged:
		var change lifecycle.StateChanged
		if e.Terminal() && e.Decode(&change) == nil {
			return Message{Text: fmt.Sprintf(t.ends[lifecycle.State(change.To)], run)}
		}
	}
	return Message{}
}

// shownChanges is how many changes of a call a text names.
const shownChanges = 8

func questionText(q lifecycle.InputRequired) string {
	var b strings.Builder
	b.WriteString(interaction.VisibleProse(q.Prompt))
	if s := q.Subject; s != nil {
		fmt.Fprintf(&b, "\n%s %s", interaction.Visible(s.Tool), interaction.VisibleJSON([]byte(s.Arguments), ""))
	}
	for i, c := range q.Changes {
		if i == shownChanges {
			fmt.Fprintf(&b, "\n… %d more changes", len(q.Changes)-i)
			break
		}
		change := interaction.Change{Path: c.Path, Kind: interaction.ChangeKind(c.Kind), Before: c.Before,
			After: c.After}
		b.WriteString("\n" + change.Name())
	}
	for _, o := range q.Options {
		label, value := interaction.Option{Label: o.Label, Value: o.Value}.Shown()
		fmt.Fprintf(&b, "\n- %s", label)
		if value != "" {
			fmt.Fprintf(&b, " (%s)", value)
		}
	}
	return b.String()
}

type chat struct {
	to      *url.URL
	client  *http.Client
	clock   lifecycle.Clock
	message func(ctx context.Context, n Notice) (Message, error)
	encode  func(m Message) any
}

// NewSlack returns a Sender for a Slack incoming webhook.
func NewSlack(cfg ChatConfig) (Sender, error) { return newChat(cfg, slackBody) }

// NewTeams returns a Sender for a Microsoft Teams workflow that posts webhook requests.
func NewTeams(cfg ChatConfig) (Sender, error) { return newChat(cfg, teamsBody) }

func newChat(cfg ChatConfig, encode func(Message) any) (*chat, error) {
	to, err := cfg.Network.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	if cfg.Message == nil {
		cfg.Message = func(_ context.Context, n Notice) (Message, error) { return DefaultMessage(n), nil }
	}
	if cfg.Clock == nil {
		cfg.Clock = lifecycle.SystemClock{}
	}
	return &chat{to: to, client: cfg.Network.Client(), clock: cfg.Clock, message: cfg.Message, encode: encode}, nil
}

// Send posts the notice's message. Chats have no message ids, so a repeated notice is posted again.
func (c *chat) Send(ctx context.Context, n Notice) error {
	m, err := c.message(ctx, n)
	if err != nil || m.Text == "" {
		return err
	}
	m.Text = cut(interaction.VisibleProse(m.Text))
	body, err := json.Marshal(c.encode(m))
	if err != nil {
		return Permanent(err)
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", userAgent)
	return post(ctx, c.client, c.clock, c.to, header, bytes.NewReader(body))
}

func cut(text string) string {
	const dots = "…"
	if len(text) <= MaxText {
		return text
	}
	return text[:interaction.Break(text, MaxText-len(dots))] + dots
}

// slackText disables Slack's links and mentions, which use angle brackets.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slackBody(m Message) any {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type block struct {
		Type string `json:"type"`
		Text text   `json:"text"`
	}
	blocks := []block{{"section", text{"plain_text", m.Text}}}
	if m.Address != "" {
		blocks = append(blocks, block{"section", text{"mrkdwn", "<" + escapeAddress(m.Address) + "|Answer>"}})
	}
	return struct {
		Text   string  `json:"text"` // for notifications
		Blocks []block `json:"blocks"`
	}{slackText.Replace(m.Text), blocks}
}

func escapeAddress(address string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", " ", "%20").Replace(address)
}

// teamsBody is an adaptive card. Its text is a text run, which Teams does not parse as Markdown.
func teamsBody(m Message) any {
	type object map[string]any
	card := object{"type": "AdaptiveCard", "version": "1.4",
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"body":    []object{{"type": "RichTextBlock", "inlines": []object{{"type": "TextRun", "text": m.Text}}}}}
	if m.Address != "" {
		card["actions"] = []object{{"type": "Action.OpenUrl", "title": "Answer", "url": m.Address}}
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}
}
