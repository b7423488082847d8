package slack_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// desk is a host with its databases in a folder, which can be restarted, and a workspace.
type desk struct {
	testing.TB

	ctx     context.Context //nolint:containedctx // of one test
	slack   *slacktest.Slack
	dir     string
	change  func(*slack.Config)
	address string // of the Request URL, since the last start
	socket  bool   // over Socket Mode
	asks    []engine.Question
	people  lifecycle.Directory

	host  *lifecycle.Lifecycle
	app   *slack.App
	store *slowStore
	stop  func()
}

// slowStore delays each read of a run while slow is set.
type slowStore struct {
	store.Store

	slow  atomic.Pointer[chan struct{}] // reads wait until it is closed
	fails atomic.Bool
}

func (s *slowStore) Run(ctx context.Context, id string) (store.Run, error) {
	if wait := s.slow.Load(); wait != nil {
		<-*wait
	}
	if s.fails.Load() {
		return store.Run{}, errors.New("open /var/secret/runs.db: disk I/O error")
	}
	return s.Store.Run(ctx, id)
}

// who is the directory: ada and bob of finance, and carl.
func who(_ context.Context, team, user string) (lifecycle.Actor, error) {
	if team != slacktest.Team {
		return lifecycle.Actor{}, people.ErrUnknown
	}
	switch user {
	case slacktest.User("ada"):
		return lifecycle.Actor{ID: "ada", Groups: []string{"finance"}}, nil
	case slacktest.User("bob"):
		return lifecycle.Actor{ID: "bob", Groups: []string{"finance"}}, nil
	case slacktest.User("carl"):
		return lifecycle.Actor{ID: "carl"}, nil
	}
	return lifecycle.Actor{}, people.ErrUnknown
}

// newDesk starts a host whose runs ask these questions at once and end with the answers.
func newDesk(t *testing.T, asks []engine.Question, change func(*slack.Config)) *desk {
	t.Helper()
	return newDeskOf(t, nil, asks, change)
}

// newDeskOf starts a host with a directory.
func newDeskOf(t *testing.T, all lifecycle.Directory, asks []engine.Question, change func(*slack.Config)) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	d := &desk{TB: t, ctx: ctx, slack: slacktest.New(t), dir: t.TempDir(), asks: asks, change: change, people: all}
	d.start()
	t.Cleanup(func() { d.stop() })
	return d
}

func (d *desk) agent(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.AskAll(d.asks...), nil
	}
	return engine.Done(t.Answers[0].Message()), nil
}

// patient is a clock whose timers of up to three seconds never end, so that a press is acknowledged only with its
// outcome. Longer timers are pauses between attempts, and end as usual.
type patient struct{ lifecycle.SystemClock }

func (p patient) Timer(d time.Duration) (<-chan time.Time, func()) {
	if d > 3*time.Second {
		return p.SystemClock.Timer(d)
	}
	return nil, func() {}
}

