package slack_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/lifecycle"
)

func contains(m slacktest.Message, text string) bool {
	return strings.Contains(m.Shown()+"\n"+m.Text, text)
}

var refund = engine.Question{Kind: engine.Approval, Prompt: "Refund?",
	Subject: &engine.Subject{Tool: "refund", Arguments: []byte(`{"cents":4200}`), Summary: "42.00 EUR"}}

var finance = &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{"finance"}}}

// P1, P4, N4: a question appears with buttons, the person who presses decides, and the message says who.
func TestP4TheOneWhoPressesDecides(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{Ask: finance})[0]
	require.Equal(t, "CDESK", m.Channel)
	for _, text := range []string{"Refund?", "refund", `"cents": 4200`, "42.00 EUR", "For the groups finance"} {
		require.Contains(t, m.Shown(), text)
	}
	require.Equal(t, "42.00 EUR: Refund?", m.Text, "notifications and lists name the call")
	d.press("ada", m, "approve")
	d.shows(m, "Approved by ada (slack)")
	require.Empty(t, d.message(m).Buttons())
	require.Contains(t, d.message(m).Shown(), `"cents": 4200`, "what was approved stays visible")
	record := d.record("r1", 1)
	require.Equal(t, "ada", record.Actor)
	require.Equal(t, "slack", record.Via)
	require.Equal(t, record.Question.Digest(), record.Seen)
	require.NotEmpty(t, record.Key)
	run, err := d.host.Wait(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, lifecycle.StateSucceeded, run.State)
	require.Empty(t, d.slack.Said("ada"))
}

// P1, P3: people outside the audience, and unknown people, are refused, and only they see the
// reason.
func TestP3WhoIsNotAskedDecidesNothing(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{Ask: finance})[0]
	for _, action := range []string{"approve", "reject", "form", "claim"} {
		d.press("carl", m, action)
		d.press("eve", m, action)
	}
	d.await(func() bool { return len(d.slack.Said("carl")) == 4 && len(d.slack.Said("eve")) == 4 })
	for _, said := range d.slack.Said("carl") {
		require.Contains(t, said, "for others: the groups finance")
	}
	for _, said := range d.slack.Said("eve") {
		require.Equal(t, "You are not known here.", said)
	}
	require.Empty(t, d.record("r1", 1).Resolution)
	require.Zero(t, d.message(m).Edits)
	_, open := d.slack.Modal("carl")
	require.False(t, open)
}

// P1: only requests that Slack has signed within five minutes are served.
func TestP1ForgedAndOldRequestsAreRefused(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	body, err := slacktest.Encode(d.slack.Pressed("ada", m, "approve", m.Button("approve").Value))
	require.NoError(t, err)
	now := time.Now()
	signed := func(at time.Time) http.Header { return slacktest.Sign(slacktest.Secret, at, body) }
	with := func(name, value string) http.Header {
		h := signed(now)
		h.Set(name, value)
		return h
	}
	for name, header := range map[string]http.Header{
		"no signature":             {"Content-Type": {"application/x-www-form-urlencoded"}},
		"forged":                   slacktest.Sign("another secret", now, body),
		"old":                      signed(now.Add(-5*time.Minute - 2*time.Second)),
		"of the future":            signed(now.Add(6 * time.Minute)),
		"of the far future":        signed(time.Unix(1<<62, 0)),
		"of the far past":          signed(time.Unix(-1<<62, 0)),
		"of another body":          slacktest.Sign(slacktest.Secret, now, []byte("payload=%7B%7D")),
		"cut":                      with("X-Slack-Signature", signed(now).Get("X-Slack-Signature")[:20]),
		"another version":          with("X-Slack-Signature", "v1="+signed(now).Get("X-Slack-Signature")[3:]),
		"no time":                  with("X-Slack-Request-Timestamp", ""),
		"a time that is no number": with("X-Slack-Request-Timestamp", "now"),
	} {
		r, err := slacktest.Send(d.address, header, body)
		require.NoError(t, err, name)
		require.Equal(t, http.StatusUnauthorized, r.Status, name)
	}
	require.Empty(t, d.record("r1", 1).Resolution)
	for range 2 { // a replay within five minutes gives the same answer
		r, err := slacktest.Send(d.address, signed(now.Add(-4*time.Minute)), body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.Status)
	}
	d.shows(m, "Approved by ada")
}

// P1: a double click is one answer; a second, different button shows who has decided.
func TestP1ADoubleClickIsOneAnswer(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	d.press("ada", m, "approve")
	value := m.Button("approve").Value
	for _, action := range []string{"approve", "reject"} {
		_, err := d.slack.PressValue("ada", m, action, value)
		require.NoError(t, err)
	}
	_, err := d.slack.PressValue("bob", m, "approve", value)
	require.NoError(t, err)
	d.hears("bob", "already settled. Approved by ada (slack)")
	d.await(func() bool { return len(d.slack.Said("ada")) == 1 })
	d.hears("ada", "already settled. Approved by ada (slack)") // the response to the other button
	require.Equal(t, lifecycle.Approve, d.record("r1", 1).Decision)
}

