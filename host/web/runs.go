package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

type body[B any] struct{ Body B }

// Me is the caller of a request.
type Me struct {
	ID     string   `json:"id"`
	Groups []string `json:"groups" nullable:"false"`
	Via    string   `json:"via"`
	// Identified is false in a server without Options.Identify.
	Identified bool `json:"identified" doc:"Whether the server has a sign-in; otherwise every caller is this machine."`
	// SignOut is Options.SignOut.
	SignOut string `json:"sign_out,omitempty" doc:"The address at which the person signs out."`
	// Remember is lifecycle.Config.Remember.
	Remember int64 `json:"remember,omitempty" doc:"How long an approval may also count for later calls, in seconds; missing: not allowed."`
	// Directory reports whether Options.Directory is set.
	Directory bool `json:"directory" doc:"Whether the server suggests names for reassigning a question and for notes."`
}

func (d *Server) who(_ context.Context, c *caller, _ *struct{}) (*body[Me], error) {
	groups := append([]string{}, c.actor.Groups...)
	return &body[Me]{Me{c.actor.ID, groups, c.actor.Via, d.opts.Identify != nil, d.opts.SignOut,
		int64(c.client.MaxRemember() / time.Second), d.opts.Directory != nil}}, nil
}

// NewRun is a run to submit. The submitter is the caller.
type NewRun struct {
	ID           string          `json:"id,omitempty" doc:"The run's id, chosen by the caller; or the Idempotency-Key."`
	Prompt       string          `json:"prompt,omitempty" doc:"The agent's task; or give an input."`
	Input        json.RawMessage `json:"input,omitempty" doc:"The input as one JSON value, for engines that take one."`
	Mode         string          `json:"mode,omitempty" enum:"auto,interactive"`
	Engine       string          `json:"engine,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty" doc:"A JSON Schema that the output must satisfy."`

	MaxAttempts       int    `json:"max_attempts,omitempty" minimum:"0"`
	MaxQuestions      int    `json:"max_questions,omitempty" minimum:"0"`
	SessionTimeoutSec int    `json:"session_timeout_sec,omitempty" minimum:"0" maximum:"315360000"`
	TurnTimeoutSec    int    `json:"turn_timeout_sec,omitempty" minimum:"0" maximum:"315360000"`
	AutoDecide        bool   `json:"auto_decide,omitempty"`
	MaxAutoDecisions  int    `json:"max_auto_decisions,omitempty" minimum:"0"`
	Repeatable        bool   `json:"repeatable,omitempty"`
	RepairRounds      int    `json:"repair_rounds,omitempty" minimum:"0"`
	Budget            Budget `json:"budget,omitzero"`

	Pool      string            `json:"pool,omitempty"`
	Key       string            `json:"key,omitempty"`
	Priority  int               `json:"priority,omitempty"`
	NotBefore time.Time         `json:"not_before,omitzero"`
	Title     string            `json:"title,omitempty" doc:"A short description of the run, for lists and inboxes."`
	Labels    map[string]string `json:"labels,omitempty"`
	Ask       *AskPolicy        `json:"ask,omitempty"`
}

// AskPolicy says who may answer the questions of a run.
type AskPolicy struct {
	NotSubmitter bool      `json:"not_submitter,omitempty"`
	To           *Audience `json:"to,omitempty"`
	Need         int       `json:"need,omitempty" minimum:"0" doc:"How many people must approve an approval."`
	Rejects      int       `json:"rejects,omitempty" minimum:"0" doc:"How many people must reject an approval."`
}

