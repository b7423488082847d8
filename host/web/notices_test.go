package web_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// undelivered are the dead letters of a host.
type undelivered []web.DeadLetter

func (u *undelivered) DeadLetters(_ context.Context, limit int) ([]web.DeadLetter, error) {
	return (*u)[:min(limit, len(*u))], nil
}

func (u *undelivered) Resend(_ context.Context, endpoint, id string) error {
	i := slices.IndexFunc(*u, func(l web.DeadLetter) bool { return l.Endpoint == endpoint && l.ID == id })
	if i < 0 {
		return lifecycle.ErrNotFound
	}
	*u = slices.Delete(*u, i, i+1)
	return nil
}

// N7: who may list feeds sees the dead letters of notices, within a limit, and sends them again;
// other people do neither.
func TestN7DeadLettersAreListedAndSentAgain(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	letters := undelivered{{Endpoint: "mail", ID: "a/3", RunID: "a", Attempts: 5, Died: at, Reason: "no such host"},
		{Endpoint: "mail", ID: "b/1", RunID: "b", Attempts: 5, Died: at, Reason: "no such host"}}
	operators := func(_ context.Context, a lifecycle.Access) error {
		if a.Action == lifecycle.ActionFeed && a.Actor.ID != "ada" {
			return errors.New("operators only")
		}
		return nil
	}
	w := open(t, lifecycle.Config{Authorize: operators}, web.Options{Identify: identify, Notices: &letters})
	var got web.DeadLetters
	w.send("GET", "/notices/dead?limit=1", "ada", "").into(t, &got)
	require.Equal(t, web.DeadLetters{DeadLetters: letters[:1], More: true}, got)
	resend := func(person, id string) answer {
		return w.send("POST", "/notices/resend", person, `{"endpoint":"mail","id":"`+id+`"}`)
	}
	require.Equal(t, http.StatusForbidden, w.send("GET", "/notices/dead", "bob", "").status)
	require.Equal(t, http.StatusForbidden, resend("bob", "a/3").status)
	require.Len(t, letters, 2)
	require.Equal(t, http.StatusNoContent, resend("ada", "a/3").status)
	require.Equal(t, "NOT_FOUND", resend("ada", "a/3").code(t))
	got = web.DeadLetters{}
	w.send("GET", "/notices/dead", "ada", "").into(t, &got)
	require.Equal(t, web.DeadLetters{DeadLetters: letters}, got)
	require.Len(t, letters, 1)

	w = openFor(t) // without notices
	got = web.DeadLetters{}
	w.send("GET", "/notices/dead", "ada", "").into(t, &got)
	require.Empty(t, got.DeadLetters)
	require.Equal(t, "NOT_FOUND", resend("ada", "b/1").code(t))
}

// N7: people who may change pools change and create them; of two operators who saw the same size,
// one is refused and learns the stored size; a repeated request changes nothing; others may not.
func TestN7PoolsAreChangedFromTheSizeThatWasSeen(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	var asked *lifecycle.Pool
	operators := func(_ context.Context, a lifecycle.Access) error {
		if a.Action == lifecycle.ActionPool {
			if asked = a.Pool; a.Actor.ID == "eve" {
				return errors.New("operators only")
			}
		}
		return nil
	}
	w := open(t, lifecycle.Config{Store: s, Authorize: operators, Pools: []lifecycle.Pool{{Name: "gpu", Capacity: 4}}},
		web.Options{Identify: identify})
	set := func(person, body string) answer { return w.send("POST", "/pools", person, body) }
	sizes := func() map[string]web.Size {
		t.Helper()
		var stats web.Stats
		w.send("GET", "/stats", "ada", "").into(t, &stats)
		all := make(map[string]web.Size)
		for _, p := range stats.Pools {
			all[p.Name] = web.Size{Capacity: p.Capacity, KeyCapacity: p.KeyCapacity}
		}
		delete(all, lifecycle.DefaultPool)
		return all
	}
	const fromFour = `{"name":"gpu","capacity":8,"key_capacity":2,"was":{"capacity":4}}`
	require.Equal(t, "NOT_ALLOWED", set("eve", fromFour).code(t))
	require.Equal(t, &lifecycle.Pool{Name: "gpu", Capacity: 8, KeyCapacity: 2}, asked)
	require.Equal(t, http.StatusNoContent, set("ada", fromFour).status)
	require.Equal(t, http.StatusNoContent, set("ada", fromFour).status, "repeated after a lost response")
	late := set("bob", `{"name":"gpu","capacity":6,"was":{"capacity":4}}`)
	require.Equal(t, "POOL_CHANGED", late.code(t))
	require.Contains(t, string(late.body), "gpu has 8 slots now, and 2 per key")
	require.Equal(t, "POOL_CHANGED", set("bob", `{"name":"gpu","capacity":6}`).code(t), "exists")
	require.Equal(t, "POOL_CHANGED", set("bob", `{"name":"tpu","capacity":6,"was":{"capacity":4}}`).code(t))
	require.Equal(t, http.StatusNoContent, set("bob", `{"name":"tpu","capacity":1}`).status)
	require.Equal(t, map[string]web.Size{"gpu": {Capacity: 8, KeyCapacity: 2}, "tpu": {Capacity: 1}}, sizes())

	for _, body := range []string{`{"name":"gpu","capacity":0}`, `{"name":"gpu","capacity":1000001}`,
		`{"name":"a b","capacity":1}`, `{"name":"gpu","capacity":1,"key_capacity":-1}`} {
		require.Equal(t, "INVALID_ARGUMENT", set("ada", body).code(t), body)
	}
	require.Equal(t, "INVALID_REQUEST", set("ada", `{"name":"gpu","capacity":1.5}`).code(t))
	foreign := w.send("POST", "/pools", "ada", fromFour, "Origin", "https://other.example")
	require.Equal(t, "CROSS_ORIGIN", foreign.code(t))
}
