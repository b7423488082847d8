package metamorphic_test

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// operation is one step of a log. It names runs by number; fields that it does not need are zero.
type operation struct {
	do    string
	run   int
	spec  lifecycle.Spec
	later time.Duration // from the step to the spec's not-before time; 0 for none
	reply interaction.Reply
	which int // how many interactions before the last one the reply is for, or versions the decision
	// Decisions about held runs.
	choice  lifecycle.Choice
	version bool // the decision is about a version
	turn    ending
	query   store.Query
	inbox   lifecycle.InboxQuery // due before so long after the step as wait says, unless that is 0
	page    bool                 // continue after the last listing of this kind
	wait    time.Duration
}

func (o operation) String() string {
	switch o.do {
	case "submit":
		return fmt.Sprintf("submit %d %+v, later %s", o.run, o.spec, o.later)
	case "reply":
		return fmt.Sprintf("reply %d to last-%d %q key %q by %q", o.run, o.which, o.reply.Text, o.reply.Key,
			o.reply.Actor)
	case "resume":
		return fmt.Sprintf("resume %d: %q, of a version %t last-%d", o.run, o.choice, o.version, o.which)
	case "turn":
		return fmt.Sprintf("turn %d %+v", o.run, o.turn)
	case "runs":
		return fmt.Sprintf("%s %+v, go on: %t", o.do, o.query, o.page)
	case "inbox":
		return fmt.Sprintf("%s %+v, go on: %t, due in %s", o.do, o.inbox, o.page, o.wait)
	case "wait", "prune":
		return o.do + " " + o.wait.String()
	}
	return fmt.Sprintf("%s %d", o.do, o.run)
}