// P4: an answer from elsewhere rewrites the message.
func TestP4AnAnswerFromElsewhereRewritesTheMessage(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	_, err := d.host.As(lifecycle.Actor{ID: "dora", Via: "web"}).Reply(t.Context(), "r1",
		lifecycle.Reply{ID: 1, Decision: lifecycle.Reject, Text: "too <much> & @here"})
	require.NoError(t, err)
	d.shows(m, "Rejected by dora (web)")
	require.Contains(t, d.message(m).Shown(), "too <much> & @here")
	require.Empty(t, d.message(m).Buttons())
}

// P1: a press on a question that has changed decides nothing and shows the current one.
func TestP1AChangedQuestionIsNotDecided(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	other := "1." + strings.Repeat("0", 64) + ".r1"
	for _, action := range []string{"approve", "form"} {
		_, err := d.slack.PressValue("ada", m, action, other)
		require.NoError(t, err)
	}
	d.await(func() bool { return len(d.slack.Said("ada")) == 2 })
	for _, said := range d.slack.Said("ada") {
		require.Contains(t, said, "has changed since you saw it")
	}
	d.await(func() bool { return d.message(m).Edits > 0 })
	require.Empty(t, d.record("r1", 1).Resolution)
	require.NotEmpty(t, d.message(m).Buttons())
	_, open := d.slack.Modal("ada")
	require.False(t, open)
}

// P1, P2: after a restart the same messages are rewritten, and none is posted twice.
func TestP2ARestart(t *testing.T) {
	d := newDesk(t, []engine.Question{refund}, nil)
	m := d.ask("r1", lifecycle.Spec{})[0]
	d.stop()
	_, err := d.slack.Press("ada", m, "approve")
	require.ErrorIs(t, err, slacktest.ErrLate, "the person sees that it failed")
	d.start()
	d.press("ada", m, "approve")
	d.shows(m, "Approved by ada")
	require.Len(t, d.slack.Questions(), 1)

	// Answered while the host was down: at the next start, the events rewrite the message.
	m = d.ask("r2", lifecycle.Spec{})[0]
	client, updates := d.host.Client, d.slack.Calls("chat.update")
	d.slack.Fail(func(method string) (string, bool) {
		if method == "chat.update" {
			return "internal_error", false
		}
		return "", false
	})
	_, err = client.As(lifecycle.Actor{ID: "dora", Via: "web"}).Reply(t.Context(), "r2",
		lifecycle.Reply{ID: 1, Decision: lifecycle.Approve})
	require.NoError(t, err)
	d.await(func() bool { return d.slack.Calls("chat.update") > updates })
	d.stop()
	d.slack.Fail(nil)
	d.start()
	d.shows(m, "Approved by dora (web)")
	require.Len(t, d.slack.Questions(), 2)
}

// P1: a question whose posting was interrupted is found again by its metadata, if need be later, and
// also if it was answered in the meantime.
func TestP1AnInterruptedPostingIsFoundAgain(t *testing.T) {
	for _, name := range []string{"open", "answered"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, []engine.Question{refund}, nil)
			var posted, looked, answered atomic.Int64
			d.slack.Fail(func(method string) (string, bool) {
				late := name == "answered" && answered.Load() == 0
				if method == "conversations.history" && (looked.Add(1) == 1 || late) {
					return "ratelimited", false
				}
				return "", method == "chat.postMessage" && posted.Add(1) == 1
			})
			m := d.ask("r1", lifecycle.Spec{})[0]
			if name == "open" {
				d.await(func() bool { return d.slack.Calls("conversations.history") > 1 })
				d.press("ada", m, "approve")
				d.shows(m, "Approved by ada")
			} else {
				_, err := d.host.As(lifecycle.Actor{ID: "dora", Via: "web"}).Reply(t.Context(), "r1",
					lifecycle.Reply{ID: 1, Decision: lifecycle.Approve})
				require.NoError(t, err)
				answered.Store(1)
				d.shows(m, "Approved by dora (web)")
			}
			_, err := d.host.Wait(t.Context(), "r1")
			require.NoError(t, err)
			require.Len(t, d.slack.Questions(), 1)
		})
	}
}

// P2: the acknowledgement does not wait for a slow store; the person learns the outcome later.
func TestP2AnAcknowledgementDoesNotWaitForTheStore(t *testing.T) {
	clock := &ready{SystemClock: lifecycle.SystemClock{}}
	d := newDesk(t, []engine.Question{refund}, func(c *slack.Config) { c.Clock = clock })
	m := d.ask("r1", lifecycle.Spec{Ask: finance})[0]
	slow := make(chan struct{})
	d.store.slow.Store(&slow)
	d.press("ada", m, "approve")
	d.press("carl", m, "approve")
	require.Zero(t, d.message(m).Edits)
	d.store.slow.Store(nil)
	close(slow)
	d.shows(m, "Approved by ada")
	d.await(func() bool { return len(d.slack.Said("carl")) == 1 })
	require.Equal(t, "ada", d.record("r1", 1).Actor)
}

// ready is a clock whose timers end at once, so that every acknowledgement is due.
type ready struct{ lifecycle.SystemClock }

func (r *ready) Timer(time.Duration) (<-chan time.Time, func()) {
	c := make(chan time.Time, 1)
	c <- time.Now()
	return c, func() {}
}