// start starts the host. After a stop, it uses the same databases.
func (d *desk) start() {
	d.Helper()
	runs, err := sqlite.Open(d.ctx, filepath.Join(d.dir, "runs.db"), sqlite.Options{})
	require.NoError(d, err)
	d.store = &slowStore{Store: runs}
	db, err := sql.Open("sqlite", filepath.Join(d.dir, "slack.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(d, err)
	db.SetMaxOpenConns(1)
	quiet := slog.New(slog.DiscardHandler)
	d.host, err = lifecycle.New(lifecycle.Config{Store: d.store, Engine: engine.Func(d.agent), Logger: quiet,
		Poll: 20 * time.Millisecond, Directory: d.people})
	require.NoError(d, err)
	messages, err := slack.OpenSQLite(d.ctx, db)
	require.NoError(d, err)
	queue, err := notify.OpenSQLite(d.ctx, db)
	require.NoError(d, err)
	cfg := slack.Config{Client: d.host.Client, Token: slacktest.Token, SigningSecret: slacktest.Secret,
		AppToken: slacktest.AppToken, Messages: messages, API: d.slack.URL, Person: who, Logger: quiet,
		Clock: patient{}, Places: slack.Channel("CDESK"),
		Page: func(run string, _ int) string { return "https://desk.example.com/#/inbox/" + run }}
	if d.change != nil {
		d.change(&cfg)
	}
	d.app, err = slack.New(cfg)
	require.NoError(d, err)
	notifier, err := notify.New(notify.Config{Client: d.host.Client, Queue: queue, Logger: quiet,
		Poll: 50 * time.Millisecond, Endpoints: []notify.Endpoint{d.endpoint()}})
	require.NoError(d, err)
	listener, err := new(net.ListenConfig).Listen(d.ctx, "tcp", "127.0.0.1:0")
	require.NoError(d, err)
	server := &http.Server{Handler: d.app, ReadHeaderTimeout: time.Minute}
	d.address = "http://" + listener.Addr().String()
	ctx, end := context.WithCancel(d.ctx)
	var parts sync.WaitGroup
	parts.Go(func() { _ = d.host.Serve(ctx) })
	parts.Go(func() { notifier.Serve(ctx) })
	if d.socket {
		parts.Go(func() { _ = d.app.ServeSocket(ctx) })
		<-d.slack.Connected()
	} else {
		parts.Go(func() { _ = server.Serve(listener) })
		d.slack.Deliver(d.address)
	}
	_, err = d.host.CreateFeed(d.ctx, notify.FeedName("slack"), lifecycle.DefaultFeedLag) // before the first run
	require.NoError(d, err)
	d.stop = sync.OnceFunc(func() {
		end()
		_ = server.Close()
		_ = listener.Close()
		parts.Wait()
		d.app.Close()
		require.NoError(d, errors.Join(db.Close(), runs.Close()))
	})
}

func (d *desk) endpoint() notify.Endpoint {
	e := d.app.Endpoint("slack")
	e.Retry = notify.Retry{Attempts: 1000, First: 5 * time.Millisecond, Max: 20 * time.Millisecond}
	return e
}

// ask starts a run and returns the messages about its questions.
func (d *desk) ask(run string, spec lifecycle.Spec) []slacktest.Message {
	d.Helper()
	before := len(d.slack.Questions())
	spec.ID, spec.Prompt = run, "Go."
	_, err := d.host.Submit(d.ctx, spec)
	require.NoError(d, err)
	d.await(func() bool { return len(d.slack.Questions()) >= before+len(d.asks) })
	return d.slack.Questions()[before:]
}

func (d *desk) await(holds func() bool) {
	d.Helper()
	require.NoError(d, d.slack.Await(d.ctx, holds))
}

// message returns the message as it is now.
func (d *desk) message(m slacktest.Message) slacktest.Message {
	d.Helper()
	for _, now := range d.slack.Messages() {
		if now.Channel == m.Channel && now.TS == m.TS {
			return now
		}
	}
	d.Fatalf("the message %s is gone", m.TS)
	return m
}

// shows waits until the message contains this text, and no button that decides.
func (d *desk) shows(m slacktest.Message, text string) {
	d.Helper()
	d.await(func() bool { return contains(d.message(m), text) })
}

// press presses a button, which must be acknowledged.
func (d *desk) press(person string, m slacktest.Message, action string) {
	d.Helper()
	r, err := d.slack.Press(person, d.message(m), action)
	require.NoError(d, err)
	require.Equal(d, http.StatusOK, r.Status)
}

// hears waits until a text that only this person sees contains this text.
func (d *desk) hears(person, text string) {
	d.Helper()
	d.await(func() bool {
		for _, said := range d.slack.Said(person) {
			if contains(slacktest.Message{Text: said}, text) {
				return true
			}
		}
		return false
	})
}

// modal waits until the person has a modal open.
func (d *desk) modal(person string) slacktest.View {
	d.Helper()
	var v slacktest.View
	d.await(func() bool {
		var ok bool
		v, ok = d.slack.Modal(person)
		return ok
	})
	return v
}

// record returns the record of a question.
func (d *desk) record(run string, question int) lifecycle.Record {
	d.Helper()
	r, err := d.host.Question(d.ctx, run, question)
	require.NoError(d, err)
	return r
}
