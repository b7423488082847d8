package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	gomail "github.com/wneessen/go-mail"

	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/notify/mail"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/lifecycle"
)

type noticeEntry struct {
	Name string `json:"name"`
	// Webhook is the URL of a webhook. SecretEnv is the environment variable with its secret.
	Webhook   string `json:"webhook"`
	SecretEnv string `json:"secret_env"`
	// SlackEnv and TeamsEnv are environment variables with the URL of a channel, which is a secret.
	SlackEnv string     `json:"slack_env"`
	TeamsEnv string     `json:"teams_env"`
	Mail     *mailEntry `json:"mail"`
	// Language is the language of mails and chat messages: see notify.Languages. Empty: en.
	Language string `json:"language"`
	// Types are the types of events to send; all if empty.
	Types []string `json:"types"`
	// Allow are permitted addresses that are not public, and PlainHTTP permits http.
	Allow     []string `json:"allow"`
	PlainHTTP bool     `json:"plain_http"`

	where string // the entry's path in the file, or its flag, for errors
	page  string // where people answer; may be empty
	allow []netip.Prefix
}

type mailEntry struct {
	Server      string   `json:"server"` // host:port
	User        string   `json:"user"`
	PasswordEnv string   `json:"password_env"`
	From        string   `json:"from"`
	To          []string `json:"to"`
}

func (n *noticeEntry) check() (err error) {
	kinds := 0
	for _, given := range []bool{n.Webhook != "", n.SlackEnv != "", n.TeamsEnv != "", n.Mail != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case n.Name == "":
		return fmt.Errorf("%s.name is empty, want a name that never changes: it identifies the notices already "+
			"sent", n.where)
	case n.Language != "" && !slices.Contains(notify.Languages(), n.Language):
		return fmt.Errorf("%s.language is %.80q, want %s", n.where, n.Language,
			strings.Join(notify.Languages(), " or "))
	case kinds != 1:
		return fmt.Errorf("%s has %d of webhook, slack_env, teams_env and mail, want one", n.where, kinds)
	}
	if n.allow, err = parsePrefixes(n.where+".allow", n.Allow); err != nil {
		return err
	}
	_, err = n.sender()
	return err
}

