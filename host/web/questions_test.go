package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

func (w *world) questionOf(run, person string, headers ...string) web.Question {
	w.t.Helper()
	var all web.Questions
	w.send("GET", "/runs/"+run+"/questions", person, "", headers...).into(w.t, &all)
	require.Len(w.t, all.Questions, 1)
	return all.Questions[0]
}

func TestL1AnApprovalIsShownEditedAndRecorded(t *testing.T) {
	w := openFor(t)
	w.submit("pay", "approval", "ada")
	q := w.questionOf("pay", "bob")
	require.Equal(t, "pay", q.Subject.Tool)
	require.JSONEq(t, `{"amount":420,"to":"ACME"}`, string(q.Subject.Arguments))
	require.Equal(t, "INVALID_REPLY", w.send("POST", "/runs/pay/questions/1/reply", "bob", `{"text":"sure"}`).code(t))

	changed := w.send("POST", "/runs/pay/questions/1/reply", "bob", `{"decision":"approve","seen":"another"}`)
	require.Equal(t, "QUESTION_CHANGED", changed.code(t))
	var p web.Problem
	changed.into(t, &p)
	require.Equal(t, q.Digest, p.Question.Digest, "the refusal has the current question")

	a := w.send("POST", "/runs/pay/questions/1/reply", "bob",
		`{"decision":"edit","value":{"to":"ACME","amount":400.10},"seen":"`+q.Digest+`"}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	history, err := w.lc.History(t.Context(), "pay")
	require.NoError(t, err)
	require.Equal(t, `{"to":"ACME","amount":400.10}`, string(history[0].Value), "numbers stay as written")
}

// N1: the server requires that a risk is acknowledged, whatever a front end does.
func TestN1ARiskIsAcknowledgedOverHTTP(t *testing.T) {
	w := openFor(t)
	w.submit("pay", "risky approval", "ada")
	q := w.questionOf("pay", "bob")
	require.NotEmpty(t, q.Subject.Risk)
	reply := func(body string) answer { return w.send("POST", "/runs/pay/questions/1/reply", "bob", body) }
	require.Equal(t, "INVALID_REPLY", reply(`{"decision":"approve"}`).code(t))
	require.Equal(t, "INVALID_REPLY", reply(`{"decision":"approve","accept_risk":false}`).code(t))
	require.Equal(t, http.StatusCreated, reply(`{"decision":"approve","accept_risk":true}`).status)

	fork := func(body string) answer {
		return w.send("POST", "/runs/pay/fork", "bob", `{"question":1,"answer":`+body+`}`)
	}
	refused := fork(`{"decision":"approve"}`)
	require.Equal(t, "INVALID_REPLY", refused.code(t), "%s", refused.body)
	require.Equal(t, http.StatusCreated, fork(`{"decision":"approve","accept_risk":true}`).status)
}

// K7, D1, D2: a question shows when its wait ends and the effect of a timeout: by its own wait,
// with the default answer, or by the run's policy. At the limit of automatic decisions, the effect
// is that the run fails.
func TestK7WhatHappensWithoutAnAnswerIsShown(t *testing.T) {
	own := &lifecycle.Wait{End: time.Hour, Then: lifecycle.ThenDefault,
		Default: &lifecycle.DefaultReply{Text: "no"}}
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify,
		Prepare: func(_ *http.Request, s *lifecycle.Spec) error {
			if s.ID == "own" {
				s.Ask = &lifecycle.AskPolicy{Wait: own}
			}
			return nil
		}})
	ask := func(id, more string) web.Question {
		a := w.send("POST", "/runs", "ada", `{"id":"`+id+`","prompt":"Ship?","session_timeout_sec":600`+more+`}`)
		require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
		w.untilAsked(id)
		q := w.questionOf(id, "ada")
		var inbox web.Inbox
		w.send("GET", "/inbox", "ada", "").into(t, &inbox)
		at := slices.IndexFunc(inbox.Questions, func(o web.OpenQuestion) bool { return o.RunID == id })
		require.Equal(t, q, inbox.Questions[at].Question, "the inbox and the run agree")
		return q
	}
	q := ask("own", "")
	require.Equal(t, []any{"take_default", q.AskedAt.Add(time.Hour), true, &web.DefaultAnswer{Text: "no"}},
		[]any{q.Then, q.EndsAt, q.OwnWait, q.Default})
	q = ask("decides", `,"auto_decide":true`)
	require.Equal(t, []any{"auto_decide", q.AskedAt.Add(10 * time.Minute), false},
		[]any{q.Then, q.EndsAt, q.OwnWait})
	q = ask("waits", "")
	require.Equal(t, "keep_waiting", q.Then)
	require.True(t, q.EndsAt.IsZero(), "a strict run waits without limit")

	run, err := w.lc.Get(t.Context(), "decides")
	require.NoError(t, err)
	run.AutoDecisions = run.MaxAutoDecisions
	then, _ := run.EndOf(run.FirstOpen())
	require.Equal(t, lifecycle.ThenFail, then)
}

func TestL1AQuestionIsClaimedReleasedReassignedAndAnsweredByWhomItIsFor(t *testing.T) {
	w := openFor(t)
	a := w.send("POST", "/runs", "ada", `{"id":"r","prompt":"Ship?","ask":{"not_submitter":true,
		"to":{"groups":["ops"]}}}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	w.untilAsked("r")
	const question = "/runs/r/questions/1/"
	ops := []string{"X-Groups", "ops"}
	require.False(t, w.questionOf("r", "ada", ops...).MayReply, "the submitter may not answer")
	require.True(t, w.questionOf("r", "bob", ops...).MayReply)
	notAsked := w.send("POST", question+"reply", "carl", `{"text":"yes"}`)
	require.Equal(t, "NOT_ASKED", notAsked.code(t))
	require.Contains(t, string(notAsked.body), `"groups":["ops"]`)

	require.Equal(t, "INVALID_ARGUMENT", w.send("POST", question+"claim", "bob", `{}`, ops...).code(t))
	require.Equal(t, 204, w.send("POST", question+"claim", "bob", `{"seconds":600}`, ops...).status)
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	require.Equal(t, 204, w.send("POST", question+"claim", "bob", `{"until":"`+until+`"}`, ops...).status)
	q := w.questionOf("r", "dora", ops...)
	require.Equal(t, "bob", q.Claim.Actor)
	require.False(t, q.MayReply)
	claimed := w.send("POST", question+"reply", "dora", `{"text":"yes"}`, ops...)
	require.Equal(t, "CLAIMED", claimed.code(t))
	require.Contains(t, string(claimed.body), `"actor":"bob"`)
	require.Equal(t, "CLAIMED", w.send("POST", question+"release", "dora", "", ops...).code(t))
	require.Equal(t, 204, w.send("POST", question+"release", "bob", "", ops...).status)

	body := `{"from":{"groups":["ops"],"except":["ada"]},"to":{"users":["eve"]}}`
	require.Equal(t, 204, w.send("POST", question+"reassign", "bob", body, ops...).status)
	require.Equal(t, "NOT_ASKED", w.send("POST", question+"reassign", "bob", body, ops...).code(t))
	require.Equal(t, "REASSIGNED", w.send("POST", question+"reassign", "eve", body).code(t), "an outdated view")
	require.Equal(t, "INVALID_ARGUMENT", w.send("POST", question+"extend", "eve", `{"until":"`+until+`"}`).code(t))
	require.Equal(t, 201, w.send("POST", question+"reply", "eve", `{"text":"yes"}`).status)
}

// N7: people write notes over HTTP. The list and the question show them, also after the answer.
func TestN7NotesOverHTTP(t *testing.T) {
	w := openFor(t)
	a := w.send("POST", "/runs", "ada", `{"id":"r","prompt":"Ship?","ask":{"to":{"groups":["ops"]}}}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	w.untilAsked("r")
	const notes = "/runs/r/questions/1/notes"
	ops, again := []string{"X-Groups", "ops"}, []string{"X-Groups", "ops", "Idempotency-Key", "k"}
	var first, repeated web.NoteReceipt
	a = w.send("POST", notes, "bob", `{"text":"Ask <Eve>.\nShe knows."}`, again...)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	a.into(t, &first)
	a = w.send("POST", notes, "bob", `{"text":"Ask <Eve>.\nShe knows."}`, again...)
	require.Equal(t, http.StatusOK, a.status)
	a.into(t, &repeated)
	require.Equal(t, []any{1, true, first.NotedAt}, []any{repeated.Note, repeated.Replayed, repeated.NotedAt})
	require.Equal(t, "KEY_CONFLICT", w.send("POST", notes, "bob", `{"text":"x"}`, again...).code(t))
	require.Equal(t, "NOT_ASKED", w.send("POST", notes, "carl", `{"text":"x"}`).code(t))
	require.Equal(t, "NOT_DEPUTY", w.send("POST", notes, "carl", `{"text":"x","for":"bob"}`).code(t))
	require.Equal(t, "INVALID_ARGUMENT", w.send("POST", notes, "bob", `{"text":" "}`, ops...).code(t))
	require.Equal(t, "NOT_WAITING", w.send("POST", "/runs/r/questions/2/notes", "bob", `{"text":"x"}`, ops...).code(t))
	require.Equal(t, 201, w.send("POST", notes, "dora", `{"text":"I did."}`, ops...).status)

	want := []web.Note{{Text: "Ask <Eve>.\nShe knows.", Actor: "bob", Via: "web", NotedAt: first.NotedAt, Mine: true},
		{Text: "I did.", Actor: "dora", Via: "web"}}
	shown := w.questionOf("r", "bob", ops...).Notes
	want[1].NotedAt = shown[1].NotedAt
	require.Equal(t, want, shown)
	var inbox web.Inbox
	w.send("GET", "/inbox", "bob", "", ops...).into(t, &inbox)
	require.Equal(t, 2, inbox.Questions[0].Notes)
	require.Empty(t, inbox.Questions[0].Question.Notes, "a list has only the number")
	require.Equal(t, 201, w.send("POST", "/runs/r/questions/1/reply", "bob", `{"text":"yes"}`, ops...).status)
	require.Equal(t, "SETTLED", w.send("POST", notes, "bob", `{"text":"x"}`, ops...).code(t))
	var record web.Record
	w.send("GET", "/runs/r/questions/1", "bob", "").into(t, &record)
	require.Equal(t, want, record.Question.Notes)
}

// N7 K6: people who may answer a question read it with its notes and files although they may not view
// its run; other people, and everybody after the answer, are refused as for an unknown run.
func TestN7WhoMayAnswerReadsTheNotes(t *testing.T) {
	authorize := func(_ ctx, a lifecycle.Access) error {
		viewer := a.Actor.ID == "ada" || a.Actor.IsZero()
		if a.Action == lifecycle.ActionView && !viewer || a.Actor.ID == "eve" && a.Action == lifecycle.ActionReply {
			return errors.New("not you")
		}
		return nil
	}
	w := open(t, lifecycle.Config{Dir: t.TempDir(), Directory: deputies{}, Authorize: authorize},
		web.Options{Identify: identify})
	a := w.send("POST", "/runs", "ada", `{"id":"r","prompt":"files","ask":{"to":{"users":["ann","carl","eve"]}}}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	w.untilAsked("r")
	const question = "/runs/r/questions/1"
	require.Equal(t, 201, w.send("POST", question+"/notes", "carl", `{"text":"Page 2."}`).status)
	require.Equal(t, 204, w.send("POST", question+"/claim", "carl", `{"seconds":60}`).status)
	for person, may := range map[string]bool{"ada": true, "ann": true, "bob": true, "carl": true, "dora": false,
		"eve": false} {
		a := w.send("GET", question, person, "")
		read := w.send("GET", question+"/files/0", person, "")
		if person != "ada" {
			require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/r", person, "").code(t))
			require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/r/history", person, "").code(t))
		}
		if !may {
			require.Equal(t, "NOT_FOUND", a.code(t), person)
			require.Equal(t, "NOT_FOUND", read.code(t), person)
			continue
		}
		require.Equal(t, "FILE_MISSING", read.code(t), person)
		var record web.Record
		a.into(t, &record)
		require.Equal(t, "Page 2.", record.Question.Notes[0].Text, person)
	}
	require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/r/questions/2", "carl", "").code(t))
	require.Equal(t, 204, w.send("POST", question+"/reassign", "carl",
		`{"from":{"users":["ann","carl","eve"]},"to":{"users":["ann"]}}`).status)
	require.Equal(t, "NOT_FOUND", w.send("GET", question, "carl", "").code(t), "not asked now")
	require.Equal(t, 201, w.send("POST", question+"/reply", "ann", `{"text":"yes"}`).status)
	require.Equal(t, "NOT_FOUND", w.send("GET", question, "ann", "").code(t), "settled")
}

// Exactly one reply wins, through any front end, and the losers learn who won.
func TestL1OfManyWhoAnswerOneWinsAndTheOthersLearnWho(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	w.questionOf("r", "ada") // reads the document once, before the race
	const people = 8
	answers, winners := make([]answer, people), make([]string, 0, people)
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			answers[i] = w.send("POST", "/runs/r/questions/1/reply", "p"+strconv.Itoa(i), `{"text":"mine"}`)
		})
	}
	_, direct := w.lc.Reply(t.Context(), "r", lifecycle.Reply{ID: 1, Text: "mine", Actor: lifecycle.Actor{ID: "go"}})
	all.Wait()
	if direct == nil {
		winners = append(winners, "go")
	} else {
		require.ErrorIs(t, direct, lifecycle.ErrSettled)
	}
	for i, a := range answers {
		if a.status == http.StatusCreated {
			winners = append(winners, "p"+strconv.Itoa(i))
		}
	}
	require.Len(t, winners, 1)
	for _, a := range answers {
		if a.status != http.StatusCreated {
			require.Equal(t, "SETTLED", a.code(t))
			var p web.Problem
			a.into(t, &p)
			require.Equal(t, winners[0], p.Settled.Actor)
			require.Equal(t, "user_reply", p.Settled.Resolution)
		}
	}
}

