package web_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
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
