package lifecycletest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// variant is one waiting policy.
type variant struct {
	profile    fsm.Profile
	strict     bool
	repeatable bool
	several    bool             // its agent asks three questions at once, and two answers are enough
	then       interaction.Then // how the questions' own waits end; empty: they have none
	votes      bool             // its questions are approvals, which two people decide
}

var variants = []variant{
	{fsm.ProfileResumable, true, false, true, "", false}, {fsm.ProfileResumable, false, true, false, "", false},
	{fsm.ProfileStickyProcess, true, true, false, "", false}, {fsm.ProfileStickyProcess, false, false, true, "", false},
}

// waitVariants have questions whose waits contradict the policy.
var waitVariants = []variant{
	{fsm.ProfileResumable, true, false, true, interaction.ThenDefault, false},
	{fsm.ProfileResumable, false, true, true, interaction.ThenFail, false},
	{fsm.ProfileStickyProcess, true, false, false, interaction.ThenDecide, false},
}

var voteVariants = []variant{
	{fsm.ProfileResumable, true, false, true, "", true},
	{fsm.ProfileStickyProcess, false, false, false, "", true},
}

// lives executes runs through given sequences of events. A run stays queued until its sequence
// starts it.
type lives struct {
	*world
	v     variant
	gate  *gated
	count int
	model *contract.Lifecycle
}

type life struct {
	*lives
	id    string
	turns chan turnStep
	ends  map[int]time.Time // of the questions whose end was moved
}

func newLives(t *testing.T, open Opener, v variant) *lives {
	t.Helper()
	ls := &lives{v: v, model: contract.Load()}
	ls.world = newWorld(t, func(tb testing.TB) store.Store {
		ls.gate = newGated(open(tb))
		return ls.gate
	}, config(func(c *lifecycle.Config) {
		c.Poll, c.Lease, c.Grace = 10*time.Minute, 30*time.Second, -1
	}), func(w *world) { w.agent.Kind = v.profile })
	return ls
}

// newLife submits a run whose questions wait for d, longer than all crashes of its life take.
func (ls *lives) newLife(d time.Duration) *life {
	ls.count++
	l := &life{lives: ls, id: fmt.Sprintf("life-%d", ls.count), turns: make(chan turnStep),
		ends: make(map[int]time.Time)}
	ls.agent.Plan(l.id, func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
		select {
		case step := <-l.turns:
			return step(ctx, t, s)
		case <-ctx.Done():
			return engine.Outcome{}, context.Cause(ctx)
		}
	})
	ls.submit(l.id, func(s *lifecycle.Spec) {
		s.AutoDecide, s.SessionTimeout, s.Repeatable, s.MaxAutoDecisions = !ls.v.strict, d, ls.v.repeatable, 1000
		if ls.v.then != "" {
			s.Ask = &lifecycle.AskPolicy{Wait: ls.v.wait(d)}
		}
	})
	return l
}

// command does what causes the event in the run's present state. It is nil if nothing that a host,
// a person, an agent or a crash can do would cause it.
func (l *life) command(run lifecycle.Run, event fsm.Event) func() {
	on := func(s fsm.State, do func()) func() {
		if run.State != s {
			return nil
		}
		return do
	}
	turn := func(s turnStep) func() { return on(fsm.StateRunning, func() { l.turns <- s }) }
	switch event {
	case fsm.EventTurnStarted:
		return on(fsm.StateQueued, func() { l.gate.set(true); synctest.Wait(); l.gate.set(false) })
	case fsm.EventTurnNeedsInput:
		if l.v.votes {
			return turn(asksApprovals(interaction.Rule{Answers: 2}, 2, l.v.prompts()...))
		}
		if l.v.several {
			return turn(asksAll(interaction.Rule{Answers: 2}, "Well?", "Really?", "Ready?"))
		}
		return turn(asksOne("Well?"))
	case fsm.EventTurnSucceeded:
		return turn(completes("Done."))
	case fsm.EventTurnFailed:
		return turn(crashes())
	case fsm.EventInteractionReplyAccepted, fsm.EventInteractionRecorded:
		if l.ruleMet(&run) != (event == fsm.EventInteractionReplyAccepted) && run.State == fsm.StateWaitingUser {
			return nil // the reply is the other event
		}
		if event == fsm.EventInteractionRecorded && run.State != fsm.StateWaitingUser {
			return nil // a reply is only recorded where questions are open
		}
		return func() {
			// whether it is accepted follows from the state, which is compared below
			if q := run.OpenQuestion(l.answers(&run)); q != nil && l.v.votes {
				l.vote(&run, q)
				return
			}
			_, _ = l.Reply(l.ctx, l.id, interaction.Reply{ID: l.answers(&run), Text: "Go on.", Actor: boss})
		}
	case fsm.EventInteractionStep, fsm.EventInteractionDefaultTimeout, fsm.EventInteractionAutoDecideTimeout,
		fsm.EventInteractionWaitTimeout:
		if run.Deadline.IsZero() || l.fires(&run) != event {
			return nil
		}
		return on(fsm.StateWaitingUser, func() { l.advance(time.Until(run.Deadline) + time.Second) })
	case fsm.EventInteractionChanged:
		return on(fsm.StateWaitingUser, func() { l.change(&run) })
	case fsm.EventInteractionNoted:
		return on(fsm.StateWaitingUser, func() {
			_, _ = l.Note(l.ctx, l.id, l.answers(&run), lifecycle.Note{Text: "Ask Bob."})
		})
	case fsm.EventInteractionProcessLost:
		if l.v.profile != fsm.ProfileStickyProcess {
			return nil
		}
		return on(fsm.StateWaitingUser, func() { l.agent.Kill(l.id) })
	case fsm.EventRunCanceled:
		return func() { _ = l.Cancel(l.ctx, l.id, "") }
	}
	return l.crash(run, event)
}