func (n *NewRun) spec(submitter string) lifecycle.Spec {
	s := lifecycle.Spec{ID: n.ID, Prompt: n.Prompt, Input: n.Input, Mode: lifecycle.Mode(n.Mode), Engine: n.Engine,
		OutputSchema: n.OutputSchema, MaxAttempts: n.MaxAttempts, MaxQuestions: n.MaxQuestions,
		SessionTimeout: time.Duration(n.SessionTimeoutSec) * time.Second,
		TurnTimeout:    time.Duration(n.TurnTimeoutSec) * time.Second, AutoDecide: n.AutoDecide,
		MaxAutoDecisions: n.MaxAutoDecisions, Repeatable: n.Repeatable, RepairRounds: n.RepairRounds,
		Budget: lifecycle.Budget(n.Budget), Pool: n.Pool, Key: n.Key, Priority: n.Priority, NotBefore: n.NotBefore,
		Title: n.Title, Labels: n.Labels, Submitter: submitter}
	if n.Ask != nil {
		s.Ask = &lifecycle.AskPolicy{NotSubmitter: n.Ask.NotSubmitter, To: n.Ask.To.audience(), Need: n.Ask.Need,
			Rejects: n.Ask.Rejects}
	}
	return s
}

// sameID returns the id of the new run, from the body, the header, or both if they are equal.
func sameID(inBody, key string) (string, error) {
	if inBody != "" && key != "" && inBody != key {
		return "", newProblem(http.StatusBadRequest, "INVALID_ARGUMENT",
			"The Idempotency-Key and the id in the body differ: give one of them, or the same value in both.")
	}
	return inBody + strings.TrimPrefix(key, inBody), nil
}

type submitInput struct {
	Key  string `header:"Idempotency-Key" doc:"The run's id, chosen by the caller: the same request again returns the run."`
	Body NewRun
}

func (d *Server) submit(ctx context.Context, c *caller, in *submitInput) (*created[Run], error) {
	spec := in.Body.spec(c.actor.ID)
	var err error
	if spec.ID, err = sameID(in.Body.ID, in.Key); err != nil {
		return nil, err
	}
	if d.opts.Prepare != nil {
		if err := d.opts.Prepare(c.request, &spec); err != nil {
			return nil, newProblem(http.StatusForbidden, "NOT_ALLOWED", err.Error())
		}
	}
	run, known, err := c.client.GetOrSubmit(ctx, spec)
	if err != nil {
		return nil, err
	}
	return newOrKnown(known, d.runURL(run.ID), showRun(&run, c.actor, c.client.Now())), nil
}

func (d *Server) get(ctx context.Context, c *caller, in *RunPath) (*body[Run], error) {
	run, err := c.client.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	shown := showRun(&run, c.client.WithPrincipals(ctx, c.actor), c.client.Now())
	d.addNames(ctx, shown.people)
	return &body[Run]{shown}, nil
}

type Runs struct {
	Runs     []Run  `json:"runs" nullable:"false"`
	Next     string `json:"next,omitempty" doc:"The after of the next page; missing at the end."`
	Searched int    `json:"searched,omitempty" doc:"The number of runs that a search (q) has examined; with next, it stopped there."`
}

type listInput struct {
	Paging
	State      []string  `query:"state,explode" doc:"A state to include; may be repeated."`
	Pool       string    `query:"pool"`
	Key        string    `query:"key"`
	Held       bool      `query:"held" doc:"Only held runs."`
	ForkedFrom string    `query:"forked_from" doc:"Only forks of the run with this id."`
	Label      []string  `query:"label,explode" doc:"name=value that a run must have; may be repeated."`
	Newest     bool      `query:"newest" doc:"The newest first."`
	From       time.Time `query:"from" doc:"Only runs that were created at this time or later."`
	Until      time.Time `query:"until" doc:"Only runs that were created before this time."`
	Q          string    `query:"q" maxLength:"256" doc:"A text that the run must contain, ignoring case: in its id, title, labels, result, error or reason of a cancellation, or in the prompt of an open question. One request examines at most 10,000 runs, and reads no more after 200 ms."`
}

