// Package mail is a notify.Sender of mails, one to each recipient of a notice. It uses
// github.com/wneessen/go-mail.
package mail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/interaction"
)

// Config configures a Sender. Server, From and To are required.
type Config struct {
	// Server is the SMTP server, with its TLS policy, authentication and port.
	Server *gomail.Client
	// From is the sender's address, with or without a name: "Acme <runs@example.com>".
	From string
	// To returns the addresses of the recipients; a notice without recipients counts as delivered.
	// It may read the audience, and omit questions that are already answered (notify.OpenQuestion).
	To func(ctx context.Context, n notify.Notice) ([]string, error)
	// Compose returns the mail to one address; without a Text, none is sent. Make personal links
	// (host/link) here. Nil: notify.MessageIn in the person's language, with a subject.
	Compose func(ctx context.Context, n notify.Notice, to string) (Mail, error)
	// Language returns the language of the person with this address: see notify.Languages. The
	// default Compose uses it, and the word before Mail.Address. Nil: English.
	Language func(to string) string
}

// Mail is a mail to one person. It is plain text, so agents cannot add images or disguised links.
// Invisible characters in subject and text are named (interaction.VisibleProse).
type Mail struct {
	Subject string
	Text    string
	// Address is a page where this person can answer, written below the text. May be empty.
	Address string
}

// Sender sends mails. It is safe for concurrent use.
type Sender struct {
	config Config
	domain string // of From, for message ids

	mu sync.Mutex
	// sent has the message ids of partly delivered notices; guarded by mu.
	sent map[string]bool
}

const maxSent = 10_000

// New returns a Sender.
func New(cfg Config) (*Sender, error) {
	switch {
	case cfg.Server == nil:
		return nil, errors.New("mail: Config.Server is nil, want an SMTP client")
	case cfg.To == nil:
		return nil, errors.New("mail: Config.To is nil, want a function that returns the recipients")
	}
	from, err := mail.ParseAddress(cfg.From)
	if err != nil {
		return nil, fmt.Errorf("mail: Config.From is %q, want an address like Acme <runs@example.com>: "+
			"%w", cfg.From, err)
	}
	if cfg.Language == nil {
		cfg.Language = func(string) string { return "en" }
	}
	if cfg.Compose == nil {
		cfg.Compose = func(_ context.Context, n notify.Notice, to string) (Mail, error) {
			return compose(cfg.Language(to), n), nil
		}
	}
	return &Sender{config: cfg, domain: from.Address[strings.LastIndexByte(from.Address, '@')+1:],
		sent: make(map[string]bool)}, nil
}

// answer is the word before Mail.Address by language.
var answer = map[string]string{"en": "Answer", "de": "Antworten"}

func compose(language string, n notify.Notice) Mail {
	m := notify.MessageIn(language, n)
	subject, _, _ := strings.Cut(m.Text, "\n")
	return Mail{Subject: subject, Text: m.Text}
}

// Send sends a mail to each recipient. If some cannot be reached now, the notice is retried: this
// process skips recipients that already have it, and another process mails all of them again, with
// the same Message-ID. If the server permanently refuses a recipient, the notice becomes a dead
// letter once all others have it.
func (s *Sender) Send(ctx context.Context, n notify.Notice) error {
	people, err := s.config.To(ctx, n)
	if err != nil {
		return err
	}
	var passing, permanent []error
	for _, to := range people {
		switch err := s.sendTo(ctx, n, to); {
		case err == nil:
		case errors.Is(err, notify.ErrPermanent):
			permanent = append(permanent, err)
		default:
			passing = append(passing, err)
		}
	}
	if len(passing) > 0 {
		return errors.Join(passing...) // permanent errors will occur again in the next attempt
	}
	if len(permanent) > 0 { // a resend goes only to these
		return errors.Join(permanent...)
	}
	s.forget(n, people)
	return nil
}

func (s *Sender) sendTo(ctx context.Context, n notify.Notice, to string) error {
	id := s.messageID(n, to)
	if s.wasSent(id) {
		return nil
	}
	m, err := s.config.Compose(ctx, n, to)
	if err != nil || m.Text == "" {
		return err
	}
	message, err := s.message(n, to, id, &m)
	if err != nil {
		return notify.Permanent(err)
	}
	err = s.config.Server.DialAndSendWithContext(ctx, message)
	if message.IsDelivered() { // only the end of the session failed
		s.remember(id)
		return nil
	}
	return explain(err)
}

// explain makes the refusal of a recipient or of the mail permanent. Other errors are temporary,
// since they concern the host.
func explain(err error) error {
	var refusal *gomail.SendError
	if errors.As(err, &refusal) && refusal.ErrorCode() >= 500 {
		if refusal.Reason == gomail.ErrSMTPRcptTo || refusal.Reason == gomail.ErrSMTPDataClose {
			return notify.Permanent(err)
		}
	}
	return err
}

func (s *Sender) message(n notify.Notice, to, id string, m *Mail) (*gomail.Msg, error) {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := message.From(s.config.From); err != nil {
		return nil, err
	}
	if err := message.To(to); err != nil {
		return nil, err
	}
	text := interaction.VisibleProse(m.Text)
	if m.Address != "" {
		text += "\n\n" + cmp.Or(answer[s.config.Language(to)], answer["en"]) + ": " + m.Address
	}
	message.Subject(line(interaction.VisibleProse(m.Subject)))
	message.SetMessageIDWithValue(id)
	message.SetDateWithValue(n.Event.TS)
	message.SetGenHeader("Auto-Submitted", "auto-generated") // stops automatic replies
	message.SetGenHeader("Interlude-Notice", line(interaction.Visible(n.ID)))
	message.SetBodyString(gomail.TypeTextPlain, text+"\n")
	return message, nil
}

const maxSubject = 150

// line makes a text one header line. A text that looks like an encoded word (RFC 2047) is itself
// encoded; otherwise the reader would see a different text from the checked one.
func line(text string) string {
	blank := func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }
	words := strings.Join(strings.FieldsFunc(text, blank), " ")
	if characters := []rune(words); len(characters) > maxSubject {
		most := len(string(characters[:maxSubject-1]))
		words = words[:interaction.Break(words, most)] + "…"
	}
	if !strings.Contains(words, "=?") {
		return words
	}
	const most = 45 // bytes; an encoded word has at most 75 characters
	var all []string
	for words != "" {
		n := max(interaction.Break(words, most), 1)
		all = append(all, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(words[:n]))+"?=")
		words = words[n:]
	}
	return strings.Join(all, " ")
}

// messageID is the same in each attempt, so a mailbox can detect duplicates.
func (s *Sender) messageID(n notify.Notice, to string) string {
	// The time distinguishes a run that was pruned and submitted again under its id.
	sum := sha256.Sum256([]byte(n.ID + "\n" + n.Event.TS.UTC().Format(time.RFC3339Nano) + "\n" + to))
	return hex.EncodeToString(sum[:16]) + "@" + s.domain
}

func (s *Sender) wasSent(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[id]
}

func (s *Sender) remember(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent) >= maxSent {
		clear(s.sent)
	}
	s.sent[id] = true
}

// forget removes the message ids of a notice that will not be sent again.
func (s *Sender) forget(n notify.Notice, people []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, to := range people {
		delete(s.sent, s.messageID(n, to))
	}
}
