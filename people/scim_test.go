package people_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

var _ people.Directory = (*people.SCIM)(nil)

type object = map[string]any

// provider is a server of SCIM 2.0 (RFC 7644): pages of Users and Groups behind a bearer token.
type provider struct {
	users, groups []object
	page          int // resources of one page
	requests      atomic.Int64
	fails         atomic.Pointer[http.HandlerFunc]
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	all, known := map[string][]object{"/scim/v2/Users": p.users, "/scim/v2/Groups": p.groups}[r.URL.Path]
	start, err := strconv.Atoi(r.URL.Query().Get("startIndex"))
	switch fails := p.fails.Load(); {
	case fails != nil:
		(*fails)(w, r)
		return
	case r.Header.Get("Authorization") != "Bearer secret":
		w.WriteHeader(http.StatusUnauthorized)
		return
	case !known || r.Method != http.MethodGet || err != nil || start < 1:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	rest := all[min(start-1, len(all)):]
	w.Header().Set("Content-Type", "application/scim+json")
	_ = json.NewEncoder(w).Encode(object{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"},
		"totalResults": len(all), "startIndex": start, "itemsPerPage": min(p.page, len(rest)),
		"Resources": rest[:min(p.page, len(rest))]})
}

func user(id, name string, deputies ...object) object {
	return object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:User", people.DeputiesSchema}, "id": id,
		"userName": name, "displayName": strings.ToUpper(name), "emails": []object{{"value": "x@example.com"},
			{"value": name + "@example.com", "primary": true}}, people.DeputiesSchema: object{"deputies": deputies}}
}

// clock is the time of a directory, and of its host.
type clock struct {
	lifecycle.SystemClock

	at atomic.Int64
}

func (c *clock) Now() time.Time          { return time.Unix(c.at.Load(), 0) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d / time.Second)) }

// directory starts a provider in which ann's deputy is bob until December 14.
func directory(t *testing.T) (*provider, *clock, *people.SCIM) {
	t.Helper()
	gone, bob := user("4", "gone"), user("2", "bob")
	bob["ims"] = []object{{"value": "T1:UBOB", "type": "Slack"}, {"value": "bob", "type": "mail"}}
	gone["active"] = false
	p := &provider{page: 2, users: []object{user("1", "ann", object{"value": "2", "until": "2026-12-14"},
		object{"value": "4"}, object{"value": "99"}), bob, user("3", "carl", object{"value": "3"}), gone,
		user("5", ""), user("6", "dan")},
		groups: []object{{"id": "g1", "displayName": "finance", "members": []object{{"value": "1"}, {"value": "6"},
			{"value": "99"}}}, {"id": "g2", "displayName": "empty"}}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	now := new(clock)
	now.at.Store(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).Unix())
	s, err := people.NewSCIM(people.SCIMConfig{URL: server.URL + "/scim/v2/", Token: "secret", Now: now.Now,
		Timeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Network: netguard.Network{PlainHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}})
	require.NoError(t, err)
	return p, now, s
}

// N10: a directory in the form of SCIM has people, groups, addresses and deputies by date.
func TestN10DeputiesOfASCIMDirectory(t *testing.T) {
	p, now, s := directory(t)
	require.Zero(t, p.requests.Load(), "the first call reads it")
	all, err := s.People(t.Context(), "", "", 10)
	require.NoError(t, err)
	var ids []string
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	require.Equal(t, []string{"ann", "bob", "dan"}, ids, "without inactive, invalid and nameless users")
	require.EqualValues(t, 4, p.requests.Load(), "three pages of users, one of groups")
	ann, err := s.Person(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, "ANN", ann.Name)
	require.Equal(t, []string{"finance"}, ann.Groups)
	groups, err := s.Groups(t.Context(), "FIN", 20)
	require.NoError(t, err)
	require.Equal(t, []string{"finance"}, groups)
	require.Equal(t, map[string]string{"mail": "ann@example.com"}, ann.Addresses)
	bob, err := s.Person(t.Context(), "bob")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mail": "bob@example.com", "slack": "T1:UBOB"}, bob.Addresses)
	until := time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC)
	of, err := s.Principals(t.Context(), "bob", now.Now())
	require.NoError(t, err)
	require.Equal(t, []interaction.Principal{{ID: "ann", Groups: []string{"finance"}, Until: until}}, of)
	deputies, err := s.Deputies(t.Context(), "ann", until)
	require.NoError(t, err)
	require.Empty(t, deputies)
	for _, unknown := range []string{"gone", "carl", "eve"} {
		_, err = s.Person(t.Context(), unknown)
		require.ErrorIs(t, err, people.ErrUnknown)
	}
	require.EqualValues(t, 4, p.requests.Load(), "from memory")

	p.users[0]["active"] = false
	now.advance(people.DefaultMaxAge - time.Second)
	of, err = s.Principals(t.Context(), "bob", now.Now())
	require.NoError(t, err)
	require.Len(t, of, 1)
	now.advance(time.Second)
	of, err = s.Principals(t.Context(), "bob", now.Now())
	require.NoError(t, err)
	require.Empty(t, of, "a change counts after MaxAge")
}

