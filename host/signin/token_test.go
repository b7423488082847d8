package signin_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/lifecycle"
)

// R3: programs have tokens with a scope and an end. They are stored hashed, and lost when revoked.
func TestR3TokensOfPrograms(t *testing.T) {
	h := serve(t, func(string) string { return "" })
	token, record, err := h.store.CreateToken(t.Context(), signin.Token{Person: "ci", Groups: []string{"bots", "desk"},
		Scope: signin.ScopeAnswer, Expires: h.now().Add(time.Hour)}, h.now())
	require.NoError(t, err)
	call := func(token string) (status int, allowed func(lifecycle.Action) bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/interlude/api/inbox", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			actor, err := h.in.Identify(r)
			if err != nil {
				assert.Error(t, signin.Authorize(r.Context(), lifecycle.Access{Action: lifecycle.ActionView}),
					"a token that could not be read allows nothing, even if a second look finds it")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			assert.Equal(t, lifecycle.Actor{ID: "ci", Groups: []string{"bots", "desk"}, Via: "api"}, actor)
			allowed = func(a lifecycle.Action) bool {
				return signin.Authorize(r.Context(), lifecycle.Access{Action: a, Actor: actor}) == nil
			}
		})).ServeHTTP(w, r)
		return w.Code, allowed
	}
	status, allowed := call(token)
	require.Equal(t, http.StatusOK, status)
	require.True(t, allowed(lifecycle.ActionView) && allowed(lifecycle.ActionReply) &&
		allowed(lifecycle.ActionNote) && allowed(lifecycle.ActionRemember) && allowed(lifecycle.ActionForget))
	for _, action := range []lifecycle.Action{lifecycle.ActionSubmit, lifecycle.ActionCancel, lifecycle.ActionResume,
		lifecycle.ActionOverrule, lifecycle.ActionFeed, "an action of a later release"} {
		require.False(t, allowed(action), action)
	}
	require.NoError(t, signin.Authorize(t.Context(), lifecycle.Access{Action: lifecycle.ActionCancel}), "people")
	overrule := lifecycle.Access{Action: lifecycle.ActionOverrule}
	require.NoError(t, signin.Authorize(t.Context(), overrule), "the host itself")
	overrule.Actor.ID = "ada"
	require.Error(t, signin.Authorize(t.Context(), overrule))
	var stored string
	require.NoError(t, h.db.QueryRowContext(t.Context(),
		`SELECT id || hash || person FROM interlude_signin_tokens`).Scan(&stored))
	require.NotContains(t, stored, token[len("interlude_"):])
	all, err := h.store.Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, record.ID, all[0].ID)
	h.ahead.Store(int64(2 * time.Hour))
	status, _ = call(token)
	require.Equal(t, http.StatusUnauthorized, status, "expired")
	h.ahead.Store(0)
	known, err := h.store.RevokeToken(t.Context(), record.ID)
	require.NoError(t, err)
	require.True(t, known)
	status, _ = call(token)
	require.Equal(t, http.StatusUnauthorized, status)
	token, _, err = h.store.CreateToken(t.Context(), signin.Token{Person: "ci", Groups: []string{"bots", "desk"},
		Scope: signin.ScopeView}, h.now())
	require.NoError(t, err)
	_, allowed = call(token)
	require.False(t, allowed(lifecycle.ActionReply))
	require.NoError(t, h.store.EndSessions(t.Context(), "ci", h.now()))
	status, _ = call(token)
	require.Equal(t, http.StatusUnauthorized, status, "the tokens of a person who left")
}

// R3: an address that sends invalid tokens gets 429, until the minute is over; valid tokens of the
// same address pass.
func TestR3AttemptsAreBounded(t *testing.T) {
	h := serve(t, func(string) string { return "" })
	token, _, err := h.store.CreateToken(t.Context(), signin.Token{Person: "ci", Scope: signin.ScopeView}, h.now())
	require.NoError(t, err)
	call := func(token string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := h.tls.Client().Do(r)
		require.NoError(t, err)
		response.Body.Close()
		return response.StatusCode
	}
	h.ahead.Store(int64(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))))
	for range 20 {
		require.Equal(t, http.StatusUnauthorized, call("interlude_guess"))
	}
	require.Equal(t, http.StatusTooManyRequests, call("interlude_guess"))
	require.Equal(t, http.StatusOK, call(token))
	h.ahead.Add(int64(time.Minute))
	require.Equal(t, http.StatusUnauthorized, call("interlude_guess"))
	for _, t2 := range []signin.Token{{Person: "ci"}, {Scope: signin.ScopeView}, {Person: "ci", Scope: "all"},
		{Person: "c\u202ei", Scope: signin.ScopeView},
		{Person: "ci", Scope: signin.ScopeView, Expires: time.Unix(1, 0)},
		{Person: "ci", Scope: signin.ScopeView, Groups: []string{"a\nb"}}} {
		_, _, err := h.store.CreateToken(t.Context(), t2, h.now())
		require.Error(t, err)
	}
}
