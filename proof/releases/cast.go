package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// act is a period of the play in which one host works. The acts follow one after the other.
type act int

const (
	before act = iota // a node that dies, and whose runs the next node recovers
	first             // a node that shuts down in order
	second            // a node that dies, and whose runs a later version recovers
	last              // a client, after the last node
)

// part describes one run: the state in which the play leaves it, and its end after a later version
// has continued it.
type part struct {
	id    string
	by    act // the act in which the run is submitted
	spec  lifecycle.Spec
	turns []engine.Func // by attempt; later attempts execute the last one
	// The run is a fork of the source, from its first question; by Ada with an answer of hers, or by
	// the author.
	source, author string
	parent         string    // the run that starts this one; it waits for the state of its children
	stops          fsm.State // the state after its first turns
	at             int       // the number of its attempt in this state
	// the replies of people and the states after them, in order
	replies []reply
	cancel  bool
	deputy  bool // Ada claims the question for Ann
	notes   bool // Ada writes a note on the question
	// Ada approves question 1, and later calls, too.
	remembers bool
	passes    time.Duration // time that passes afterwards
	then      fsm.State     // the state after this time; "": unchanged
	// The state after each recovery, for a run of a node whose runs the next node recovers.
	recovered []fsm.State
	// What happens to the run in a later version, and how it ends there.
	next  fate
	ends  fsm.State
	fails fsm.Code
}

// reply is the reply of a person.
type reply struct {
	by   act
	text string
	// to is the state of the run after the reply.
	to fsm.State
	at int
}

// fate is what happens to a run in a later version.
type fate string

const (
	over     fate = ""         // nothing: the run has ended, or recovery ends it
	answered fate = "answered" // people answer all its questions
	overdue  fate = "overdue"  // no person answers, and time passes
	canceled fate = "canceled"
)

// Short names of states.
const (
	queued    = fsm.StateQueued
	running   = fsm.StateRunning
	waiting   = fsm.StateWaitingUser
	succeeded = fsm.StateSucceeded
	failed    = fsm.StateFailed
)

var object = json.RawMessage(`{"type":"object"}`)

