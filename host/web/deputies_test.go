package web_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
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

// N7: names are suggested from the directory, within bounds, to people who are asked the question and
// to no other person, and notes have their authors' names; an error of the directory shows no details.
func TestN7NamesAreSuggestedFromTheDirectory(t *testing.T) {
	var file strings.Builder
	file.WriteString("people:\n  - {id: u7, name: Ann Lee, groups: [finance, tax office]}\n")
	for i := range 30 {
		fmt.Fprintf(&file, "  - {id: bob%02d, groups: [band-%02d]}\n", i, i)
	}
	name := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(name, []byte(file.String()), 0o600))
	directory, err := people.Open(name, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify, Directory: directory})
	require.Equal(t, 201, w.send("POST", "/runs", "carl", `{"id":"r","prompt":"Ship?","ask":{"to":{"users":["ann",
		"u7","zoe"]}}}`).status)
	w.untilAsked("r")
	find := func(person, q string) answer {
		return w.send("GET", "/runs/r/questions/1/names?q="+url.QueryEscape(q), person, "")
	}
	suggested := func(q string) (names web.Names) {
		t.Helper()
		find("ann", q).into(t, &names)
		return names
	}
	ann := []web.Name{{ID: "u7", Name: "Ann Lee"}}
	require.Equal(t, web.Names{People: ann, Groups: []string{}}, suggested("LEE"))
	require.Equal(t, web.Names{People: ann, Groups: []string{}}, suggested("u"))
	require.Equal(t, web.Names{People: []web.Name{}, Groups: []string{"tax office"}}, suggested("off"))
	b := suggested("b")
	require.Equal(t, []int{20, 20}, []int{len(b.People), len(b.Groups)})
	require.Equal(t, web.Names{People: []web.Name{}, Groups: []string{}}, suggested("\" nobody"))
	require.Equal(t, "NOT_ALLOWED", find("carl", "b").code(t))
	require.Equal(t, 204, w.send("POST", "/runs/r/questions/1/claim", "zoe", `{"seconds":60}`).status)
	require.Equal(t, 200, find("ann", "b").status, "a note may name people while another person works on the question")
	for _, id := range []string{"u7", "u7", "zoe", ""} {
		_, err := w.lc.As(lifecycle.Actor{ID: id}).Note(t.Context(), "r", 1, lifecycle.Note{Text: "x"})
		require.NoError(t, err, id)
	}
	authors := func(q web.Question) (all []string) {
		for _, n := range q.Notes {
			all = append(all, n.Name+" "+n.Actor)
		}
		return all
	}
	named := []string{"Ann Lee u7", "Ann Lee u7", " zoe", " "}
	var run web.Run
	w.send("GET", "/runs/r", "carl", "").into(t, &run)
	require.Equal(t, named, authors(run.Questions[0]))
	require.Equal(t, named, authors(w.questionOf("r", "carl")))
	require.Equal(t, 204, w.send("POST", "/runs/r/questions/1/release", "zoe", "").status)
	require.Equal(t, "INVALID_REQUEST", find("ann", "").code(t))
	require.Equal(t, "INVALID_REQUEST", find("ann", strings.Repeat("a", 65)).code(t))
	require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/r/questions/2/names?q=b", "ann", "").code(t))
	var me web.Me
	w.send("GET", "/me", "ann", "").into(t, &me)
	require.True(t, me.Directory)
	require.Equal(t, 201, w.send("POST", "/runs/r/questions/1/reply", "ann", `{"text":"yes"}`).status)
	require.Equal(t, "NOT_ALLOWED", find("ann", "b").code(t), "settled")
	var record web.Record
	w.send("GET", "/runs/r/questions/1", "carl", "").into(t, &record)
	require.Equal(t, named, authors(record.Question))

	for _, d := range []people.Directory{nil, &unreadable{}} {
		w = open(t, lifecycle.Config{}, web.Options{Identify: identify, Directory: d})
		w.submit("r", "Ship?", "ann")
		if d == nil {
			require.Equal(t, web.Names{People: []web.Name{}, Groups: []string{}}, suggested("b"))
			continue
		}
		_, err := w.lc.As(lifecycle.Actor{ID: "u7"}).Note(t.Context(), "r", 1, lifecycle.Note{Text: "x"})
		require.NoError(t, err)
		require.Equal(t, []string{" u7"}, authors(w.questionOf("r", "ann")))
		failed := find("ann", "b")
		require.Equal(t, "UNAVAILABLE", failed.code(t))
		require.NotContains(t, string(failed.body), "10.0.0.7")
	}
}