// of draws a value.
func of[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

// runs is the number of runs that a log may have.
const runs = 6

// weights lists the steps. Steps that change something are listed more than once, so that they are
// drawn more often.
var weights = []string{
	"submit", "submit", "submit", "claim", "claim", "claim", "turn", "turn", "turn", "turn", "reply", "reply", "reply",
	"cancel", "wait", "deadlines", "resume", "resume",
	"crash", "shutdown", "recover", "recovers", "prune", "runs", "inbox", "get", "stats", "nodes", "events", "kill",
	"resize",
}

var operations = rapid.Custom(func(t *rapid.T) operation {
	o := operation{do: of(t, "do", weights...)}
	switch o.do {
	case "submit":
		o.run, o.spec = rapid.IntRange(0, runs-1).Draw(t, "run"), specs.Draw(t, "spec")
		o.later = time.Duration(of(t, "not before", 0, 0, 0, -2, 3, 9)) * time.Second
	case "reply":
		o.run, o.which = rapid.IntRange(0, runs).Draw(t, "run"), of(t, "which", 0, 0, 0, 0, 1, 2, -1)
		o.reply = interaction.Reply{Text: of(t, "text", "yes", "no", " "), Key: of(t, "key", "", "", "k1", "k2"),
			Actor: lifecycle.Actor{ID: of(t, "actor", "", "ada")}}
	case "resume":
		o.run, o.which = rapid.IntRange(0, runs).Draw(t, "run"), of(t, "which", 0, 0, 0, 1)
		o.choice = of(t, "choice", lifecycle.ChoiceRepeat, lifecycle.ChoiceRepeat, lifecycle.ChoiceEnd, "perhaps")
		o.version = rapid.Bool().Draw(t, "of a version")
	case "turn":
		o.run, o.turn = rapid.IntRange(0, runs-1).Draw(t, "run"), endings.Draw(t, "ending")
	case "inbox":
		o.inbox, o.page = inboxes.Draw(t, "query"), rapid.Bool().Draw(t, "go on")
		o.wait = time.Duration(of(t, "due", 0, 0, 1, 5)) * time.Second
	case "runs":
		o.query, o.page = queries.Draw(t, "query"), rapid.Bool().Draw(t, "go on")
	case "wait", "deadlines", "prune":
		o.wait = time.Duration(rapid.IntRange(1, 9).Draw(t, "seconds")) * time.Second
	case "resize":
		o.run = rapid.IntRange(1, 3).Draw(t, "slots")
	case "cancel", "get", "events", "kill":
		o.run = rapid.IntRange(0, runs).Draw(t, "run")
	}
	return o
})

var (
	answerSchema = json.RawMessage(
		`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`)
	anySchema = json.RawMessage(`{"type":"object"}`)
)

var specs = rapid.Custom(func(t *rapid.T) lifecycle.Spec {
	s := lifecycle.Spec{
		Prompt: of(t, "prompt", "Do the job.", "Tu es.", "做 <b>\u2028\"it\"\\"), Mode: of(t, "mode",
			lifecycle.Interactive, lifecycle.Interactive, "", lifecycle.Auto),
		Engine: of(t, "engine", string(fsm.ProfileResumable), string(fsm.ProfileResumable),
			string(fsm.ProfileStickyProcess)),
		OutputSchema: of(t, "schema", nil, nil, answerSchema, anySchema),
		MaxAttempts:  rapid.IntRange(0, 3).Draw(t, "attempts"), SessionTimeout: time.Duration(rapid.IntRange(0,
			6).Draw(t, "timeout")) * time.Second,
		AutoDecide: rapid.Bool().Draw(t, "auto"), MaxAutoDecisions: rapid.IntRange(0, 2).Draw(t, "decisions"),
		Repeatable: rapid.Bool().Draw(t, "repeatable"), TurnTimeout: time.Duration(of(t, "limit", 0, 0, 0,
			4)) * time.Second,
		RepairRounds: of(t, "repair", 0, 0, 1), Pool: of(t, "pool", "", "", "small", "small", "nowhere"),
		Key:      of(t, "key", "", "a", "b", "ü"),
		Priority: of(t, "priority", 0, 0, -1, 1, 5000),
		Labels:   of(t, "labels", nil, map[string]string{"team": "a"}, map[string]string{"team": "b", "ä\"": "x'y"}),
	}
	if !s.Repeatable {
		s.OnInterrupt = of(t, "on interrupt", "", lifecycle.Fail, lifecycle.Ask)
	}
	s.Hold = of(t, "hold", "", lifecycle.HoldOff, lifecycle.HoldOn, lifecycle.HoldOn)
	s.Ask = of(t, "ask", nil, nil, nil, &lifecycle.AskPolicy{To: &interaction.Audience{Users: []string{"ada"}}},
		&lifecycle.AskPolicy{To: &interaction.Audience{Groups: []string{"finance"}, Except: []string{"bob"}}},
		&lifecycle.AskPolicy{To: &interaction.Audience{Everybody: true, Except: []string{"ada"}}})
	s.Retry = of(t, "retry", nil, &lifecycle.Retry{Max: 2, Backoff: 3 * time.Second})
	if rapid.IntRange(0, 15).Draw(t, "folder") == 0 {
		s.WorkDir = "/nowhere/at/all"
	}
	return s
})

var inboxes = rapid.Custom(func(t *rapid.T) lifecycle.InboxQuery {
	q := lifecycle.InboxQuery{
		For: lifecycle.Actor{ID: of(t, "for", "", "", "ada", "bob"),
			Groups: of(t, "groups", nil, []string{"finance"})},
		Pool: of(t, "pool", "", "", "small"), Key: of(t, "key", "", "", "a"), Labels: of(t, "labels", nil, nil,
			map[string]string{"team": "a"}),
		Kinds: of(t, "kinds", nil, nil, []lifecycle.Kind{interaction.OpenText}, []lifecycle.Kind{interaction.Approval}),
		Limit: of(t, "limit", 0, 1, 2, 3, 1001),
	}
	return q
})

var queries = rapid.Custom(func(t *rapid.T) store.Query {
	return store.Query{
		States: of(t, "states", nil, nil, []fsm.State{fsm.StateQueued, fsm.StateRunning},
			[]fsm.State{fsm.StateWaitingUser}, []fsm.State{fsm.StateCanceled, fsm.StateFailed}),
		Pool: of(t, "pool", "", "", "small"), Key: of(t, "key", "", "", "a"), Labels: of(t, "labels", nil, nil,
			map[string]string{"team": "a"}),
		Held:   of(t, "held", false, false, true),
		Newest: rapid.Bool().Draw(t, "newest"), Limit: of(t, "limit", 0, 1, 2, 3, 1001),
	}
})
