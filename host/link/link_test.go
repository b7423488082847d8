package link

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// host serves runs that ask one question, and its links.
type host struct {
	tb    testing.TB
	lc    *lifecycle.Lifecycle
	links *Links
	now   time.Time // the time of the links' clock
}

func (h *host) Now() time.Time { return h.now }

func (h *host) Timer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

var keyA = Key{ID: "a", Secret: []byte(strings.Repeat("a", MinSecret))}

// newHost starts a host whose runs ask the question; change may modify the configurations.
func newHost(tb testing.TB, q engine.Question, change func(*Config, *lifecycle.Config)) *host {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	h := &host{tb: tb, now: time.Now()}
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(q), nil
		}
		return engine.Done(t.Answers[0].Message()), nil
	})
	lcfg := lifecycle.Config{Store: memory.New(), Engine: agent, Logger: quiet}
	cfg := Config{URL: "https://example.com/answer", Keys: []Key{keyA}, Clock: h, Logger: quiet, Name: "Acme"}
	if change != nil {
		change(&cfg, &lcfg)
	}
	var err error
	h.lc, err = lifecycle.New(lcfg)
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.lc.Serve(ctx) }()
	tb.Cleanup(func() {
		stop()
		require.NoError(tb, <-served)
	})
	cfg.Client = h.lc.Client
	h.links, err = New(cfg)
	require.NoError(tb, err)
	return h
}

// asked submits a run and returns its question once it is open.
func (h *host) asked(id string, ask *lifecycle.AskPolicy) lifecycle.Question {
	h.tb.Helper()
	_, err := h.lc.Submit(h.tb.Context(), lifecycle.Spec{ID: id, Prompt: "Go.", Ask: ask})
	require.NoError(h.tb, err)
	for e, err := range h.lc.Events(h.tb.Context(), id, 0) {
		require.NoError(h.tb, err)
		if e.Type == "user.input.required" {
			break
		}
	}
	q, err := h.lc.Pending(h.tb.Context(), id)
	require.NoError(h.tb, err)
	return *q
}

func (h *host) link(id string, q lifecycle.Question, options ...Option) string {
	h.tb.Helper()
	address, err := h.links.For(id, q, options...)
	require.NoError(h.tb, err)
	return address
}

// call requests the page; form is the body of a POST.
func (h *host) call(method, address string, form url.Values, header ...string) *httptest.ResponseRecorder {
	h.tb.Helper()
	r := httptest.NewRequestWithContext(h.tb.Context(), method, address, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.links.ServeHTTP(w, r)
	return w
}

var confirm = engine.Question{Kind: engine.Confirm, Prompt: "Ship <script>alert(1)</script> it?"}

// L2: scanners follow links, so GET and HEAD change nothing. POST decides, once.
func TestL2GETAndHEADDecideNothingAndPOSTDecidesOnce(t *testing.T) {
	h := newHost(t, confirm, nil)
	q := h.asked("r", nil)
	address := h.link("r", q, To("ada"))
	before, err := h.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	for _, method := range []string{"GET", "HEAD", "GET"} {
		got := h.call(method, address+"?option=0&decision=approve&text=yes", nil)
		require.Equal(t, http.StatusOK, got.Code)
		require.Empty(t, got.Header().Get("Interlude-Reason"))
		body := got.Body.String()
		if method == "HEAD" {
			require.Empty(t, body)
			continue
		}
		require.Contains(t, body, "Ship &lt;script&gt;")
		require.NotContains(t, body, "<script")
		require.Contains(t, body, "You answer as <strong>ada</strong>", "visible to a person who gets the mail "+
			"forwarded")
		require.Contains(t, body, "<style>"+h.links.style+"</style>", "the policy has the hash of these bytes")
		for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "same-origin",
			"Content-Security-Policy": h.links.policy, "X-Content-Type-Options": "nosniff"} {
			require.Equal(t, want, got.Header().Get(name), name)
		}
	}
	require.Equal(t, http.StatusMethodNotAllowed, h.call("DELETE", address, nil).Code)
	after, err := h.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, before, after)

	for range 2 { // pressing a button twice gives one reply
		got := h.call("POST", address, url.Values{"option": {"0"}})
		require.Equal(t, http.StatusOK, got.Code)
		require.Contains(t, got.Body.String(), "Thank you")
	}
	run, err := h.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "yes", run.FinalText)
	history, err := h.lc.History(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "ada", history[0].Actor)
	require.Equal(t, "link", history[0].Via)
	require.Equal(t, q.Digest(), history[0].Seen)
	other := h.call("POST", address, url.Values{"option": {"1"}})
	require.Equal(t, "settled", other.Header().Get("Interlude-Reason"), "a second, different answer is too late")
}