func (n *noticeEntry) sender() (notify.Sender, error) {
	network := netguard.Network{Allow: n.allow, PlainHTTP: n.PlainHTTP}
	var sender notify.Sender
	var err error
	switch {
	case n.Mail != nil:
		sender, err = n.mailSender()
	case n.Webhook != "":
		var secret string
		if secret, err = secretIn(n.SecretEnv); err != nil {
			return nil, fmt.Errorf("%s needs a secret: %w, such as whsec_$(openssl rand -base64 32)", n.where, err)
		}
		sender, err = notify.NewWebhook(notify.WebhookConfig{URL: n.Webhook, Secrets: []string{secret},
			Network: network})
	default:
		chat := notify.NewSlack
		if n.TeamsEnv != "" {
			chat = notify.NewTeams
		}
		var address string
		if address, err = secretIn(n.SlackEnv + n.TeamsEnv); err == nil {
			sender, err = chat(notify.ChatConfig{URL: address, Network: network,
				Message: func(_ context.Context, sent notify.Notice) (notify.Message, error) {
					return n.message(sent), nil
				}})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", n.where, err)
	}
	return sender, nil
}

func secretIn(name string) (string, error) {
	if name == "" {
		return "", errors.New("no environment variable is named for it")
	}
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("set $%s", name)
}

// message returns the notice's text, with a link to the page if it is about a question.
func (n *noticeEntry) message(sent notify.Notice) notify.Message {
	m := notify.MessageIn(n.Language, sent)
	if n.page == "" {
		return m
	}
	switch sent.Event.Type {
	case lifecycle.TypeInputRequired, lifecycle.TypeReminder, lifecycle.TypeEscalated:
		m.Address = strings.TrimSuffix(n.page, "/") + "/#/inbox/" + sent.Event.RunID
	}
	return m
}

func (n *noticeEntry) mailSender() (notify.Sender, error) {
	m := n.Mail
	host, text, err := net.SplitHostPort(m.Server)
	port, wrong := strconv.Atoi(text)
	switch {
	case err != nil || wrong != nil:
		return nil, fmt.Errorf("mail.server is %.80q, want a host and a port like smtp.example.com:587", m.Server)
	case len(m.To) == 0:
		return nil, errors.New("mail.to is empty, want the recipients' addresses")
	}
	how := []gomail.Option{gomail.WithPort(port), gomail.WithTLSPolicy(gomail.TLSMandatory)}
	if port == gomail.DefaultPortSSL {
		how = append(how, gomail.WithSSL())
	}
	if m.User != "" {
		password, err := secretIn(m.PasswordEnv)
		if err != nil {
			return nil, fmt.Errorf("mail.password_env: %w", err)
		}
		how = append(how, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(m.User),
			gomail.WithPassword(password))
	}
	server, err := gomail.NewClient(host, how...)
	if err != nil {
		return nil, err
	}
	to := func(context.Context, notify.Notice) ([]string, error) { return slices.Clone(m.To), nil }
	write := func(_ context.Context, sent notify.Notice, _ string) (mail.Mail, error) {
		m := n.message(sent)
		subject, _, _ := strings.Cut(m.Text, "\n")
		return mail.Mail{Subject: subject, Text: m.Text, Address: m.Address}, nil
	}
	return mail.New(mail.Config{Server: server, From: m.From, To: to, Compose: write,
		Language: func(string) string { return n.Language }})
}

// notices sends notices, and has the database of the queue.
type notices struct {
	*notify.Notifier
	db    *sql.DB
	slack *slack.App // nil: none
}

func (n *notices) close() {
	if n.slack != nil {
		n.slack.Close()
	}
	_ = n.db.Close() // the queue is stored
}

// newNotices prepares the notices; nil without receivers. On PostgreSQL the queue is in the runs'
// database, on SQLite in a file next to theirs.
func (h *hostFile) newNotices(ctx context.Context, d *console.Database, client *lifecycle.Client,
	directory lifecycle.Directory, log *slog.Logger) (*notices, error) {
	if len(h.Notify) == 0 && h.Slack == nil {
		return nil, nil //nolint:nilnil // no receivers
	}
	endpoints := make([]notify.Endpoint, 0, len(h.Notify)+1)
	for _, n := range h.Notify {
		sender, err := n.sender()
		if err != nil {
			return nil, misusef("%w", err)
		}
		endpoints = append(endpoints, notify.Endpoint{Name: n.Name, Sender: sender,
			Filter: lifecycle.FeedFilter{Types: n.Types}})
	}
	driver, name := d.Queue()
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	all := &notices{db: db}
	if all.slack, err = h.newSlack(ctx, driver, db, client, directory, log); err == nil && all.slack != nil {
		endpoints = append(endpoints, all.slack.Endpoint(slackEndpoint))
	}
	var queue *notify.SQL
	if err == nil {
		queue, err = forDriver(driver, notify.OpenSQLite, notify.OpenPostgreSQL)(ctx, db)
	}
	if err == nil {
		all.Notifier, err = notify.New(notify.Config{Client: client, Queue: queue, Logger: log, Endpoints: endpoints})
	}
	for _, e := range endpoints { // now, so that the first run that the host accepts has notices, too
		if err == nil {
			_, err = client.CreateFeed(ctx, notify.FeedName(e.Name), lifecycle.DefaultFeedLag)
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return all, nil
}

// forDriver returns the function for the database of a driver.
func forDriver[F any](driver string, onSQLite, onPostgreSQL F) F {
	if driver == "pgx" {
		return onPostgreSQL
	}
	return onSQLite
}
