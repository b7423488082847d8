package slack_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// asking returns a host without a notifier, whose run r1 asks refund, and the notice of the question.
func asking(tb testing.TB) (*lifecycle.Lifecycle, notify.Notice) {
	tb.Helper()
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func((&desk{asks: []engine.Question{refund}}).agent)})
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- lc.Serve(ctx) }()
	tb.Cleanup(func() {
		stop()
		<-ended
	})
	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "r1", Prompt: "Go."})
	require.NoError(tb, err)
	return lc, noticeOf(tb, lc, func(e *lifecycle.Event) bool { return e.Type == lifecycle.TypeInputRequired })
}

// noticeOf waits for an event of r1.
func noticeOf(tb testing.TB, lc *lifecycle.Lifecycle, is func(*lifecycle.Event) bool) notify.Notice {
	tb.Helper()
	for event, err := range lc.Events(tb.Context(), "r1", 0) {
		require.NoError(tb, err)
		if is(&event) {
			return notify.Notice{Event: event}
		}
	}
	tb.Fatal("the run has no such event")
	return notify.Notice{}
}

// steps are called before a message is posted, and before and after a message is rewritten in Slack
// and its new content is saved.
type steps map[string]func()

func (s steps) at(step string) {
	if f := s[step]; f != nil {
		f()
	}
}

// watched is a process's Messages and its connection to Slack.
type watched struct {
	slack.Messages
	steps
}

func (w watched) Save(ctx context.Context, m slack.Message) error {
	if m.Shown == "" {
		return w.Messages.Save(ctx, m)
	}
	w.at("save")
	defer w.at("saved")
	return w.Messages.Save(ctx, m)
}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	switch path.Base(r.URL.Path) {
	case "chat.postMessage":
		w.at("post")
	case "chat.update":
		w.at("update")
		defer w.at("updated")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// host has the run r1, which asks refund. Its processes share the run and their Messages.
type host struct {
	*lifecycle.Lifecycle

	slack *slacktest.Slack
	asked notify.Notice
	all   slack.Memory
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{slack: slacktest.New(t)}
	h.Lifecycle, h.asked = asking(t)
	return h
}

func (h *host) process(t *testing.T, at steps, change ...func(*slack.Config)) *slack.App {
	t.Helper()
	w := watched{&h.all, at}
	cfg := slack.Config{Client: h.Client, Token: slacktest.Token, SigningSecret: slacktest.Secret, Messages: w,
		HTTP: &http.Client{Transport: w}, API: h.slack.URL, Logger: slog.New(slog.DiscardHandler), Person: who,
		Places: slack.Channel("CDESK")}
	for _, f := range change {
		f(&cfg)
	}
	app, err := slack.New(cfg)
	require.NoError(t, err)
	t.Cleanup(app.Close)
	return app
}

// claimed posts the question. Then ada claims it, so that the message shows an earlier state.
func (h *host) claimed(t *testing.T) {
	t.Helper()
	require.NoError(t, h.process(t, nil).Send(t.Context(), h.asked))
	require.NoError(t, h.As(lifecycle.Actor{ID: "ada"}).Claim(t.Context(), "r1", 1, time.Now().Add(time.Hour)))
}

// approve answers the question as ada.
func (h *host) approve(t *testing.T) {
	t.Helper()
	_, err := h.As(lifecycle.Actor{ID: "ada"}).Reply(t.Context(), "r1", lifecycle.Reply{ID: 1,
		Decision: lifecycle.Approve})
	require.NoError(t, err)
}

// P4: of two processes that rewrite a message at once, the first has read the earlier state, and its
// card arrives last, but the second is the last to save what it wrote.
func TestP4TheLastCardOfSeveralProcessesIsCurrent(t *testing.T) {
	h := newHost(t)
	h.claimed(t)
	held, secondUpdated, firstSaved, secondSaved := make(chan struct{}), make(chan struct{}), make(chan struct{}),
		make(chan struct{})
	first := h.process(t, steps{
		"update": sync.OnceFunc(func() {
			close(held)
			<-secondUpdated
		}),
		"saved": sync.OnceFunc(func() {
			close(firstSaved)
			<-secondSaved
		}),
	})
	second := h.process(t, steps{
		"updated": sync.OnceFunc(func() { close(secondUpdated) }),
		"save":    func() { <-firstSaved },
		"saved":   sync.OnceFunc(func() { close(secondSaved) }),
	})
	sent := make(chan error, 1)
	go func() { sent <- first.Send(t.Context(), h.asked) }()
	<-held
	h.approve(t)
	require.NoError(t, second.Send(t.Context(), h.asked))
	require.NoError(t, <-sent)
	require.Contains(t, h.slack.Questions()[0].Shown(), "Approved by ada")
}

// P4: a process that posts or rewrites a message while another one shows the end of the run stores
// nothing, and its message shows the end, too.
func TestP4TheMessagesOfAnEndedRunStayForgotten(t *testing.T) {
	for step, posted := range map[string]bool{"post": false, "update": true} {
		t.Run(step, func(t *testing.T) {
			h := newHost(t)
			if posted {
				h.claimed(t)
			}
			held, forgotten := make(chan struct{}), make(chan struct{})
			late := h.process(t, steps{step: sync.OnceFunc(func() {
				close(held)
				<-forgotten
			})})
			sent := make(chan error, 1)
			go func() { sent <- late.Send(t.Context(), h.asked) }()
			<-held
			h.approve(t)
			end := noticeOf(t, h.Lifecycle, (*lifecycle.Event).Terminal)
			require.NoError(t, h.process(t, nil).Send(t.Context(), end))
			close(forgotten)
			require.NoError(t, <-sent)
			require.Contains(t, h.slack.Questions()[0].Shown(), "Approved by ada")
			require.Empty(t, h.slack.Questions()[0].Buttons())
			left, err := h.all.Of(t.Context(), "r1", 0)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// P4: the log says if a question has no place, and an error names the incorrect field of a Config.
func TestP4FaultsOfTheConfiguration(t *testing.T) {
	h := newHost(t)
	var said bytes.Buffer
	app := h.process(t, nil, func(c *slack.Config) {
		c.Places = slack.Directory{}.Audience // the question is for everybody
		c.Logger = slog.New(slog.NewTextHandler(&said, nil))
	})
	require.NoError(t, app.Send(t.Context(), h.asked))
	require.Contains(t, said.String(), "a question is posted nowhere")
	require.Empty(t, h.slack.Messages())
	for field, change := range map[string]func(*slack.Config){
		"Client":        func(c *slack.Config) { c.Client = nil },
		"Token":         func(c *slack.Config) { c.Token = "" },
		"SigningSecret": func(c *slack.Config) { c.SigningSecret = "" },
		"Messages":      func(c *slack.Config) { c.Messages = nil },
		"Person":        func(c *slack.Config) { c.Person = nil },
		"Places":        func(c *slack.Config) { c.Places = nil },
		"Claim":         func(c *slack.Config) { c.Claim = -1 },
		"API":           func(c *slack.Config) { c.API = strings.TrimSuffix(h.slack.URL, "/") },
	} {
		cfg := slack.Config{Client: h.Client, Token: slacktest.Token, SigningSecret: slacktest.Secret, Messages: &h.all,
			Person: who, Places: slack.Channel("CDESK"), API: h.slack.URL}
		change(&cfg)
		_, err := slack.New(cfg)
		require.ErrorContains(t, err, "Config."+field)
	}
}