// N7: claims, votes and answers have the names of the directory, also of absent people and in refusals; a
// directory that fails is asked once for a response, which then has IDs only.
func TestN7NamesOfClaimsVotesAndAnswers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(name, []byte(`people:
  - {id: u1, name: Ann Lee, deputies: [{id: u2}]}
  - {id: u2, name: Bob Ray}
  - {id: u3}
`), 0o600))
	file, err := people.Open(name, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	directory := &unreadable{Directory: file}
	directory.heals.Store(true)
	w := open(t, lifecycle.Config{Directory: file}, web.Options{Identify: identify, Directory: directory})
	for id, body := range map[string]string{"r": `"Ship?","ask":{"to":{"users":["u1","u3"]}}`,
		"votes": `"approval","ask":{"to":{"users":["u1","u3"]},"need":2}`} {
		require.Equal(t, 201, w.send("POST", "/runs", "carl", `{"id":"`+id+`","prompt":`+body+`}`).status)
		w.untilAsked(id)
	}
	const question = "/runs/r/questions/1"
	type names struct{ actor, name, of, ofName string }
	want := names{"u2", "Bob Ray", "u1", "Ann Lee"}
	claim := func(c *web.Claim) names { return names{c.Actor, c.Name, c.For, c.ForName} }
	require.Equal(t, "Ann Lee", w.questionOf("r", "u2").ForName)
	require.Equal(t, 204, w.send("POST", question+"/claim", "u2", `{"seconds":600,"for":"u1"}`).status)
	require.Equal(t, want, claim(w.questionOf("r", "u3").Claim))
	var inbox web.Inbox
	w.send("GET", "/inbox", "u3", "").into(t, &inbox)
	for _, q := range inbox.Questions {
		if q.RunID == "r" {
			require.Equal(t, want, claim(q.Question.Claim))
		}
	}
	require.Len(t, inbox.Questions, 2)
	var refused web.Problem
	w.send("POST", question+"/reply", "u3", `{"text":"yes"}`).into(t, &refused)
	require.Equal(t, want, claim(refused.Claim))
	require.Equal(t, 201, w.send("POST", question+"/reply", "u2", `{"text":"yes","for":"u1"}`).status)
	w.send("POST", question+"/reply", "u3", `{"text":"yes"}`).into(t, &refused)
	require.Equal(t, []string{"u2", "Bob Ray"}, []string{refused.Settled.Actor, refused.Settled.Name})
	records := func() []web.Record {
		t.Helper()
		var (
			record  web.Record
			history web.History
			answers web.Answers
		)
		w.send("GET", question, "carl", "").into(t, &record)
		w.send("GET", "/runs/r/history", "carl", "").into(t, &history)
		w.send("GET", "/answers", "u2", "").into(t, &answers)
		return []web.Record{record, history.Records[0], answers.Answers[0].Record}
	}
	for _, r := range records() {
		require.Equal(t, want, names{r.Actor, r.Name, r.For, r.ForName})
	}
	reply := "/runs/votes/questions/1/reply"
	require.Equal(t, 201, w.send("POST", reply, "u2", `{"decision":"approve","for":"u1"}`).status)
	vote := w.questionOf("votes", "carl").Votes[0]
	require.Equal(t, want, names{vote.Actor, vote.Name, vote.For, vote.ForName})
	w.send("POST", reply, "u1", `{"decision":"reject"}`).into(t, &refused)
	require.Equal(t, want, names{refused.Vote.Actor, refused.Vote.Name, refused.Vote.For, refused.Vote.ForName})

	directory.heals.Store(false)
	directory.asked.Store(0)
	for _, r := range records() {
		require.Equal(t, names{"u2", "", "u1", ""}, names{r.Actor, r.Name, r.For, r.ForName})
	}
	require.EqualValues(t, 3, directory.asked.Load())
}

// unreadable is a directory that fails to name people until it heals.
type unreadable struct {
	people.Directory

	heals atomic.Bool
	asked atomic.Int64
}

func (*unreadable) People(context.Context, string, string, int) ([]people.Person, error) {
	return nil, errors.New("dial 10.0.0.7: refused")
}

func (d *unreadable) Person(ctx context.Context, id string) (people.Person, error) {
	if d.asked.Add(1); d.heals.Load() {
		return d.Directory.Person(ctx, id)
	}
	return people.Person{}, errors.New("dial 10.0.0.7: refused")
}