// N10: of several callers at once, one reads the directory.
func TestN10OneCallerReadsASCIMDirectory(t *testing.T) {
	p, now, s := directory(t)
	for range 2 {
		before := p.requests.Load()
		errs := make(chan error, 20)
		for range cap(errs) {
			go func() {
				_, err := s.Person(t.Context(), "ann")
				errs <- err
			}()
		}
		for range cap(errs) {
			require.NoError(t, <-errs)
		}
		require.EqualValues(t, 4, p.requests.Load()-before)
		now.advance(people.DefaultMaxStale)
	}
}

// N10, L2: a failing directory is not believed. Its last content is in use for at most MaxStale.
func TestN10ASCIMDirectoryThatFails(t *testing.T) {
	for name, fails := range map[string]http.HandlerFunc{
		"500":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"slow": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		},
		"no JSON":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"another shape":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"totalResults":"many"}`) },
		"it ends early":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"totalResults":7}`) },
		"too many":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"totalResults":1000000}`) },
		"a cut response": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9") },
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"totalResults":0,"x":"`+strings.Repeat("x", people.MaxResponse)+`"}`)
		},
		"one person twice": func(w http.ResponseWriter, _ *http.Request) {
			twins := []object{user("1", "ann"), user("2", "ann")}
			_ = json.NewEncoder(w).Encode(object{"totalResults": 2, "Resources": twins})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, now, _ := directory(t)
			server := httptest.NewServer(p)
			t.Cleanup(server.Close)
			timeout := time.Minute
			if name == "slow" {
				timeout = 50 * time.Millisecond
			}
			s, err := people.NewSCIM(people.SCIMConfig{URL: server.URL + "/scim/v2", Token: "secret", Now: now.Now,
				Timeout: timeout, Logger: slog.New(slog.DiscardHandler), Network: netguard.Network{PlainHTTP: true,
					Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}})
			require.NoError(t, err)
			if name != "slow" {
				_, err = s.Person(t.Context(), "ann")
				require.NoError(t, err)
			}
			p.fails.Store(&fails)
			requests := p.requests.Load()
			now.advance(people.DefaultMaxAge)
			for range 3 {
				of, err := s.Principals(t.Context(), "bob", now.Now())
				require.Equal(t, name == "slow", err != nil, "%v", err) // it was never read
				require.Equal(t, name != "slow", len(of) == 1)
			}
			require.LessOrEqual(t, p.requests.Load()-requests, int64(2), "a pause follows a failure")
			now.advance(people.DefaultMaxStale)
			_, err = s.Principals(t.Context(), "bob", now.Now())
			require.ErrorContains(t, err, "the directory cannot be read")
			require.NotContains(t, err.Error(), server.URL)
			_, err = s.People(t.Context(), "", "", 1)
			require.Error(t, err)
			require.NotErrorIs(t, err, people.ErrUnknown)
			p.fails.Store(nil)
			now.advance(10 * time.Second)
			if name != "slow" { // which has too little time
				_, err = s.Person(t.Context(), "ann")
				require.NoError(t, err, "it recovers")
			}
		})
	}
}

// N10: if the directory is unreachable, deputies may decide for at most MaxStale; later
// calls are refused. Other decisions need no directory.
func TestN10DecisionsWithoutADirectory(t *testing.T) {
	p, now, s := directory(t)
	lc, err := lifecycle.New(lifecycle.Config{Clock: now, Directory: s, Logger: slog.New(slog.DiscardHandler),
		Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
			return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Which?",
				To: &lifecycle.Audience{Users: []string{"ann"}}}), nil
		})})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
		lc.Close()
	})
	reply := func(i int, as lifecycle.Actor) error {
		id := fmt.Sprintf("r%d", i)
		_, err := lc.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "Go."})
		require.NoError(t, err)
		for e, err := range lc.Events(t.Context(), id, 0) {
			require.NoError(t, err)
			if e.Type == lifecycle.TypeInputRequired {
				break
			}
		}
		_, err = lc.As(as).Reply(t.Context(), id, lifecycle.Reply{ID: 1, Text: "this"})
		return err
	}
	bob, ann := lifecycle.Actor{ID: "bob", For: "ann"}, lifecycle.Actor{ID: "ann"}
	require.NoError(t, reply(1, bob))
	fails := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	p.fails.Store(&fails)
	now.advance(people.DefaultMaxStale - time.Second)
	require.NoError(t, reply(2, bob))
	now.advance(time.Second)
	var refused *lifecycle.NotDeputyError
	require.ErrorAs(t, reply(3, bob), &refused)
	require.ErrorContains(t, refused.Err, "status 502")
	require.NoError(t, reply(4, ann))
}

// L4: a directory's address is checked, its token goes nowhere else, and only public addresses are
// reached unless the host allows others.
func TestL4TheAddressOfASCIMDirectory(t *testing.T) {
	for address, want := range map[string]string{"": "empty", "http://example.com": "PlainHTTP",
		"https://example.com/?q": "query", "ftp://example.com": "form"} {
		_, err := people.NewSCIM(people.SCIMConfig{URL: address})
		require.ErrorContains(t, err, want)
	}
	_, err := people.NewSCIM(people.SCIMConfig{URL: "https://example.com", MaxAge: -1})
	require.ErrorContains(t, err, "negative")
	s, err := people.NewSCIM(people.SCIMConfig{URL: "https://127.0.0.1:1/scim", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = s.Person(t.Context(), "ann")
	require.ErrorIs(t, err, netguard.ErrForbiddenAddress)
}