func (d *Server) list(ctx context.Context, c *caller, in *listInput) (*body[Runs], error) {
	labels, err := readLabels(in.Label)
	if err != nil {
		return nil, err
	}
	q := lifecycle.SearchQuery{Query: lifecycle.Query{Pool: in.Pool, Key: in.Key, Held: in.Held,
		ForkedFrom: in.ForkedFrom, Labels: labels, Newest: in.Newest, After: in.After, Limit: in.Limit},
		Text: in.Q, From: in.From, Until: in.Until}
	for _, state := range in.State {
		q.States = append(q.States, lifecycle.State(state))
	}
	if q.Text != "" {
		left, err := d.countSearch(c)
		if err != nil {
			return nil, err
		}
		defer left()
	}
	page, err := c.client.SearchRuns(ctx, q)
	if err != nil {
		return nil, err
	}
	out := Runs{Runs: make([]Run, len(page.Runs)), Next: page.Next}
	if q.Text != "" {
		out.Searched = page.Searched
	}
	actor := c.client.WithPrincipals(ctx, c.actor)
	for i := range page.Runs {
		page.Runs[i].Output, page.Runs[i].FinalText = nil, "" // they may be large
		out.Runs[i] = showRun(&page.Runs[i], actor, c.client.Now())
	}
	d.addNames(ctx, peopleOf(out.Runs))
	return &body[Runs]{out}, nil
}

func readLabels(all []string) (map[string]string, error) {
	labels := make(map[string]string, len(all))
	for _, label := range all {
		name, value, ok := strings.Cut(label, "=")
		if _, twice := labels[name]; !ok || twice {
			return nil, newProblem(http.StatusBadRequest, "INVALID_ARGUMENT", "A label must be name=value, and each "+
				"name may be given once.")
		}
		labels[name] = value
	}
	return labels, nil
}

type cancelInput struct {
	RunPath
	Body *struct {
		Reason string `json:"reason,omitempty"`
	}
}

func (d *Server) cancel(ctx context.Context, c *caller, in *cancelInput) error {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	return c.client.Cancel(ctx, in.ID, reason)
}

type resumeInput struct {
	RunPath
	Body struct {
		Choice  string `json:"choice" enum:"repeat,raise,end"`
		Budget  Budget `json:"budget,omitzero" doc:"The new limits, for raise."`
		Version uint64 `json:"version,omitempty" doc:"The version that the caller saw: refused if the run has changed since."`
	}
}

func (d *Server) resume(ctx context.Context, c *caller, in *resumeInput) error {
	return c.client.Resume(ctx, in.ID, lifecycle.Resume{Choice: lifecycle.Choice(in.Body.Choice),
		Budget: lifecycle.Budget(in.Body.Budget), Version: in.Body.Version})
}

type forkInput struct {
	RunPath
	Key  string `header:"Idempotency-Key" doc:"The fork's id, chosen by the caller: the same request again returns the fork."`
	Body struct {
		ID       string   `json:"id,omitempty" doc:"The fork's id, chosen by the caller; or the Idempotency-Key."`
		Question int      `json:"question,omitempty" minimum:"0" doc:"A settled question; missing: the end of the run."`
		Reply    string   `json:"reply,omitempty" doc:"The text of the answer."`
		Answer   NewReply `json:"answer,omitzero" doc:"The answer that the fork gets instead of the run's."`
	}
}

func (d *Server) fork(ctx context.Context, c *caller, in *forkInput) (*created[Run], error) {
	at := lifecycle.At{Question: in.Body.Question, Answer: in.Body.Answer.reply(c.client.Now())}
	if in.Body.Reply != "" {
		if at.Answer.Text != "" {
			return nil, &lifecycle.ArgumentError{Argument: "answer.text", Value: "given",
				Want: "nothing, because reply already has the text"}
		}
		at.Answer.Text = in.Body.Reply
	}
	var err error
	if at.ID, err = sameID(in.Body.ID, in.Key); err != nil {
		return nil, err
	}
	run, known, err := c.client.GetOrFork(ctx, in.ID, at)
	if err != nil {
		return nil, err
	}
	return newOrKnown(known, d.runURL(run.ID), showRun(&run, c.actor, c.client.Now())), nil
}