// L2: each reason has its own page and status, for GET and for POST, and nothing is decided.
func TestL2EachRefusalHasItsReason(t *testing.T) {
	to := func(names ...string) *lifecycle.AskPolicy {
		return &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: names}}
	}
	h := newHost(t, confirm, func(c *Config, _ *lifecycle.Config) {
		c.Person = func(r *http.Request, person string) (lifecycle.Actor, error) {
			if in := r.Header.Get("Signed-In"); in != "" && in != person {
				return lifecycle.Actor{}, ErrWrongPerson
			}
			return lifecycle.Actor{ID: person}, nil
		}
	})
	cases := map[Reason]func() (address string, header []string){
		Damaged: func() (string, []string) {
			a := h.link("r", h.asked("r", nil), To("ada"))
			return a[:len(a)-3], nil
		},
		Foreign: func() (string, []string) {
			l, err := New(Config{Client: h.lc.Client, URL: "https://example.com", Keys: []Key{{"old", keyA.Secret}}})
			require.NoError(t, err)
			a, err := l.For("foreign", h.asked("foreign", nil), To("ada"))
			require.NoError(t, err)
			return a, nil
		},
		Expired: func() (string, []string) {
			return h.link("late", h.asked("late", nil), To("ada"), Until(h.now)), nil
		},
		WrongPerson: func() (string, []string) {
			return h.link("wrong", h.asked("wrong", nil), To("ada")), []string{"Signed-In", "eve"}
		},
		Reassigned: func() (string, []string) {
			q := h.asked("moved", to("ada"))
			a := h.link("moved", q, To("ada"))
			carl := lifecycle.Audience{Users: []string{"carl"}}
			require.NoError(t, h.lc.Reassign(t.Context(), "moved", 1, q.To, carl))
			return a, nil
		},
		Claimed: func() (string, []string) {
			q := h.asked("claimed", nil)
			bob := h.lc.As(lifecycle.Actor{ID: "bob"})
			require.NoError(t, bob.Claim(t.Context(), "claimed", 1, time.Now().Add(time.Hour)))
			return h.link("claimed", q, To("ada")), nil
		},
		Settled: func() (string, []string) {
			q := h.asked("done", nil)
			_, err := h.lc.As(lifecycle.Actor{ID: "bob"}).Reply(t.Context(), "done", lifecycle.Reply{ID: 1, Text: "no"})
			require.NoError(t, err)
			return h.link("done", q, To("ada")), nil
		},
		Changed: func() (string, []string) {
			q := h.asked("changed", nil)
			q.Prompt = "Shall I have a look?"
			return h.link("changed", q, To("ada")), nil
		},
		Gone: func() (string, []string) {
			q := h.asked("gone", nil)
			q.ID = 7
			return h.link("gone", q, To("ada")), nil
		},
	}
	says := map[Reason]string{Reassigned: "carl", Claimed: "bob", Settled: "bob"}
	for reason, prepare := range cases {
		address, header := prepare()
		for _, method := range []string{"GET", "POST"} {
			got := h.call(method, address, url.Values{"option": {"0"}}, header...)
			require.Equal(t, string(reason), got.Header().Get("Interlude-Reason"), "%s %s", method, reason)
			require.Equal(t, statuses[reason], got.Code, reason)
			body := got.Body.String()
			require.Contains(t, body, english.Reasons[reason][0])
			require.Contains(t, body, says[reason])
			require.NotContains(t, body, "<form", "no button is shown")
		}
	}
	never := h.asked("never", to("bob"))
	got := h.call("POST", h.link("never", never, To("ada")), url.Values{"option": {"0"}})
	require.Equal(t, "wrong_person", got.Header().Get("Interlude-Reason"), "outside the audience from the start")
	blank := h.call("POST", h.link("never", never, To("bob")), url.Values{"text": {"  "}})
	require.Equal(t, "invalid", blank.Header().Get("Interlude-Reason"))
	strange := h.call("POST", h.link("never", never, To("bob")), url.Values{"option": {"0"}}, "Sec-Fetch-Site",
		"cross-site")
	require.Equal(t, "not_allowed", strange.Header().Get("Interlude-Reason"), "another site's page has a form")
	for id := range map[string]bool{"r": true, "foreign": true, "late": true, "wrong": true, "never": true} {
		run, err := h.lc.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateWaitingUser, run.State, id)
	}
}