// ruleMet reports whether the next reply to an open question lets the run continue.
func (l *life) ruleMet(run *lifecycle.Run) bool {
	open := len(run.Open)
	if q := run.OpenQuestion(l.answers(run)); l.v.votes && q != nil && len(q.Votes) == 0 {
		return false
	}
	return open < 2 || run.Together.Replies+1 >= run.Together.Rule.Needs(run.Together.Asked)
}

// fires is what happens to the waiting run at its deadline; empty if it is not one event.
func (l *life) fires(run *lifecycle.Run) fsm.Event {
	open := run.Open
	switch {
	case l.v.then == "" && l.v.strict:
		return fsm.EventInteractionWaitTimeout
	case l.v.then == "":
		return fsm.EventInteractionAutoDecideTimeout
	case len(open) > 0 && open[0].Fired < 2:
		return fsm.EventInteractionStep
	case slices.ContainsFunc(open, func(q interaction.Question) bool { return !q.EndsAt.Equal(run.Deadline) }):
		return "" // the others stay open
	}
	return map[interaction.Then]fsm.Event{
		interaction.ThenDefault: fsm.EventInteractionDefaultTimeout,
		interaction.ThenFail:    fsm.EventInteractionWaitTimeout,
		interaction.ThenDecide:  fsm.EventInteractionAutoDecideTimeout,
	}[l.v.then]
}

// answers returns the question for a person's next reply: an open question, not always the first,
// or the question that was open last.
func (l *life) answers(run *lifecycle.Run) int {
	if open := run.Open; len(open) > 0 {
		return open[int(run.Version)%len(open)].ID
	}
	return max(run.Interactions, 1)
}

// crash causes the restart events: the host is taken for dead, and another recovers.
func (l *life) crash(run lifecycle.Run, event fsm.Event) func() {
	recoverAfter := func() {
		l.fence()
		l.advance(15 * time.Second) // the host notices, returns as another node, and recovers its runs
	}
	sticky := run.Profile == fsm.ProfileStickyProcess
	requeues := run.State == fsm.StateRunning && run.Repeatable && !sticky
	switch event {
	case fsm.EventRestartPreserveWaiting:
		if run.State == fsm.StateWaitingUser && !sticky {
			return recoverAfter
		}
	case fsm.EventRestartRequeue:
		if requeues {
			return recoverAfter
		}
	case fsm.EventRestartReconcileFailed:
		switch {
		case run.State == fsm.StateRunning && !requeues, sticky && run.Slot && run.State != fsm.StateRunning:
			return recoverAfter
		case run.State == fsm.StateWaitingUser:
			return func() { l.agent.Refuse(l.id); recoverAfter() }
		}
	}
	return nil
}

func (l *life) facts(run lifecycle.Run, event fsm.Event) contract.Facts {
	waiting := run.State == fsm.StateWaitingUser
	lost := event == fsm.EventRestartReconcileFailed
	policy, _ := l.model.Wait(string(run.Profile), l.v.strict)
	end := cmp.Or(l.v.then, interaction.Then(policy.OnDeadline))
	return contract.Facts{
		"slot_held": event == fsm.EventTurnStarted || run.Slot, "interactive": true,
		"sticky": run.Profile == fsm.ProfileStickyProcess || event == fsm.EventTurnNeedsInput &&
			l.v.profile == fsm.ProfileStickyProcess,
		"handle_present": run.Session != nil || event == fsm.EventTurnNeedsInput, "pending_matches": waiting,
		"deadline_passed": waiting, "own_wait": waiting && l.v.then != "",
		"wait_fails": end == interaction.ThenFail, "wait_decides": end == interaction.ThenDecide,
		"auto_decision_left": true, "worker_gone": run.State == fsm.StateRunning, "context_lost": lost,
		"rule_met": waiting && (event != fsm.EventInteractionRecorded || l.ruleMet(&run)), "repeatable": l.v.repeatable,
		"repeats_exhausted": l.v.repeatable && run.Repeats >= lifecycle.DefaultMaxRepeats,
	}
}

