package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// proxied is a host behind a proxy that sends names in X-User as typed.
type proxied struct {
	*testing.T
	lc       *lifecycle.Lifecycle
	frontEnd http.Handler
}

func newProxied(t *testing.T) *proxied {
	t.Helper()
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		q, err := engine.ApprovalOf("Pay?", "pay", 7)
		if err != nil || len(t.Answers) == 0 {
			return engine.Ask(q), err
		}
		_, err = t.Approved(q)
		return engine.Done(map[bool]string{true: "paid", false: "not paid"}[err == nil]), nil
	})
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Engine: agent, Poll: time.Hour})
	require.NoError(t, err)
	t.Cleanup(lc.Close)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-served })
	s := &signIn{Proxy: &proxyEntry{UserHeader: "X-User", From: []string{"10.0.0.0/8"}, Hosts: []string{"desk"}}}
	require.NoError(t, s.check(""))
	frontEnd := web.Handler(lc.Client, web.Options{Identify: s.identify, Prepare: s.prepare})
	return &proxied{t, lc, s.ask(frontEnd)}
}

func (p *proxied) as(user, method, path, body string) (status int, text string) {
	p.Helper()
	r := httptest.NewRequestWithContext(p.Context(), method, "http://desk/interlude/api/"+path, strings.NewReader(body))
	r.RemoteAddr = "10.1.2.3:4"
	r.Header.Set("X-User", user)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	p.frontEnd.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// untilAsked waits for the run's question.
func (p *proxied) untilAsked(run string) {
	p.Helper()
	for e, err := range p.lc.Events(p.Context(), run, 0) {
		require.NoError(p, err)
		if e.Type == "user.input.required" {
			return
		}
	}
}

// N4, K5: spellings of an id that differ in case or in normalization are one person, who approves
// once, and never what that person has submitted.
func TestK5SpellingsOfAnIDAreOnePerson(t *testing.T) {
	const zoe, decomposed = "Zo\u00eb@example.com", "ZOE\u0308@Example.com"
	approve := `{"decision": "approve", "text": "ok"}`
	p := newProxied(t)
	status, text := p.as(zoe, http.MethodPost, "runs", `{"id": "r", "prompt": "Pay.", "ask": {"need": 2,
		"not_submitter": true, "to": {"users": ["Zo\u00eb@example.com", "Bob", "CARL"]}}}`)
	require.Equal(t, http.StatusCreated, status, text)
	p.untilAsked("r")
	reply := func(run, user string) (int, string) {
		return p.as(user, http.MethodPost, "runs/"+run+"/questions/1/reply", approve)
	}
	for _, user := range []string{zoe, decomposed, strings.ToLower(zoe)} {
		status, text = reply("r", user)
		require.Equal(t, http.StatusForbidden, status, text)
	}
	status, text = p.as("bOB", http.MethodGet, "inbox", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `"run_id":"r"`)
	status, text = reply("r", "bob")
	require.Less(t, status, 300, text)
	status, text = reply("r", "BOB")
	require.Equal(t, http.StatusConflict, status, text)
	status, text = reply("r", "carl")
	require.Less(t, status, 300, text)
	run, err := p.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "paid", run.FinalText)
}

// K5: stored names are compared folded, and are not rewritten.
func TestK5StoredNamesAreComparedFolded(t *testing.T) {
	p := newProxied(t)
	ask := &lifecycle.AskPolicy{Need: 2, NotSubmitter: true,
		To: &lifecycle.Audience{Users: []string{"Zoe", "Bob", "Carl"}}}
	_, err := p.lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "Pay.", Submitter: "Zoe", Ask: ask})
	require.NoError(t, err)
	p.untilAsked("r")
	question, err := p.lc.Pending(t.Context(), "r")
	require.NoError(t, err)
	_, err = p.lc.Reply(t.Context(), "r", lifecycle.Reply{ID: 1, Actor: lifecycle.Actor{ID: "Bob"},
		Decision: lifecycle.Approve, Seen: question.Digest()})
	require.NoError(t, err)
	for user, want := range map[string]int{"zoe": http.StatusForbidden, "bob": http.StatusConflict} {
		status, text := p.as(user, http.MethodPost, "runs/r/questions/1/reply", `{"decision": "approve"}`)
		require.Equal(t, want, status, text)
	}
	status, text := p.as("carl", http.MethodPost, "runs/r/questions/1/reassign",
		`{"to": {"users": ["Carl", "Dora"]}, "from": {"users": ["Zoe", "Bob", "Carl"], "except": ["Zoe"]}}`)
	require.Less(t, status, 300, text)
	question, err = p.lc.Pending(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, []string{"carl", "dora"}, question.To.Users)
	require.Equal(t, []string{"Zoe"}, question.To.Except, "stored names are not rewritten")
	require.Equal(t, "Bob", question.Votes[0].Actor)
}

// N4: a name with an invisible character is refused, and the response says why.
func TestN4NamesWithHiddenCharactersAreRefused(t *testing.T) {
	p := newProxied(t)
	for _, user := range []string{"ada\u200b", "a\u202eda", "ada\U000e0041", "a\tda", "ada\u00a0", "ad\u115fa", "\xff",
		strings.Repeat("a", lifecycle.MaxReplyActor+1)} {
		status, text := p.as(user, http.MethodGet, "me", "")
		require.Equal(t, http.StatusBadRequest, status, "%q", user)
		require.Contains(t, text, "without hidden characters")
	}
	status, text := p.as("Ada Lovelace", http.MethodGet, "me", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `"ada lovelace"`)
	s := &signIn{Tokens: []tokenEntry{{User: "ada\u200b", SHA256: hashOf("open")}}}
	require.ErrorContains(t, s.check(""), "U+200B")
}

// K5: folding is idempotent, and maps the spellings of each letter to one.
func TestK5FoldedIDsStayAsTheyAre(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		folded := signin.FoldID(string(r))
		if again := signin.FoldID(folded); again != folded {
			t.Errorf("U+%04X: %q, then %q", r, folded, again)
		}
	}
	for _, same := range [][2]string{{"\u00c5ngstr\u00f6m", "a\u030angstro\u0308m"}, {"\u212b", "\u00e5"},
		{"STRASSE", "stra\u00dfe"}} {
		require.Equal(t, signin.FoldID(same[0]), signin.FoldID(same[1]))
	}
}