// cast has all runs, in the order of their submission.
var cast = []part{
	// The run of the first node that died.
	{id: "reconciled", by: before, turns: turns(hangs), stops: running, at: 1, recovered: []fsm.State{failed},
		ends: failed, fails: fsm.CodeOrchestratorRestartInterrupted},
	{id: "repeated", by: before, spec: lifecycle.Spec{Repeatable: true}, turns: turns(hangs, asks), stops: running,
		at: 1, recovered: []fsm.State{queued, waiting}, next: answered, ends: succeeded},

	{id: "lost-before-the-last-repeat", by: before, spec: lifecycle.Spec{Engine: formerEngine, Repeatable: true,
		MaxRepeats: 1}, turns: turns(hangs), stops: running, at: 1, recovered: []fsm.State{queued}, next: answered,
		ends: succeeded},

	// The runs that have ended. A later version does not change them.
	{id: "succeeded", by: first, spec: lifecycle.Spec{OutputSchema: object}, turns: turns(asks, paints), stops: waiting,
		at:      1,
		replies: []reply{{first, "red <b>", succeeded, 2}}, ends: succeeded},
	{id: "answered-by-ada", by: first, spec: lifecycle.Spec{Ask: &lifecycle.AskPolicy{
		To: &lifecycle.Audience{Users: []string{"ada"}}}}, turns: turns(asks, paints), stops: waiting, at: 1,
		replies: []reply{{first, "green", succeeded, 2}}, ends: succeeded},
	{id: "two-of-three", by: first, turns: turns(asksAll(interaction.Rule{Answers: 2}), paints), stops: waiting, at: 1,
		replies: []reply{{first, "green", waiting, 1}, {first, "blue", succeeded, 2}}, ends: succeeded},
	{id: "auto", by: first, spec: lifecycle.Spec{Mode: lifecycle.Auto, OutputSchema: object,
		Labels: map[string]string{"by": "cron"}},
		turns: turns(outputs), stops: succeeded, at: 1, ends: succeeded},
	{id: "decided", by: first, spec: lifecycle.Spec{AutoDecide: true, SessionTimeout: time.Second}, turns: turns(asks,
		paints),
		stops: waiting, at: 1, passes: time.Second, then: succeeded, ends: succeeded},
	{id: "failed", by: first, turns: turns(crashes), stops: failed, at: 1, ends: failed, fails: fsm.CodeEngineFailed},
	{id: "invalid", by: first, spec: lifecycle.Spec{Mode: lifecycle.Auto,
		OutputSchema: json.RawMessage(`{"required":["size"]}`)},
		turns: turns(outputs), stops: failed, at: 1, ends: failed, fails: fsm.CodeOutputInvalid},
	{id: "exhausted", by: first, spec: lifecycle.Spec{MaxAttempts: 1}, turns: turns(asks), stops: failed, at: 1,
		ends:  failed,
		fails: fsm.CodeInteractiveMaxAttemptExceeded},
	{id: "timed-out", by: first, spec: lifecycle.Spec{Engine: residentEngine, SessionTimeout: time.Second},
		turns: turns(asks),
		stops: waiting, at: 1, passes: time.Second, then: failed, ends: failed, fails: fsm.CodeInteractionWaitTimeout},
	{id: "canceled", by: first, turns: turns(asks), stops: waiting, at: 1, cancel: true, then: fsm.StateCanceled,
		ends: fsm.StateCanceled, fails: fsm.CodeRunCanceled},
	{id: "resident-ended", by: first, spec: lifecycle.Spec{Engine: residentEngine}, turns: turns(asks), stops: waiting,
		at:   1,
		ends: failed, fails: fsm.CodeInteractionProcessLost},
	{id: "interrupted-for-good", by: first, turns: turns(hangs), stops: running, at: 1, ends: failed,
		fails: fsm.CodeOrchestratorRestartInterrupted},

	// Runs parked by a node that shut down in order, with a question of each kind.
	asksOne("choose-one", interaction.Question{Kind: interaction.ChooseOne, DefaultPolicy: interaction.SafeDefault,
		Options: []interaction.Option{{Label: "Red", Value: "red"}, {Label: "Blue", Value: "blue"}}}),
	asksOne("only-options", interaction.Question{Kind: interaction.ChooseOne, Only: true,
		Options: []interaction.Option{{Label: "Red", Value: "red"}, {Label: "Blue", Value: "blue"}}}),
	asksOne("confirm", interaction.Question{Kind: interaction.Confirm, DefaultPolicy: interaction.Abort}),
	asksOne("only", interaction.Question{Kind: interaction.Confirm, Only: true,
		Options: []interaction.Option{{Label: "Blue", Value: "blue", Yes: true}, {Label: "Red", Value: "red"}}}),
	asksOne("fill-fields", interaction.Question{Kind: interaction.FillFields, RequiredFields: []string{"colour",
		"size"},
		UIHints: map[string]any{"size": 3.5, "swatches": []any{"a", true, nil}}}),
	asksOne("open-text", interaction.Question{Kind: interaction.OpenText, DefaultPolicy: interaction.EngineJudgement}),
	asksOne("risk-ack", interaction.Question{Kind: interaction.RiskAck, Context: "It cannot be painted over. " +
		"\u202e<&>\u2028"}),
	asksOne("form", interaction.Question{Kind: interaction.FillFields,
		Schema: json.RawMessage(`{"required": ["colour"]}`)}),
	asksOne("form-or-text", interaction.Question{Kind: interaction.OpenText, AlsoText: true,
		Schema: json.RawMessage(`{"type":"integer"}`)}),
	asksOne("approval", interaction.Question{Kind: interaction.Approval, DefaultPolicy: interaction.SafeDefault,
		Subject: &interaction.Subject{Tool: "spray", Arguments: json.RawMessage(`{"coats": 2.0, "wall": "<&>"}`),
			Title: "Spray the wall", Risk: "it cannot be undone"}}),
	asksOne("files", interaction.Question{Kind: interaction.Confirm, Files: &interaction.Files{Host: "first",
		List: []interaction.File{{Name: "wall.png", MediaType: "image/png", Size: 7, Path: "out/wall.png",
			SHA256: strings.Repeat("0a", 32)}}}}),
	asksOne("changes", interaction.Question{Kind: interaction.Approval, DefaultPolicy: interaction.SafeDefault,
		Subject: &interaction.Subject{Tool: "spray", Changes: []interaction.Change{
			{Path: "plan <&>", Kind: interaction.ChangeEdit, Before: "1 coat\n", After: "2 coats\n"},
			{Path: "new", Kind: interaction.ChangeCreate}}}}),
	asksOne("summary", interaction.Question{Kind: interaction.Approval, DefaultPolicy: interaction.SafeDefault,
		Subject: &interaction.Subject{Tool: "spray", Summary: "2 coats <&>"}}),
	{id: "asked-of-ada", by: first, spec: lifecycle.Spec{Submitter: "bob", Ask: &lifecycle.AskPolicy{NotSubmitter: true,
		To: &lifecycle.Audience{Users: []string{"ada"}, Groups: []string{"painters"}}}}, turns: turns(asks),
		stops: waiting, at: 1, next: answered, ends: succeeded},
	{id: "claimed-by-a-deputy", by: first, turns: turns(asks), stops: waiting, at: 1, deputy: true, next: answered,
		ends: succeeded},
	{id: "noted", by: first, turns: turns(asks), stops: waiting, at: 1, notes: true, next: answered, ends: succeeded},
	{id: "no-question", by: first, turns: turns(says), stops: waiting, at: 1, next: answered, ends: succeeded},
	{id: "with-state", by: first, turns: turns(asksWithState, paints), stops: waiting, at: 1, next: answered,
		ends: succeeded},
	{id: "recovered", by: first, turns: turns(asks, asks, paints), stops: waiting, at: 1,
		replies: []reply{{second, "green", waiting, 2}}, next: answered, ends: succeeded},

	// Runs that are queued after a turn that was interrupted, or that is retried later.
	{id: "elsewhere", by: first, spec: lifecycle.Spec{Engine: elsewhereEngine, Repeatable: true}, turns: turns(hangs),
		stops: running, at: 1, next: answered, ends: succeeded},
	{id: "put-off", by: first, spec: lifecycle.Spec{Retry: &lifecycle.Retry{Max: 3},
		Labels: map[string]string{"team": "red"}},
		turns: turns(later(time.Hour)), stops: queued, at: 1, next: answered, ends: succeeded},
	{id: "sleeping", by: first, turns: turns(sleeps), stops: queued, at: 1, next: answered, ends: succeeded},
	{id: "put-off-answered", by: first, spec: lifecycle.Spec{Retry: &lifecycle.Retry{Max: 3, Backoff: time.Hour}},
		turns: turns(asks, later(0)), stops: waiting, at: 1, replies: []reply{{first, "white", queued, 2}},
		next: answered,
		ends: succeeded},
	{id: "put-off-before", by: first, spec: lifecycle.Spec{Retry: &lifecycle.Retry{Max: 3}}, turns: turns(later(0),
		asks),
		stops: queued, at: 1, passes: 2 * time.Second, then: waiting, next: answered, ends: succeeded},

	// A parent that waits for two children: the first asks a question, and the other has ended but is
	// kept until the parent ends (M3).
	{id: "parent", by: first, turns: turns(spawns, joins), stops: queued, at: 1, ends: succeeded},
	{id: asking, by: first, parent: "parent", turns: turns(asks, paints), stops: waiting, at: 1, next: answered,
		ends: succeeded},
	{id: sketched, by: first, parent: "parent", turns: turns(outputs), stops: succeeded, at: 1, ends: succeeded},

	// Runs of a node that is dead.
	{id: "waiting", by: second, spec: lifecycle.Spec{Pool: "p", Key: "ada"}, turns: turns(asks), stops: waiting, at: 1,
		next: answered, ends: succeeded},
	{id: "hidden-for-a-policy", by: second, turns: turns(func(context.Context, engine.Turn, engine.Sink) (
		engine.Outcome, error) {
		return engine.Ask(interaction.Question{Kind: interaction.Approval, Prompt: "Spray the wall?",
			Subject: &interaction.Subject{Tool: "spray"}}), nil
	}), stops: waiting, at: 1, next: answered, ends: succeeded},
	{id: "asked-twice", by: second, spec: lifecycle.Spec{Pool: "p", Key: "ada", Priority: 7, MaxAttempts: 5},
		turns: turns(asks), stops: waiting, at: 1, replies: []reply{{second, "green", waiting, 2}}, next: answered,
		ends: succeeded},
	{id: "several", by: second, turns: turns(asksAll(interaction.Rule{Answers: 2, StopOnReject: true})), stops: waiting,
		at: 1, replies: []reply{{second, "green", waiting, 1}}, next: answered, ends: succeeded},
	{id: "several-answered", by: second, turns: turns(asksAll(interaction.Rule{Answers: 1})), stops: waiting, at: 1,
		replies: []reply{{last, "yellow", queued, 1}}, next: answered, ends: succeeded},
	// A reminder was sent when its node dies; it is escalated only in a later version.
	{id: "remembers", by: second, turns: turns(func(context.Context, engine.Turn, engine.Sink) (
		engine.Outcome, error) {
		return engine.Ask(interaction.Question{Kind: interaction.Approval, Prompt: "Spray the wall?", AlsoText: true,
			Subject: &interaction.Subject{Tool: "spray"}}), nil
	}, asks), stops: waiting, at: 1, remembers: true, next: answered, ends: succeeded},
	{id: "reminded", by: second, spec: lifecycle.Spec{Ask: &lifecycle.AskPolicy{Wait: &interaction.Wait{
		Then: interaction.ThenDefault, End: time.Hour, Default: &interaction.DefaultReply{Text: "grey"},
		Steps: []interaction.WaitStep{{Do: interaction.Remind, After: time.Second},
			{Do: interaction.Escalate, After: 30 * time.Minute, To: &interaction.Audience{Users: []string{"eve"}}}},
	}}}, turns: turns(asks, paints), stops: waiting, at: 1, passes: time.Second, next: overdue,
		ends: succeeded},
	{id: "long", by: second, turns: turns(asksAtLength), stops: waiting, at: 1, next: canceled,
		ends: fsm.StateCanceled, fails: fsm.CodeRunCanceled},
	{id: "due-later", by: second, spec: lifecycle.Spec{AutoDecide: true, SessionTimeout: time.Hour}, turns: turns(asks),
		stops: waiting, at: 1, next: overdue, ends: succeeded},
	{id: "resident", by: second, spec: lifecycle.Spec{Engine: residentEngine, SessionTimeout: time.Hour},
		turns: turns(asks), stops: waiting, at: 1, ends: failed, fails: fsm.CodeInteractionProcessLost},
	{id: "resident-deciding", by: second, spec: lifecycle.Spec{Engine: residentEngine, AutoDecide: true,
		SessionTimeout: time.Hour}, turns: turns(asks), stops: waiting, at: 1, ends: failed,
		fails: fsm.CodeInteractionProcessLost},
	{id: "resident-answered", by: second, spec: lifecycle.Spec{Engine: residentEngine, SessionTimeout: time.Hour},
		turns: turns(asks), stops: waiting, at: 1, replies: []reply{{last, "yellow", queued, 1}}, ends: failed,
		fails: fsm.CodeInteractionProcessLost},
	{id: "resident-running", by: second, spec: lifecycle.Spec{Engine: residentEngine}, turns: turns(hangs),
		stops: running, at: 1, ends: failed, fails: fsm.CodeOrchestratorRestartInterrupted},
	{id: "answered", by: second, spec: lifecycle.Spec{Pool: "p"}, turns: turns(asks), stops: waiting, at: 1,
		replies: []reply{{last, "yellow", queued, 1}}, next: answered, ends: succeeded},
	{id: "interrupted", by: second, spec: lifecycle.Spec{Repeatable: true, Pool: "p", Key: "bob"}, turns: turns(hangs),
		stops: running, at: 1, next: answered, ends: succeeded},
	{id: "lost", by: second, turns: turns(hangs), stops: running, at: 1, ends: failed,
		fails: fsm.CodeOrchestratorRestartInterrupted},

	// Held runs (J1, J5, J13). In a later version they are resumed, or continue automatically.
	{id: "held-interrupted", by: first, spec: lifecycle.Spec{OnInterrupt: lifecycle.Ask}, turns: turns(hangs),
		stops: running, at: 1, next: answered, ends: succeeded},
	{id: "held-for-budget", by: second, spec: lifecycle.Spec{Budget: lifecycle.Budget{Turns: 1, Tokens: 1 << 40}},
		turns: turns(spends), stops: waiting, at: 1, replies: []reply{{second, "green", queued, 1}}, next: answered,
		ends: succeeded},
	{id: "spending", by: second, spec: lifecycle.Spec{Budget: lifecycle.Budget{Tokens: 500},
		Meta: map[string]string{"traceparent": "00-1-2-01", "é<&>": `"`}}, turns: turns(spends), stops: waiting, at: 1,
		next: answered, ends: succeeded},
	// Its node submits it last, because it would try it again after a minute.
	{id: "held-for-repair", by: second, spec: lifecycle.Spec{Hold: lifecycle.HoldOn}, turns: turns(holds),
		stops: queued, at: 1, next: answered, ends: succeeded},

	// Runs that were submitted after the last node.
	{id: "forked", by: last, source: "decided", stops: queued, next: answered, ends: succeeded},
	{id: "forked-by-bob", by: last, source: "answered-by-ada", author: "bob", stops: queued, next: answered,
		ends: succeeded}, // it asks Ada again
	{id: "queued", by: last, spec: lifecycle.Spec{Pool: "p", Key: "ada", Priority: -3,
		Labels: map[string]string{"team": "red", `we"ird`: "$[0]"}}, stops: queued, next: answered, ends: succeeded},
	{id: "delayed", by: last, spec: lifecycle.Spec{Prompt: "Paint. " + strings.Repeat("y", 1500),
		NotBefore: opening.Add(90 * time.Minute), Labels: map[string]string{"team": "red"}}, stops: queued,
		next: answered,
		ends: succeeded},
}