// L1: a link cannot do what Authorize refuses, and the hook sees the person.
func TestL1ALinkAsksAuthorize(t *testing.T) {
	var mu sync.Mutex
	var replies []string
	h := newHost(t, confirm, func(_ *Config, lc *lifecycle.Config) {
		lc.Authorize = func(_ context.Context, a lifecycle.Access) error {
			if a.Action != lifecycle.ActionReply {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			replies = append(replies, a.Actor.String())
			return errors.New("not today")
		}
	})
	address := h.link("r", h.asked("r", nil), To("ada"))
	got := h.call("POST", address, url.Values{"text": {"yes"}})
	require.Equal(t, "not_allowed", got.Header().Get("Interlude-Reason"))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"ada (by link)"}, replies)
}

// L1: links and Go calls race for one question: one wins, and each loser learns who won.
func TestL1OneWinnerAndTheOthersLearnWhoWon(t *testing.T) {
	h := newHost(t, confirm, nil)
	for _, id := range []string{"r1", "r2", "r3", "r4", "r5"} {
		q := h.asked(id, nil)
		people := []string{"ada", "bob", "eve"}
		pages := make([]string, len(people))
		reasons := make([]string, len(people))
		var all sync.WaitGroup
		for i, p := range people {
			address := h.link(id, q, To(p))
			all.Go(func() {
				got := h.call("POST", address, url.Values{"text": {p}})
				reasons[i], pages[i] = got.Header().Get("Interlude-Reason"), got.Body.String()
			})
		}
		var direct error
		all.Go(func() {
			_, direct = h.lc.As(lifecycle.Actor{ID: "lee"}).Reply(t.Context(), id, lifecycle.Reply{ID: 1, Text: "lee"})
		})
		all.Wait()
		history, err := h.lc.History(t.Context(), id)
		require.NoError(t, err)
		winner := history[0].Actor
		if winner != "lee" {
			require.ErrorIs(t, direct, lifecycle.ErrSettled)
		} else {
			require.NoError(t, direct)
		}
		for i, p := range people {
			if p == winner {
				require.Contains(t, pages[i], "Thank you")
				continue
			}
			require.Equal(t, "settled", reasons[i])
			require.Contains(t, pages[i], "<strong>"+winner+"</strong>")
		}
	}
}

// L2: a link survives an outage of the store.
func TestL2AStoreThatIsOutOfOrder(t *testing.T) {
	h := newHost(t, confirm, nil)
	address := h.link("r", h.asked("r", nil), To("ada"))
	h.links.config.Client = h.lc.On(broken{})
	got := h.call("POST", address, url.Values{"option": {"0"}})
	require.Equal(t, "unavailable", got.Header().Get("Interlude-Reason"))
	require.Equal(t, http.StatusServiceUnavailable, got.Code)
}

// L2: the host's sign-in may fold names: a link works for every spelling of its person's name, and
// for no other person.
func TestL2ALinkIsForAllSpellingsOfAName(t *testing.T) {
	h := newHost(t, confirm, func(c *Config, _ *lifecycle.Config) {
		c.Person = func(r *http.Request, _ string) (lifecycle.Actor, error) {
			return lifecycle.Actor{ID: strings.ToLower(r.Header.Get("Signed-In")), Fold: strings.ToLower}, nil
		}
	})
	address := h.link("r", h.asked("r", nil), To("Ada"))
	require.Equal(t, http.StatusForbidden, h.call("GET", address, nil, "Signed-In", "bob").Code)
	require.Equal(t, http.StatusOK, h.call("GET", address, nil, "Signed-In", "ADA").Code)
}

type broken struct{ store.Store }

func (broken) Run(context.Context, string) (store.Run, error) {
	return store.Run{}, errors.New("out of order")
}

// J10: a host function that panics or exits its goroutine makes only its link unavailable.
func TestJ10AFunctionOfTheHostThatFailsIsAnswered(t *testing.T) {
	for how, fail := range map[string]func(){"panics": func() { panic("out of order") }, "exits": runtime.Goexit} {
		for _, which := range []string{"Person", "Page", "Authorize"} {
			failing := ""
			call := func(name string) {
				if name == failing {
					fail()
				}
			}
			h := newHost(t, confirm, func(cfg *Config, lcfg *lifecycle.Config) {
				cfg.Person = func(_ *http.Request, id string) (lifecycle.Actor, error) {
					call("Person")
					return lifecycle.Actor{ID: id}, nil
				}
				cfg.Page = func(string, int) string { call("Page"); return "https://example.com/page" }
				lcfg.Authorize = func(context.Context, lifecycle.Access) error { call("Authorize"); return nil }
			})
			address := h.link("r", h.asked("r", nil), To("ada"))
			failing = which
			for _, method := range []string{"GET", "POST"} {
				if which == "Page" && method == "POST" {
					continue // is not called
				}
				got := h.call(method, address, url.Values{"option": {"0"}})
				want := http.StatusServiceUnavailable
				if which == "Authorize" && how == "panics" {
					want = http.StatusForbidden // the client refuses the call
				}
				require.Equal(t, want, got.Code, "%s %s: %s", which, how, method)
				require.NotContains(t, got.Body.String(), "out of order")
			}
			failing = ""
			require.Equal(t, http.StatusOK, h.call("GET", address, nil).Code)
			require.Equal(t, http.StatusOK, h.call("POST", address, url.Values{"option": {"0"}}).Code)
		}
	}
}

