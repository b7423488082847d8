// Package mail is a notify.Sender of mails, one to each person whom a notice concerns. It uses
// github.com/wneessen/go-mail.
package mail

import (
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
	// From is the sender's address, "Acme <runs@example.com>" or without the name.
	From string
	// To returns the addresses of those whom the notice concerns; none is a notice that is
	// delivered. It may look at who is asked (notify.OpenQuestion), and leave out questions that
	// somebody has answered.
	To func(ctx context.Context, n notify.Notice) ([]string, error)
	// Compose returns what the person at this address is written; without a Text, nothing. Here
	// personal links are made (host/link). Nil: notify.DefaultMessage, with a subject.
	Compose func(ctx context.Context, n notify.Notice, to string) (Mail, error)
}

// Mail is a mail to one person. It is plain text, so that nothing that an agent writes is an image,
// or a link with another name. Characters that a screen would hide are written out in subject and
// text (interaction.VisibleProse).
type Mail struct {
	Subject string
	Text    string
	// Address is that of a page where this person can answer; it is written below the text. May be
	// empty.
	Address string
}

// Sender sends mails. It is safe for concurrent use.
type Sender struct {
	config Config
	domain string // of From, for the ids of mails

	mu sync.Mutex
	// sent are the ids of mails of notices that were not delivered to all; guarded by mu.
	sent map[string]bool
}

// maxSent bounds what is remembered of notices that were delivered to some.
const maxSent = 10_000

// New returns a Sender. It sends nothing.
func New(cfg Config) (*Sender, error) {
	switch {
	case cfg.Server == nil:
		return nil, errors.New("mail: Config.Server is nil")
	case cfg.To == nil:
		return nil, errors.New("mail: Config.To is nil")
	}
	from, err := mail.ParseAddress(cfg.From)
	if err != nil {
		return nil, fmt.Errorf("mail: Config.From is %q: %w", cfg.From, err)
	}
	if cfg.Compose == nil {
		cfg.Compose = compose
	}
	return &Sender{config: cfg, domain: from.Address[strings.LastIndexByte(from.Address, '@')+1:],
		sent: make(map[string]bool)}, nil
}

func compose(_ context.Context, n notify.Notice, _ string) (Mail, error) {
	m := notify.DefaultMessage(n)
	subject, _, _ := strings.Cut(m.Text, "\n")
	return Mail{Subject: subject, Text: m.Text}, nil
}

// Send sends a mail to each person. If some cannot be reached, the notice comes again; this process
// remembers who has got it, and another one writes to all of them again, with the same Message-ID.
// A person whom the server refuses for good makes the notice a dead letter, when all others have
// got it.
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
		return errors.Join(passing...) // what is permanent will be so in the next attempt too
	}
	if len(permanent) > 0 { // if it is sent again, it is for these alone
		return errors.Join(permanent...)
	}
	s.forget(n, people)
	return nil
}

// sendTo sends one mail.
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
	if message.IsDelivered() { // and what failed was the goodbye
		s.remember(id)
		return nil
	}
	return explain(err)
}

// explain makes the refusal of a person, or of the mail, permanent. All else may pass: what a
// server says before it has read the recipient is about the host.
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
		text += "\n\nAnswer: " + m.Address
	}
	message.Subject(line(interaction.VisibleProse(m.Subject)))
	message.SetMessageIDWithValue(id)
	message.SetDateWithValue(n.Event.TS)
	message.SetGenHeader("Auto-Submitted", "auto-generated") // no holiday answers it
	message.SetGenHeader("Interlude-Notice", line(interaction.Visible(n.ID)))
	message.SetBodyString(gomail.TypeTextPlain, text+"\n")
	return message, nil
}

// maxSubject is the longest subject, in characters.
const maxSubject = 150

// line is a text as one line of a header. A text that looks like an encoded word (RFC 2047) is
// encoded itself: else the reader would see another text than the one that was checked.
func line(text string) string {
	words := strings.Join(strings.Fields(text), " ")
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

// messageID is the same in each attempt, so that a mailbox can see that it has the mail.
func (s *Sender) messageID(n notify.Notice, to string) string {
	// The time tells a run from one that was pruned and submitted again under its id.
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

// forget forgets a notice that does not come again.
func (s *Sender) forget(n notify.Notice, people []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, to := range people {
		delete(s.sent, s.messageID(n, to))
	}
}