func turns(all ...engine.Func) []engine.Func { return all }

// asksOne returns a run that asks one question, which is answered in a later version.
func asksOne(id string, q interaction.Question) part {
	q.Prompt = "Which colour?"
	return part{id: id, by: first, turns: turns(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome,
		error) {
		return engine.Ask(q), nil
	}), stops: waiting, at: 1, next: answered, ends: succeeded}
}

var usual = interaction.Question{
	Kind: interaction.ChooseOne, Prompt: "Which colour?", Context: "The wall is grey.",
	Options: []interaction.Option{{Label: "Red", Value: "red"}, {Label: "Blue", Value: "blue"}},
}

func asks(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
	return engine.Ask(usual), s.Message(ctx, engine.Message{Text: "I look at the wall."})
}

// asksAll asks three questions at once.
func asksAll(rule interaction.Rule) engine.Func {
	return func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
		o := engine.AskAll(usual, interaction.Question{Kind: interaction.OpenText, Prompt: "How many coats?"},
			interaction.Question{Kind: interaction.Approval, Prompt: "Spray it?",
				Subject: &interaction.Subject{Tool: "spray"}})
		o.Rule = rule
		return o, nil
	}
}

// asksAtLength reports so many events that they do not fit into the row of the run.
func asksAtLength(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
	return engine.Ask(usual), s.Message(ctx, engine.Message{Text: strings.Repeat("long ", 800)})
}