// step lets the event happen, compares the contract's model, the machine and the stored run, and
// reports whether the model takes the event.
func (l *life) step(event fsm.Event) bool {
	l.Helper()
	run, err := l.Get(l.ctx, l.id)
	require.NoError(l, err)
	do := l.command(run, event)
	if do == nil {
		return false
	}
	facts := l.facts(run, event)
	verdict := l.model.Next(string(run.State), string(event), facts)
	var bits fsm.Facts
	for name, is := range facts {
		if fact, ok := fsm.FactNamed(name); ok && is {
			bits |= fact
		}
	}
	row, err := fsm.Next(run.State, event, bits)
	do()
	synctest.Wait()
	after, getErr := l.Get(l.ctx, l.id)
	require.NoError(l, getErr)
	if verdict.Transition == nil {
		require.Error(l, err, "the machine takes %s in %s, the model does not", event, run.State)
		require.Equal(l, run, after, "A7: a refused event writes nothing")
		return false
	}
	require.NoError(l, err)
	require.Equal(l, verdict.Transition.ID, row.ID)
	require.Equal(l, verdict.Transition.To, string(after.State), "%s in %s: %+v", event, run.State, after.Error)
	l.checkWaits(&after)
	return true
}

// end leaves nothing behind that could disturb the next life.
func (l *life) end() {
	l.Helper()
	_ = l.Cancel(l.ctx, l.id, "")
	synctest.Wait()
	l.checkLog(l.id)
	delete(l.runs, l.id)
}

// walk lives the path and, from its end, every event once more, up to the length.
func (ls *lives) walk(path []fsm.Event, length int) {
	ls.Helper()
	for _, event := range fsm.Events() {
		l := ls.newLife(2 * time.Minute)
		for _, e := range path {
			require.True(ls, l.step(e))
		}
		taken := l.step(event)
		l.end()
		if taken && len(path)+1 < length {
			ls.walk(append(path[:len(path):len(path)], event), length)
		}
	}
}

// policiesPerSample: under the race detector and with -short, 1 in this many waiting policies is
// tested.
const policiesPerSample = 4

// short reports that a slow store is tested with -short: some cases then run in .ci/search only, and on
// memory in .ci/run.
func short() bool { return testing.Short() && !sample.Race }

// maxLength returns the length of the longest sequences. For slow stores it is two less.
func maxLength() int {
	if short() {
		return depth - 2
	}
	return depth
}

// sequences are G3: every short sequence of events, and long random ones, lead to the same states
// on the contract's model, on the machine, and on a lifecycle with this store. A refused event
// changes nothing, as each step verifies, so sequences with refused events need no separate test.
//
// G3 K7: includes questions with waits, whose steps and ends are compared with the time
// (checkWaits).
var sequences = []testCase{
	{"G3 G2 A3 A7 K1 K2/every sequence of few events", func(t *testing.T, open Opener) {
		for i, v := range variants {
			if (sample.Race || testing.Short()) && i%policiesPerSample != 0 {
				continue // test.sh runs them all on memory, without the race detector
			}
			ls := newLives(t, open, v)
			ls.walk(nil, maxLength())
			ls.end()
		}
	}},
	{"G3 K7/every sequence of few events, with questions that have waits", func(t *testing.T, open Opener) {
		ls := newLives(t, open, waitVariants[0])
		ls.walk(nil, maxLength()-1)
		ls.end()
	}},
	{"G3 A1 K1 K2 K5 K7/random sequences of up to sixty events", func(t *testing.T, open Opener) {
		all := slices.Concat(variants, waitVariants, voteVariants)
		worlds := make([]*lives, len(all))
		for i, v := range all {
			worlds[i] = newLives(t, open, v)
		}
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { // a bubble has no deadline
			l := worlds[rapid.IntRange(0, len(worlds)-1).Draw(rt, "policy")].newLife(15 * time.Minute)
			for range rapid.IntRange(6, 60).Draw(rt, "length") {
				l.step(rapid.SampledFrom(lasting).Draw(rt, "event"))
			}
			l.end()
		})
		for _, ls := range worlds {
			ls.end()
		}
	}},
}

// lasting are the events with terminal ones made rare, so that random lives are long.
var lasting = func() []fsm.Event {
	var all []fsm.Event
	for _, e := range fsm.Events() {
		switch e {
		case fsm.EventTurnStarted, fsm.EventTurnNeedsInput, fsm.EventInteractionReplyAccepted,
			fsm.EventInteractionRecorded, fsm.EventRestartPreserveWaiting, fsm.EventInteractionAutoDecideTimeout,
			fsm.EventInteractionStep, fsm.EventInteractionDefaultTimeout, fsm.EventInteractionChanged:
			all = append(all, e, e, e, e, e, e, e, e)
		default:
			all = append(all, e)
		}
	}
	return all
}()