// The handler has no authorization except the client's.
func TestL1WhatAuthorizeRefusesIsRefusedHere(t *testing.T) {
	refuse := lifecycle.Action("")
	w := open(t, lifecycle.Config{Authorize: func(_ ctx, a lifecycle.Access) error {
		if a.Actor.ID == "mallory" || a.Action == refuse {
			return errors.New("not you")
		}
		return nil
	}}, web.Options{Identify: identify})
	w.submit("r", "Ship?", "ada")
	before, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	for _, c := range routes {
		if c.open {
			continue
		}
		a := w.send(c.method, c.path, "mallory", c.body)
		want := "NOT_ALLOWED"
		if strings.HasPrefix(c.path, "/runs/r") { // mallory may not view it
			want = "NOT_FOUND"
		}
		require.Equal(t, want, a.code(t), "%s %s", c.method, c.path)
	}
	after, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// I5 C7: a history has pages, in both directions.
func TestI5AHistoryHasPages(t *testing.T) {
	w := openFor(t)
	w.submit("r", "three", "ada")
	require.Equal(t, http.StatusCreated, w.send("POST", "/runs/r/questions/2/reply", "bob", `{"text":"yes"}`).status)
	for direction, want := range map[string][]int{"": {1, 2, 3}, "&newest=true": {3, 2, 1}} {
		var numbers []int
		for after := ""; len(numbers) == 0 || after != ""; {
			var page web.History
			w.send("GET", "/runs/r/history?limit=1"+direction+after, "ada", "").into(t, &page)
			require.Len(t, page.Records, 1)
			require.Equal(t, page.Records[0].Question.ID == 2, page.Records[0].Resolution != "")
			numbers = append(numbers, page.Records[0].Question.ID)
			if after = ""; page.Next != "" {
				after = "&after=" + page.Next
			}
		}
		require.Equal(t, want, numbers)
	}
	require.Equal(t, "INVALID_ARGUMENT", w.send("GET", "/runs/r/history?after=x", "ada", "").code(t))
	require.Equal(t, "INVALID_ARGUMENT", w.send("GET", "/runs/r/inherited?after=-1", "ada", "").code(t))
}

// N9: over HTTP an approval also counts for later calls; the run lists it, and it can be ended.
func TestN9ADecisionIsRememberedOverHTTP(t *testing.T) {
	turns := 0
	asks := engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
		turns++
		tool := []string{"pay", "pay", "mail", "pay"}[min(turns-1, 3)]
		subject := &engine.Subject{Tool: tool, Arguments: json.RawMessage(`{"eur":5,"to":"bob"}`), Risk: "new"}
		return engine.Ask(engine.Question{Kind: lifecycle.Approval, Prompt: "Go on?", Subject: subject}), nil
	})
	w := open(t, lifecycle.Config{Engines: map[string]engine.Engine{"calls": asks}, Remember: time.Hour},
		web.Options{Identify: identify})
	require.Equal(t, http.StatusCreated, w.send("POST", "/runs", "carl", `{"id":"r","prompt":"Ship?","engine":"calls"}`).status)
	w.untilAsked("r")
	const question = "/runs/r/questions/1/"
	for _, remember := range []string{`{}`, `{"seconds":7200}`, `{"seconds":60,"equal":["eur"]}`,
		`{"seconds":60,"most":[{"path":"/eur","limit":"4"}]}`} {
		require.Equal(t, "INVALID_REPLY", w.send("POST", question+"reply", "ada",
			`{"decision":"approve","accept_risk":true,"remember":`+remember+`}`).code(t), remember)
	}
	a := w.send("POST", question+"reply", "ada", `{"decision":"approve","accept_risk":true,"remember":{"seconds":3600,`+
		`"equal":["/to"],"most":[{"path":"/eur","limit":"50"}]}}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	var run web.Run
	asked := 0
	for event, err := range w.lc.Events(t.Context(), "r", 0) {
		require.NoError(t, err)
		if event.Type == lifecycle.TypeInputRequired {
			asked++
		}
		if asked == 3 {
			break
		}
	}
	w.send("GET", "/runs/r", "bob", "").into(t, &run)
	require.Len(t, run.Remembered, 1)
	m := run.Remembered[0]
	require.Equal(t, []any{1, "pay", "new", "ada", []string{"/to"}, []web.Limit{{Path: "/eur", Limit: "50"}}},
		[]any{m.Question, m.Tool, m.Risk, m.Actor, m.Equal, m.Most})
	var record web.Record
	w.send("GET", "/runs/r/questions/2", "bob", "").into(t, &record)
	require.Equal(t, []string{"memory:1", "memory", "approve"}, []string{record.Actor, record.Via, record.Decision})
	require.Equal(t, 204, w.send("POST", question+"forget", "bob", ``).status)
	require.Equal(t, "NOT_FOUND", w.send("POST", question+"forget", "bob", ``).code(t))
	run = web.Run{}
	w.send("GET", "/runs/r", "bob", "").into(t, &run)
	require.Empty(t, run.Remembered)
	var me web.Me
	w.send("GET", "/me", "ada", "").into(t, &me)
	require.EqualValues(t, 3600, me.Remember)
}
