package mail

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/internal/hostile"
	"github.com/interlude-go/interlude/lifecycle"
)

// server speaks enough SMTP to receive mails. Answers replace its usual responses to commands.
type server struct {
	net.Listener

	mu      sync.Mutex
	answers map[string]string // guarded by mu; by the beginning of a command
	mails   []string          // guarded by mu
	done    sync.WaitGroup
}

func newServer(tb testing.TB) *server {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	s := &server{Listener: l, answers: make(map[string]string)}
	s.done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.done.Go(func() { s.talk(conn) })
		}
	})
	tb.Cleanup(func() {
		l.Close()
		s.done.Wait()
	})
	return s
}

func (s *server) answer(command, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[command] = text
}

// talk serves a client. An empty answer closes the connection.
func (s *server) talk(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewReader(conn)
	text := "220 ready"
	for {
		if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
			return
		}
		command, err := lines.ReadString('\n')
		if err != nil || strings.HasPrefix(command, "QUIT") {
			return
		}
		text = "250 ok"
		if strings.HasPrefix(command, "DATA") {
			if _, err := io.WriteString(conn, "354 go on\r\n"); err != nil {
				return
			}
			var mail strings.Builder
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				mail.WriteString(line)
			}
			s.mu.Lock()
			if s.answers["DATA"] == "" {
				s.mails = append(s.mails, mail.String())
			}
			s.mu.Unlock()
		}
		s.mu.Lock()
		for beginning, other := range s.answers {
			if strings.HasPrefix(command, beginning) {
				text = other
			}
		}
		s.mu.Unlock()
		if text == "cut" {
			return
		}
	}
}

// got returns the mails so far.
func (s *server) got(tb testing.TB) (mails []*netmail.Message) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.mails {
		m, err := netmail.ReadMessage(strings.NewReader(text))
		require.NoError(tb, err)
		mails = append(mails, m)
	}
	s.mails = nil
	return mails
}

// to returns the recipients of mails, sorted.
func to(mails []*netmail.Message) (all []string) {
	for _, m := range mails {
		all = append(all, strings.Trim(m.Header.Get("To"), "<>"))
	}
	slices.Sort(all)
	return all
}

func (s *server) sender(tb testing.TB, change func(*Config)) *Sender {
	tb.Helper()
	port := s.Addr().(*net.TCPAddr).Port
	client, err := gomail.NewClient("127.0.0.1", gomail.WithPort(port), gomail.WithTLSPolicy(gomail.NoTLS),
		gomail.WithTimeout(10*time.Second), gomail.WithHELO("localhost"))
	require.NoError(tb, err)
	cfg := Config{Server: client, From: "Acme <runs@example.com>",
		To: func(context.Context, notify.Notice) ([]string, error) {
			return []string{"ada@example.com", "bob@example.com"}, nil
		}}
	if change != nil {
		change(&cfg)
	}
	sender, err := New(cfg)
	require.NoError(tb, err)
	return sender
}

func notice(prompt string) notify.Notice {
	data, err := json.Marshal(lifecycle.InputRequired{InteractionID: 1, Prompt: prompt})
	if err != nil {
		panic(err)
	}
	return notify.Notice{ID: "release-1/7", Attempt: 1, Event: lifecycle.Event{RunID: "release-1", Seq: 7,
		Type: lifecycle.TypeInputRequired, TS: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Data: data}}
}

// L4: each person gets a separate mail with a personal link, and with the same id in each attempt;
// an agent's text stays within the text and the subject.
func TestL4EachPersonGetsAMail(t *testing.T) {
	s := newServer(t)
	sender := s.sender(t, func(c *Config) {
		c.Compose = func(_ context.Context, n notify.Notice, to string) (Mail, error) {
			m := compose("en", n)
			m.Address = "https://example.com/answer/" + to
			return m, nil
		}
	})
	n := notice("Ship it?\r\nBcc: eve@example.com\r\n\r\nHello")
	require.NoError(t, sender.Send(t.Context(), n))
	first := s.got(t)
	require.Equal(t, []string{"ada@example.com", "bob@example.com"}, to(first))
	for _, m := range first {
		require.Equal(t, `"Acme" <runs@example.com>`, m.Header.Get("From"))
		require.Equal(t, "release-1 asks: Ship it?", m.Header.Get("Subject"))
		require.Equal(t, "release-1/7", m.Header.Get("Interlude-Notice"))
		require.Equal(t, "Sun, 01 Mar 2026 12:00:00 +0000", m.Header.Get("Date"))
		require.Empty(t, m.Header.Get("Bcc"))
		text, err := io.ReadAll(m.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), "Answer: https://example.com/answer/"+to([]*netmail.Message{m})[0])
	}
	require.NotEqual(t, first[0].Header.Get("Message-ID"), first[1].Header.Get("Message-ID"))
	require.NoError(t, sender.Send(t.Context(), n))
	second := s.got(t)
	require.Len(t, second, 2, "another attempt, in a process that does not know the first")
	for i := range second {
		require.Equal(t, first[i].Header.Get("Message-ID"), second[i].Header.Get("Message-ID"))
	}
}