// ahead is the clock of a database server that is a day ahead of this machine.
type ahead struct {
	lifecycle.SystemClock
	more *atomic.Int64 // nanoseconds
}

func (a ahead) Now() time.Time { return time.Now().Add(24*time.Hour + time.Duration(a.more.Load())) }

// K5, L2: claims are shown as lasting or expired by the client's clock, which also decides the
// expiry of links without a Clock.
func TestK5LinksAskTheClientsClock(t *testing.T) {
	clock := ahead{more: new(atomic.Int64)}
	h := newHost(t, confirm, func(cfg *Config, lcfg *lifecycle.Config) { cfg.Clock, lcfg.Clock = nil, clock })
	q := h.asked("r", nil)
	address := h.link("r", q, To("ada"))
	bob := h.lc.As(lifecycle.Actor{ID: "bob"})
	require.NoError(t, bob.Claim(t.Context(), "r", 1, h.lc.Now().Add(time.Hour)))
	require.Equal(t, "claimed", h.call("GET", address, nil).Header().Get("Interlude-Reason"))
	clock.more.Store(int64(2 * time.Hour))
	require.Empty(t, h.call("GET", address, nil).Header().Get("Interlude-Reason"), "the claim has expired")
	expired := h.link("r", q, To("ada"), Until(time.Now().Add(time.Hour)))
	require.Equal(t, "expired", h.call("GET", expired, nil).Header().Get("Interlude-Reason"))
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: memory.New()})
	require.NoError(t, err)
	defer client.Close()
	good := Config{Client: client, URL: "https://example.com", Keys: []Key{keyA}}
	_, err = New(good)
	require.NoError(t, err)
	for want, spoil := range map[string]func(*Config){
		"Config.Client is nil": func(c *Config) { c.Client = nil }, "Config.URL is": func(c *Config) { c.URL = "/x" },
		"Keys is empty":                    func(c *Config) { c.Keys = nil },
		"has 3 bytes, want at least 32":    func(c *Config) { c.Keys = []Key{{"a", []byte("abc")}} },
		"has 0 bytes, want 1":              func(c *Config) { c.Keys = []Key{{"", keyA.Secret}} },
		`two keys have the ID "a"`:         func(c *Config) { c.Keys = []Key{keyA, keyA} },
		`is "https://example.com/?x=1", w`: func(c *Config) { c.URL = "https://example.com/?x=1" },
	} {
		cfg := good
		spoil(&cfg)
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
	}
	links, err := New(good)
	require.NoError(t, err)
	_, err = links.For("r", lifecycle.Question{ID: 1})
	require.ErrorContains(t, err, "(To)")
	_, err = links.For("r", lifecycle.Question{}, To("ada"))
	require.ErrorContains(t, err, "want a question that a run has asked")
}

// deputies makes Bob the deputy of Ann.
type deputies struct{}

func (deputies) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if id != "bob" {
		return nil, nil
	}
	return []lifecycle.Principal{{ID: "ann"}}, nil
}

// N10: a deputy's link answers for the absent person, and a link of anybody else does not.
func TestN10ADeputysLinkAnswersForTheAbsentPerson(t *testing.T) {
	h := newHost(t, confirm, func(_ *Config, l *lifecycle.Config) { l.Directory = deputies{} })
	q := h.asked("r", &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: []string{"ann"}}})
	got := h.call("POST", h.link("r", q, To("carl")), url.Values{"option": {"0"}})
	require.Equal(t, string(WrongPerson), got.Header().Get("Interlude-Reason"))
	bob := h.link("r", q, To("bob"))
	require.Contains(t, h.call("GET", bob, nil).Body.String(), "<strong>bob</strong> for <strong>ann</strong>")
	for range 2 { // the second is a repetition
		require.Empty(t, h.call("POST", bob, url.Values{"option": {"0"}}).Header().Get("Interlude-Reason"))
	}
	record, err := h.lc.Question(t.Context(), "r", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"bob", "ann", "yes"}, []string{record.Actor, record.For(), record.Response})
}