func asksWithState(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
	return engine.Ask(usual).WithState([]byte(`{"coats":2}`)), nil
}

// says ends the turn without a question: the run waits with a question that the library makes.
func says(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
	return engine.Say("I could paint it."), nil
}

// paints completes the run with the answer that it got.
func paints(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	return engine.Output(map[string]string{"colour": t.Answers[0].Text, "run": t.RunID})
}

func outputs(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	return engine.Output(map[string]string{"run": t.RunID})
}

func crashes(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
	return engine.Outcome{Process: engine.Process{Status: engine.Failed, Detail: "exit status 3", ExitCode: 3}}, nil
}

func hangs(ctx context.Context, _ engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	<-ctx.Done()
	return engine.Outcome{}, context.Cause(ctx)
}

// spends is asks, with usage.
func spends(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	o, err := asks(ctx, t, s)
	o.Usage = engine.Usage{InputTokens: 40, OutputTokens: 2, CostUSD: 0.001}
	return o, err
}

func holds(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
	return engine.Outcome{}, engine.Hold(fsm.CodeEngineFailed, "the ladder is gone")
}

// sleeps lets the run sleep, and leaves something in its journal.
func sleeps(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	o := engine.SleepUntil(t.Clock.Now().Add(time.Hour))
	o.Journal = []engine.JournalEntry{{Path: "1", Name: "ladder", Type: "step", Body: []byte(`"fetched"`)}}
	return o, nil
}

