package signin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// deputies names the people for whom each deputy acts.
type deputies map[string][]string

func (d deputies) Principals(_ context.Context, id string, _ time.Time) (all []lifecycle.Principal, _ error) {
	for _, of := range d[id] {
		all = append(all, lifecycle.Principal{ID: of})
	}
	return all, nil
}

// R3: a person who left has no session, token, sign-in, call or deputyship on any node, until the
// person returns; other people keep theirs.
func TestR3APersonWhoLeftHasNothing(t *testing.T) {
	l := newLiar(t)
	h := serve(t, func(string) string { return l.url })
	page := h.url + "/interlude/"
	signIn := func() (status int, cookie string) {
		b := h.browser()
		status, _, _ = b.open(page)
		return status, "__Host-interlude=" + b.cookie("__Host-interlude")
	}
	create := func(person string) (string, error) {
		wanted := signin.Token{Person: person, Scope: signin.ScopeAnswer}
		token, _, err := h.store.CreateToken(t.Context(), wanted, h.now())
		return token, err
	}
	status, session := signIn()
	require.Equal(t, http.StatusOK, status)
	token, err := create("ada@example.com")
	require.NoError(t, err)
	other, err := create("bob")
	require.NoError(t, err)
	node, err := signin.OpenSQLite(t.Context(), h.db)
	require.NoError(t, err)
	directory := node.Directory(deputies{"ada@example.com": {"bob"}, "bob": {"Ada@example.com", "carl"}})
	of := func(id string) (all []string) {
		found, err := directory.Principals(t.Context(), id, h.now())
		require.NoError(t, err)
		for i := range found {
			all = append(all, found[i].ID)
		}
		return all
	}
	may := func(id string) error {
		actor := lifecycle.Actor{ID: id}
		return node.Authorize(t.Context(), lifecycle.Access{Action: lifecycle.ActionReply, Actor: actor})
	}
	require.NoError(t, may("ada@example.com"))
	require.Equal(t, []string{"bob"}, of("ada@example.com"))
	require.Equal(t, []string{"Ada@example.com", "carl"}, of("bob"))

	for range 2 {
		require.NoError(t, h.store.Leave(t.Context(), "ADA@example.com", h.now()))
	}
	h.ahead.Store(int64(6 * time.Second)) // the other node's cached rows expire
	require.Equal(t, http.StatusUnauthorized, h.with(http.MethodGet, page, session).StatusCode)
	_, err = h.store.Token(t.Context(), token, h.now())
	require.Error(t, err)
	_, err = create("ada@example.com")
	require.ErrorIs(t, err, signin.ErrLeft)
	status, again := signIn()
	require.Equal(t, http.StatusForbidden, status)
	require.Equal(t, "__Host-interlude=", again)
	require.Empty(t, of("ada@example.com"))
	require.Equal(t, []string{"carl"}, of("bob"))
	require.ErrorIs(t, may("ada@EXAMPLE.com"), signin.ErrLeft)
	require.NoError(t, may("bob"))
	_, err = h.store.Token(t.Context(), other, h.now())
	require.NoError(t, err)
	h.ahead.Store(int64(100 * 24 * time.Hour))
	require.Empty(t, of("ada@example.com"), "not only for a while")

	known, err := h.store.Return(t.Context(), "Ada@example.com")
	require.NoError(t, err)
	require.True(t, known)
	known, err = h.store.Return(t.Context(), "Ada@example.com")
	require.NoError(t, err)
	require.False(t, known)
	h.ahead.Store(int64(12 * time.Second))
	require.Equal(t, http.StatusUnauthorized, h.with(http.MethodGet, page, session).StatusCode, "it was ended")
	status, _ = signIn()
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []string{"bob"}, of("ada@example.com"))
	require.Error(t, h.store.Leave(t.Context(), "a\u202eda", h.now()))
}