// N8: a mail about a question with files can name them and leads to the page; it has no file's content.
func TestN8AMailLeadsToTheFiles(t *testing.T) {
	lc, err := lifecycle.New(lifecycle.Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func(func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			err := os.WriteFile(filepath.Join(turn.ArtifactDir, "plan.txt"), []byte("build it"), 0o600)
			q := engine.Question{Kind: engine.Confirm, Prompt: "Is the plan right?"}
			if err == nil {
				q.Files, err = turn.Files("plan.txt")
			}
			return engine.Ask(q), err
		})})
	require.NoError(t, err)
	defer lc.Close()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-served)
	}()
	_, err = lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "Go."})
	require.NoError(t, err)

	s := newServer(t)
	sender := s.sender(t, func(c *Config) {
		c.Compose = func(ctx context.Context, n notify.Notice, _ string) (Mail, error) {
			m := compose("en", n)
			q, err := notify.OpenQuestion(ctx, lc.Client, n)
			if err != nil {
				return m, err
			}
			for _, f := range q.Files.All() {
				m.Text += "\n" + f.Name
			}
			m.Address = "https://example.com/#/inbox/r/1"
			return m, nil
		}
	})
	for e, err := range lc.Events(t.Context(), "r", 0) {
		require.NoError(t, err)
		if e.Type == lifecycle.TypeInputRequired {
			require.NoError(t, sender.Send(t.Context(), notify.Notice{ID: "r/1", Attempt: 1, Event: e}))
			break
		}
	}
	mails := s.got(t)
	require.Len(t, mails, 2)
	for _, m := range mails {
		text, err := io.ReadAll(m.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), "plan.txt")
		require.Contains(t, string(text), "Answer: https://example.com/#/inbox/r/1")
		require.NotContains(t, string(text), "build it")
	}
}

// L4: a person who cannot be reached now gets the mail later, and the others get it once; an
// unknown recipient makes a dead letter.
func TestL4SomeCannotBeReached(t *testing.T) {
	s := newServer(t)
	sender := s.sender(t, nil)
	n := notice("Ship it?")
	for _, trouble := range []string{"450 busy", "cut"} {
		s.answer("RCPT TO:<bob", trouble)
		err := sender.Send(t.Context(), n)
		require.Error(t, err)
		require.NotErrorIs(t, err, notify.ErrPermanent)
	}
	require.Equal(t, []string{"ada@example.com"}, to(s.got(t)))
	s.answer("RCPT TO:<bob", "250 ok")
	require.NoError(t, sender.Send(t.Context(), n))
	require.Equal(t, []string{"bob@example.com"}, to(s.got(t)))
	require.Empty(t, sender.sent, "no memory remains after delivery")

	s.answer("RCPT TO:<ada", "550 unknown")
	require.ErrorIs(t, sender.Send(t.Context(), n), notify.ErrPermanent)
	require.Equal(t, []string{"bob@example.com"}, to(s.got(t)))
	s.answer("RCPT TO:<ada", "250 ok")
	require.NoError(t, sender.Send(t.Context(), n))
	require.Equal(t, []string{"ada@example.com"}, to(s.got(t)), "the dead letter is sent again")

	s.answer("DATA", "554 refused")
	require.ErrorIs(t, sender.Send(t.Context(), n), notify.ErrPermanent)
	s.answer("DATA", "cut")
	require.NotErrorIs(t, sender.Send(t.Context(), n), notify.ErrPermanent)
	s.answer("MAIL FROM", "530 sign in first")
	err := sender.Send(t.Context(), n)
	require.Error(t, err)
	require.NotErrorIs(t, err, notify.ErrPermanent, "the host is at fault, and can correct it")
	require.Empty(t, s.got(t))
}

// L4: no recipients, no text, and functions that fail.
func TestL4WhoAndWhatAreTheHosts(t *testing.T) {
	s := newServer(t)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		change func(*Config)
		want   error
	}{
		"nobody": {change: func(c *Config) {
			c.To = func(context.Context, notify.Notice) ([]string, error) { return nil, nil }
		}},
		"To fails": {want: broken, change: func(c *Config) {
			c.To = func(context.Context, notify.Notice) ([]string, error) { return nil, broken }
		}},
		"no text": {change: func(c *Config) {
			c.Compose = func(context.Context, notify.Notice, string) (Mail, error) { return Mail{Subject: "x"}, nil }
		}},
		"Compose fails": {want: broken, change: func(c *Config) {
			c.Compose = func(context.Context, notify.Notice, string) (Mail, error) { return Mail{}, broken }
		}},
		"no address": {want: notify.ErrPermanent, change: func(c *Config) {
			c.To = func(context.Context, notify.Notice) ([]string, error) { return []string{"ada\r\nX: y"}, nil }
		}},
	} {
		require.ErrorIs(t, s.sender(t, c.change).Send(t.Context(), notice("?")), c.want, name)
	}
	require.Empty(t, s.got(t))
	require.Equal(t, "a b c", line("a\r\n b\tc"))
	require.Len(t, []rune(line(strings.Repeat("é", 2*maxSubject))), maxSubject)
	client, err := gomail.NewClient("localhost")
	require.NoError(t, err)
	nobody := func(context.Context, notify.Notice) ([]string, error) { return nil, nil }
	for _, cfg := range []Config{{}, {Server: client, From: "a@b.c"}, {Server: client, To: nobody},
		{Server: client, To: nobody, From: "a"}, {From: "a@b.c", To: nobody}} {
		_, err := New(cfg)
		require.ErrorContains(t, err, "mail: Config.")
	}
	sender := s.sender(t, nil)
	for i := range maxSent + 1 {
		sender.remember(fmt.Sprint(i))
	}
	require.Len(t, sender.sent, 1, "memory is limited")
}