// The children of the run "parent", whose ids are made of its id and their keys.
const (
	asking   = "child-svamsjx0g58yzf3d6pbrgm3vnewgkadv"
	sketched = "child-8x8wenf8e5e3a3db3kxfdadq8aj6ggpt"
)

// spawns starts two runs, and lets the run wait for both.
func spawns(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
	parent, ok := s.(engine.Parent)
	if !ok {
		return engine.Outcome{}, engine.ErrNoChildren
	}
	for _, key := range []string{"review", "sketch"} {
		_, err := parent.Spawn(ctx, engine.Child{Key: key, Prompt: "Paint.",
			Labels: map[string]string{"run": key}})
		if err != nil {
			return engine.Outcome{}, err
		}
	}
	return engine.AwaitAll(asking, sketched), nil
}

// joins completes a run once both of its children have succeeded.
func joins(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
	parent, ok := s.(engine.Parent)
	if !ok {
		return engine.Outcome{}, engine.ErrNoChildren
	}
	for _, id := range []string{asking, sketched} {
		end, err := parent.ChildEnd(ctx, id)
		if err != nil || end == nil || !end.Succeeded {
			return engine.Outcome{}, fmt.Errorf("went on before child %s had succeeded: %+v, %w", id, end, err)
		}
	}
	return engine.Done("joined"), nil
}

func later(after time.Duration) engine.Func {
	return func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
		return engine.Outcome{}, engine.Later(after, "429: come back later")
	}
}