// R3, N10: a people.Directory lists no person who has left, neither as a deputy nor with
// deputies.
func TestR3ADirectoryOfPeopleDoesNotKnowWhoLeft(t *testing.T) {
	h := serve(t, func(string) string { return "" })
	file := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`people:
  - {id: ada, deputies: [{id: bob}, {id: carl}]}
  - {id: bob, deputies: [{id: carl}]}
  - {id: carl}
`), 0o600))
	opened, err := people.Open(file, nil)
	require.NoError(t, err)
	all, ok := h.store.Directory(opened).(people.Directory)
	require.True(t, ok)
	require.NoError(t, h.store.Leave(t.Context(), "Bob", time.Now()))
	bob, err := h.store.Directory(nil).(lifecycle.Members).Member(t.Context(), "bob")
	require.NoError(t, err)
	require.False(t, bob, "without a directory, too")
	_, err = all.Person(t.Context(), "bob")
	require.ErrorIs(t, err, people.ErrUnknown)
	ada, err := all.Person(t.Context(), "ada")
	require.NoError(t, err)
	require.Equal(t, "ada", ada.ID)
	for id, want := range map[string][]string{"ada": {"carl"}, "bob": nil} {
		found, err := all.Deputies(t.Context(), id, time.Now())
		require.NoError(t, err)
		require.Equal(t, want, found)
	}
	for limit, want := range map[int][]string{1: {"ada"}, 2: {"ada", "carl"}, 9: {"ada", "carl"}} {
		page, err := all.People(t.Context(), "", "", limit)
		require.NoError(t, err)
		var ids []string
		for i := range page {
			ids = append(ids, page[i].ID)
		}
		require.Equal(t, want, ids)
	}
	require.NoError(t, h.db.Close())
	_, err = h.store.Directory(opened).(people.Directory).Deputies(t.Context(), "ada", time.Now().Add(time.Hour))
	require.Error(t, err, "the tables cannot be read")
}

// R3: while the tables cannot be read, calls by people are refused and no person is a deputy; the
// host's calls succeed.
func TestR3UnreadableTablesAdmitNobody(t *testing.T) {
	h := serve(t, func(string) string { return "" })
	require.NoError(t, h.db.Close())
	access := lifecycle.Access{Action: lifecycle.ActionView}
	require.NoError(t, h.store.Authorize(t.Context(), access))
	access.Actor.ID = "ada"
	require.Error(t, h.store.Authorize(t.Context(), access))
	_, err := h.store.Directory(deputies{"ada": {"bob"}}).Principals(t.Context(), "ada", h.now())
	require.Error(t, err)
	require.NotErrorIs(t, err, signin.ErrLeft)
}

// R3: a sign-in that the provider does not confirm stores nothing, however often it is tried.
func TestR3UnconfirmedSignInsStoreNothing(t *testing.T) {
	l := newLiar(t)
	h := serve(t, func(string) string { return l.url })
	rows := func() (n int) {
		require.NoError(t, h.db.QueryRowContext(t.Context(), `SELECT count(*) FROM interlude_signin_ended`).Scan(&n))
		return n
	}
	for range 5 {
		response := h.with(http.MethodGet, h.url+"/signin/start")
		cookie := response.Cookies()[0]
		at, err := response.Location()
		require.NoError(t, err)
		callback := h.url + "/signin/callback?code=guessed&state=" + at.Query().Get("state")
		refused := h.with(http.MethodGet, callback, cookie.Name+"="+cookie.Value)
		require.Equal(t, http.StatusForbidden, refused.StatusCode)
	}
	require.Zero(t, rows())
	status, _, _ := h.browser().open(h.url + "/interlude/")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, rows())
}

// trip is the HTTP transport to a provider.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// R3: a provider that does not answer is asked once a second, not once for each waiting browser.
func TestR3ASilentProviderIsAskedOnceASecond(t *testing.T) {
	h := serve(t, func(string) string { return "" })
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		in, err := signin.New(signin.Config{Store: h.store, Issuer: "https://id.example.com", ClientID: "desk",
			Page: "https://desk.example.com/", Client: &http.Client{Transport: trip(
				func(*http.Request) (*http.Response, error) {
					asked++
					time.Sleep(10 * time.Second)
					return nil, errors.New("no answer")
				})}})
		require.NoError(t, err)
		start := func() {
			w := httptest.NewRecorder()
			in.Wrap(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
				"/signin/start", nil))
			require.Equal(t, http.StatusBadGateway, w.Code)
		}
		began := time.Now()
		for range 5 {
			start()
		}
		require.Equal(t, 1, asked)
		require.Equal(t, 10*time.Second, time.Since(began))
		time.Sleep(time.Second)
		start()
		require.Equal(t, 2, asked)
	})
}

// R3: no page of the sign-in can be framed, runs scripts, is cached or sends its address to other sites.
func TestR3FramingIsRefused(t *testing.T) {
	l := newLiar(t)
	h := serve(t, func(string) string { return l.url })
	for _, path := range []string{"start", "callback", "callback?error=x", "out", "none"} {
		header := h.with(http.MethodGet, h.url+"/signin/"+path).Header
		require.Equal(t, "DENY", header.Get("X-Frame-Options"), path)
		for _, rule := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
			require.Contains(t, header.Get("Content-Security-Policy"), rule, path)
		}
		require.Equal(t, []string{"no-store", "no-referrer"}, []string{header.Get("Cache-Control"),
			header.Get("Referrer-Policy")}, path)
	}
	refused := h.with(http.MethodGet, h.url+"/signin/callback?error=%3Cscript%3E")
	require.False(t, slices.ContainsFunc(refused.Cookies(), func(c *http.Cookie) bool { return c.MaxAge > 0 }))
}
