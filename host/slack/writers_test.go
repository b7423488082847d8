package slack_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// asking returns a host without a notifier, whose run r1 asks refund, and the notice of the question.
func asking(tb testing.TB, rules lifecycle.Policy) (*lifecycle.Lifecycle, notify.Notice) {
	tb.Helper()
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func((&desk{asks: []engine.Question{refund}}).agent), Policy: rules, PolicyTimeout: time.Minute})
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
	h.Lifecycle, h.asked = asking(t, nil)
	return h
}

func (h *host) process(t *testing.T, at steps, change ...func(*slack.Config)) *slack.App {
	t.Helper()
	w := watched{&h.all, at}
	cfg := slack.Config{Client: h.Client, Token: slacktest.Token, SigningSecret: slacktest.Secret, Messages: w,
		HTTP: &http.Client{Transport: w}, API: h.slack.URL, Logger: slog.New(slog.DiscardHandler), Person: who,
		Clock: patient{}, Places: slack.Channel("CDESK")}
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

// N9: while the host's policy decides, a question is posted nowhere, whichever event arrives.
func TestN9AHiddenQuestionIsNotPosted(t *testing.T) {
	decide := make(chan struct{})
	h := &host{slack: slacktest.New(t)}
	h.Lifecycle, h.asked = asking(t, func(context.Context, lifecycle.Proposal) (lifecycle.Ruling, error) {
		<-decide
		return lifecycle.Ruling{}, nil
	})
	app := h.process(t, nil)
	require.NoError(t, app.Send(t.Context(), h.asked))
	require.Empty(t, h.slack.Messages())
	close(decide)
	require.Eventually(t, func() bool { // the policy leaves it to people
		r, err := h.Question(t.Context(), "r1", 1)
		return err == nil && !r.Question.Hidden(h.Now())
	}, time.Minute, time.Millisecond)
	require.NoError(t, app.Send(t.Context(), h.asked))
	require.Len(t, h.slack.Questions(), 1)
}

// P4: a question has at most MaxPlaces messages.
func TestP4TheMessagesOfAQuestionAreBounded(t *testing.T) {
	h := newHost(t)
	app := h.process(t, nil, func(c *slack.Config) {
		c.Places = func(context.Context, *lifecycle.Run, *lifecycle.Question) (all []string, _ error) {
			for i := range slack.MaxPlaces + 20 {
				all = append(all, fmt.Sprintf("C%03d", i))
			}
			return all, nil
		}
	})
	require.NoError(t, app.Send(t.Context(), h.asked))
	require.Len(t, h.slack.Questions(), slack.MaxPlaces)
}

// P1: a message of another app that has the same key in its metadata is not taken for the message
// whose posting was interrupted.
func TestP1AMessageOfAnotherAppIsNotFound(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.process(t, nil, func(c *slack.Config) { c.Messages = new(slack.Memory) }).Send(t.Context(),
		h.asked))
	key := h.slack.Questions()[0].Key
	h.slack.Delete(h.slack.Questions()[0])
	_, _, err := sdk.New(slacktest.Token, sdk.OptionAPIURL(h.slack.URL)).PostMessageContext(t.Context(), "CDESK",
		sdk.MsgOptionText("another app's", false), sdk.MsgOptionMetadata(sdk.SlackMetadata{EventType: "other",
			EventPayload: map[string]any{"key": key}}))
	require.NoError(t, err)
	require.NoError(t, h.all.Add(t.Context(), slack.Message{Run: "r1", Question: 1, Place: "CDESK"}))
	require.NoError(t, h.process(t, nil).Send(t.Context(), h.asked))
	all, err := h.all.Of(t.Context(), "r1", 1)
	require.NoError(t, err)
	for _, m := range h.slack.Messages() {
		require.Equal(t, m.Text != "another app's", m.TS == all[0].TS)
	}
	require.Len(t, h.slack.Messages(), 2)
}

// P1: a modal that shows another state of the question is refused.
func TestP1AModalOfAChangedQuestionIsRefused(t *testing.T) {
	h := newHost(t)
	app := h.process(t, nil)
	require.NoError(t, app.Send(t.Context(), h.asked))
	key := h.slack.Questions()[0].Key
	state := map[string]map[string]any{"input-0": {"value": map[string]any{"type": "static_select",
		"selected_option": map[string]any{"value": "0"}}}}
	submit := func(value string) slacktest.Response {
		view := fmt.Appendf(nil, `{"callback_id":"answer","private_metadata":"CDESK %s %s"}`, h.slack.Questions()[0].TS,
			value)
		body, err := slacktest.Encode(slacktest.Submission("ada", view, state))
		require.NoError(t, err)
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.Header = slacktest.Sign(slacktest.Secret, time.Now(), body)
		app.ServeHTTP(w, r)
		return slacktest.Response{Status: w.Code, Body: w.Body.Bytes()}
	}
	changed := submit("1." + strings.Repeat("0", 64) + ".r1")
	require.Contains(t, changed.Updated(), "has changed since you saw it")
	record, err := h.Question(t.Context(), "r1", 1)
	require.NoError(t, err)
	require.Empty(t, record.Resolution)
	same := submit(key)
	require.Empty(t, same.Updated())
	record, err = h.Question(t.Context(), "r1", 1)
	require.NoError(t, err)
	require.Equal(t, lifecycle.UserReply, record.Resolution)
}

// counted counts the reads of the messages of one question.
type counted struct {
	slack.Messages

	reads atomic.Int64
}

func (c *counted) Of(ctx context.Context, run string, question int) ([]slack.Message, error) {
	if question > 0 {
		c.reads.Add(1)
	}
	return c.Messages.Of(ctx, run, question)
}

// P4: the end of a run shows a question once, however many messages it has.
func TestP4TheEndShowsEachQuestionOnce(t *testing.T) {
	var reads [2]int64
	for i, places := range [][]string{{"CDESK"}, {"CDESK", "CFINANCE", "COPS"}} {
		h := newHost(t)
		all := &counted{Messages: &h.all}
		app := h.process(t, nil, func(c *slack.Config) {
			c.Messages = all
			c.Places = func(context.Context, *lifecycle.Run, *lifecycle.Question) ([]string, error) {
				return places, nil
			}
		})
		require.NoError(t, app.Send(t.Context(), h.asked))
		require.Len(t, h.slack.Questions(), len(places))
		h.approve(t)
		end := noticeOf(t, h.Lifecycle, (*lifecycle.Event).Terminal)
		all.reads.Store(0)
		require.NoError(t, app.Send(t.Context(), end))
		reads[i] = all.reads.Load()
	}
	require.Positive(t, reads[0])
	require.Equal(t, reads[0], reads[1])
}
