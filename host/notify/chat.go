package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// ChatConfig configures the incoming webhook of a chat. URL is required.
type ChatConfig struct {
	// URL is what the chat gives for its channel. It is a secret: whoever has it can write there.
	URL string
	// Message is what is written about a notice; without a Text nothing is, and the notice counts
	// as delivered. Nil: DefaultMessage without an address.
	Message func(ctx context.Context, n Notice) (Message, error)
	// Network says which addresses may be reached.
	Network netguard.Network
	// Clock is for pauses until a time. Nil: lifecycle.SystemClock.
	Clock lifecycle.Clock
}

// Message is what people read about a notice.
type Message struct {
	// Text is plain text: nothing in it is a link, a mention, or bold. Characters that a screen would
	// hide are written out (interaction.VisibleProse), and it is cut to MaxText bytes.
	Text string
	// Address is that of a page where the question can be answered; may be empty. Many read a
	// channel: a personal link of host/link is for mail.
	Address string
}

// MaxText is the longest text of a Message.
const MaxText = 3000

// DefaultMessage is a message for the events that people wait for: questions, reminders,
// escalations, runs that cannot go on, and the ends of runs. It has no text for others.
func DefaultMessage(n Notice) Message {
	e := n.Event
	run := interaction.Visible(e.RunID)
	switch e.Type {
	case lifecycle.TypeInputRequired:
		if q, ok := n.Question(); ok {
			return Message{Text: fmt.Sprintf("%s asks: %s", run, questionText(q))}
		}
	case lifecycle.TypeReminder:
		return Message{Text: fmt.Sprintf("A question of %s still waits for an answer.", run)}
	case lifecycle.TypeEscalated:
		return Message{Text: fmt.Sprintf("A question of %s was put to others, since nobody has answered.", run)}
	case lifecycle.TypeBlocked:
		var b struct{ Message string }
		if e.Decode(&b) == nil {
			return Message{Text: fmt.Sprintf("%s cannot go on: %s", run, interaction.VisibleProse(b.Message))}
		}
	case lifecycle.TypeStateChanged:
		var change lifecycle.StateChanged
		if e.Terminal() && e.Decode(&change) == nil {
			return Message{Text: fmt.Sprintf("%s has ended: %s", run, change.To)}
		}
	}
	return Message{}
}

// questionText is the question with what it is about.
func questionText(q lifecycle.InputRequired) string {
	var b strings.Builder
	b.WriteString(interaction.VisibleProse(q.Prompt))
	if s := q.Subject; s != nil {
		fmt.Fprintf(&b, "\n%s %s", interaction.Visible(s.Tool), interaction.VisibleJSON([]byte(s.Arguments), ""))
	}
	for _, o := range q.Options {
		label, value := interaction.Option(o).Shown()
		fmt.Fprintf(&b, "\n- %s", label)
		if value != "" {
			fmt.Fprintf(&b, " (%s)", value)
		}
	}
	return b.String()
}

// chat posts messages in the form of one chat.
type chat struct {
	to      *url.URL
	client  *http.Client
	clock   lifecycle.Clock
	message func(ctx context.Context, n Notice) (Message, error)
	encode  func(m Message) any
}

// NewSlack returns a Sender for an incoming webhook of Slack.
func NewSlack(cfg ChatConfig) (Sender, error) { return newChat(cfg, slackBody) }

// NewTeams returns a Sender for a workflow of Microsoft Teams that posts what a webhook request
// brings.
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

// Send posts the notice's message. A chat has no ids: a notice that comes again is written again.
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

// cut shortens a text to MaxText, between two characters.
func cut(text string) string {
	const dots = "…"
	if len(text) <= MaxText {
		return text
	}
	return text[:interaction.Break(text, MaxText-len(dots))] + dots
}

// slackText keeps Slack from reading links and mentions in a text: they stand in angle brackets.
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
		Text   string  `json:"text"` // in notifications
		Blocks []block `json:"blocks"`
	}{slackText.Replace(m.Text), blocks}
}

// escapeAddress keeps an address within its brackets.
func escapeAddress(address string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", " ", "%20").Replace(address)
}

// teamsBody is an adaptive card. Its text is a text run, in which nothing is read as Markdown.
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