// N4: the subject equals its text for any agent's text: no encoded word hides a different text,
// nothing is invisible, no emoji is torn. Nothing names the library.
func TestN4TheSubjectIsItsText(t *testing.T) {
	s := newServer(t)
	hidden := "=?utf-8?b?4oCuZXZpbA0KQmNjOiB4AA==?="
	sender := s.sender(t, func(c *Config) {
		c.To = func(context.Context, notify.Notice) ([]string, error) { return []string{"ada@example.com"}, nil }
	})
	for prompt, want := range map[string]string{
		hidden:                               "release-1 asks: " + hidden,
		hidden + " é " + hidden:              "release-1 asks: " + hidden + " é " + hidden,
		"a\u202e\x00\u200bb":                 `release-1 asks: a\u{202E}\u{0000}\u{200B}b`,
		"x" + strings.Repeat(" ", 400) + "y": "release-1 asks: x[400 white-space characters]y",
		strings.Repeat("x", 131) + "👩\u200d💻 ok?": "release-1 asks: " + strings.Repeat("x", 131) + "…",
		"Ship 👩\u200d💻?":                          "release-1 asks: Ship 👩\u200d💻?",
	} {
		require.NoError(t, sender.Send(t.Context(), notice(prompt)))
		m := s.got(t)[0]
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		require.NoError(t, err)
		require.Equal(t, want, subject)
		require.Empty(t, m.Header.Get("User-Agent")+m.Header.Get("X-Mailer"))
	}
}

// N4: the subject and the text of a mail show every character of an agent's text.
func TestN4AMailShowsHostileText(t *testing.T) {
	s := newServer(t)
	sender := s.sender(t, func(c *Config) {
		c.To = func(context.Context, notify.Notice) ([]string, error) { return []string{"ada@example.com"}, nil }
	})
	for _, c := range hostile.Cases() {
		q := lifecycle.InputRequired{InteractionID: 1, Prompt: c.Question.Prompt}
		var exact []string
		if about := c.Question.Subject; about != nil {
			q.Subject, exact = &fcmp.Subject{Tool: about.Tool, Arguments: string(about.Arguments)}, c.Exact
		}
		for _, o := range c.Question.Options {
			q.Options, exact = append(q.Options, fcmp.Option{Label: o.Label, Value: o.Value}), c.Exact
		}
		n := notice("")
		var err error
		n.Event.Data, err = json.Marshal(q)
		require.NoError(t, err)
		require.NoError(t, sender.Send(t.Context(), n))
		m := s.got(t)[0]
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		require.NoError(t, err)
		require.NoError(t, hostile.Check(subject, nil, []string{"prompt"}))
		text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		require.NoError(t, err)
		require.NoError(t, hostile.Check(string(text), exact, []string{"prompt"}))
	}
}

// N7: each person gets the mail in their language; another language is English.
func TestN7MailsAreInThePersonsLanguage(t *testing.T) {
	require.ElementsMatch(t, notify.Languages(), slices.Collect(maps.Keys(answer)))
	s := newServer(t)
	of := map[string]string{"ada@example.com": "de", "bob@example.com": "xx"}
	sender := s.sender(t, func(c *Config) {
		c.Language = func(to string) string { return of[to] }
	})
	write := sender.config.Compose
	sender.config.Compose = func(ctx context.Context, n notify.Notice, to string) (Mail, error) {
		m, err := write(ctx, n, to)
		m.Address = "https://example.com/answer"
		return m, err
	}
	require.NoError(t, sender.Send(t.Context(), notice("Liefern?")))
	for _, m := range s.got(t) {
		text, err := io.ReadAll(m.Body)
		require.NoError(t, err)
		if strings.Contains(m.Header.Get("To"), "ada") {
			require.Equal(t, "release-1 fragt: Liefern?", m.Header.Get("Subject"))
			require.Contains(t, string(text), "Antworten: https://example.com/answer")
			continue
		}
		require.Equal(t, "release-1 asks: Liefern?", m.Header.Get("Subject"))
		require.Contains(t, string(text), "Answer: https://example.com/answer")
	}
}
