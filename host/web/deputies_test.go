package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// deputies makes Bob the deputy of Ann.
type deputies struct{}

func (deputies) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if id != "bob" {
		return nil, nil
	}
	return []lifecycle.Principal{{ID: "ann"}}, nil
}

// N10: the page and the API show a deputy the questions of an absent person and for whom they are, and
// a reply that names the person is stored for them.
func TestN10ADeputyAnswersOverHTTP(t *testing.T) {
	w := open(t, lifecycle.Config{Directory: deputies{}}, web.Options{Identify: identify})
	a := w.send("POST", "/runs", "carl", `{"id":"r","prompt":"Ship?","ask":{"to":{"users":["ann"]}}}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	w.untilAsked("r")
	for person, want := range map[string]web.Question{"ann": {MayReply: true}, "bob": {MayReply: true, For: "ann"},
		"carl": {}} {
		q := w.questionOf("r", person)
		require.Equal(t, []any{want.MayReply, want.For}, []any{q.MayReply, q.For}, person)
		var run web.Run
		w.send("GET", "/runs/r", person, "").into(t, &run)
		var all web.Runs
		w.send("GET", "/runs", person, "").into(t, &all)
		for _, q := range []web.Question{run.Questions[0], all.Runs[0].Questions[0]} {
			require.Equal(t, []any{want.MayReply, want.For}, []any{q.MayReply, q.For}, person)
		}
	}
	var inbox web.Inbox
	w.send("GET", "/inbox", "bob", "").into(t, &inbox)
	require.Len(t, inbox.Questions, 1)
	require.Equal(t, "ann", inbox.Questions[0].Question.For)
	require.True(t, inbox.Questions[0].Question.MayReply)

	const question = "/runs/r/questions/1/"
	require.Equal(t, 204, w.send("POST", question+"claim", "bob", `{"seconds":60,"for":"ann"}`).status)
	require.Equal(t, "NOT_ASKED", w.send("POST", question+"reply", "bob", `{"text":"yes"}`).code(t))
	require.Equal(t, "NOT_DEPUTY", w.send("POST", question+"reply", "carl", `{"text":"yes","for":"ann"}`).code(t))
	require.Equal(t, http.StatusCreated, w.send("POST", question+"reply", "bob", `{"text":"yes","for":"ann"}`).status)
	var record web.Record
	w.send("GET", "/runs/r/questions/1", "ann", "").into(t, &record)
	require.Equal(t, []string{"bob", "ann"}, []string{record.Actor, record.For})
}
