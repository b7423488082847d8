package decide

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// queuedRun is a run that was just submitted.
func queuedRun() store.Run {
	return store.Run{
		ID: "r", Version: 1, Contract: "1.0.0", Engine: "agent", Mode: fsm.ModeInteractive, Strict: true,
		SessionTimeout: time.Second,
		Pool:           "default", State: fsm.StateQueued, CreatedAt: noon, UpdatedAt: noon, QueuedAt: noon,
	}
}

// runningRun is a run whose first turn executes on the node n.
func runningRun() store.Run {
	r := queuedRun()
	r.Version, r.State, r.Attempt, r.Owner, r.Slot, r.Epoch = 3, fsm.StateRunning, 1, "n", true, 1
	return r
}

// parked is a sticky run whose question has a deadline at noon.
func parked() store.Run {
	r := runningRun()
	r.State, r.Profile, r.Interactions = fsm.StateWaitingUser, fsm.ProfileStickyProcess, 1
	r.Open = []interaction.Question{{ID: 1, Attempt: 1, Kind: interaction.OpenText, Prompt: "Go on?", AskedAt: noon}}
	r.Deadline = noon
	return r
}

// TestDeadlineIsFiredOnTime: D1 D2, neither a microsecond early nor a poll late.
func TestDeadlineIsFiredOnTime(t *testing.T) {
	run := parked()
	for off, fires := range map[time.Duration]bool{-time.Microsecond: false, 0: true, time.Microsecond: true} {
		cm, err := Deadline(&run, run.Deadline.Add(off))
		if !fires {
			var early *fsm.Refusal
			require.ErrorAs(t, err, &early)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, fsm.CodeInteractionWaitTimeout, cm.Run.Error.Code)
		require.Equal(t, "no one replied within 1s", cm.Run.Error.Message)
		require.Equal(t, run.Open[0].ID, cm.Settled[0].Question.ID)
	}
}

// D1 D2 D3 D4 K7: a question without a wait ends like one whose own wait is the policy's. An answer at
// the end has its question's Ref.
func TestK7AQuestionWithoutAWaitHasThePolicys(t *testing.T) {
	for _, profile := range []fsm.Profile{fsm.ProfileResumable, fsm.ProfileStickyProcess} {
		for i := range 4 {
			plain := parked()
			plain.Profile, plain.Strict, plain.MaxAutoDecisions = profile, i < 2, i%2
			policy, _ := fsm.Wait(plain.Profile, plain.Strict)
			plain.Session = &interaction.SessionHandle{Data: []byte("s")}
			plain.Open[0].Ref, plain.Open[0].AskedAt = "call-1", noon.Add(-time.Second)
			own := plain
			wait := plain.WaitOf(&plain.Open[0])
			own.Open = []interaction.Question{plain.Open[0]}
			own.Open[0].Wait = &wait
			own.Open[0].StartWait()
			cm, err := Deadline(&plain, noon)
			if policy.OnDeadline == fsm.DeadlineKeepWaiting {
				require.True(t, Refused(err))
				require.Zero(t, own.Open[0].NextDue())
				continue
			}
			require.NoError(t, err)
			same, err := Deadline(&own, noon)
			require.NoError(t, err)
			require.Equal(t, cm.Run.State, same.Run.State)
			require.Equal(t, cm.Run.Answers, same.Run.Answers)
			if cm.Run.Error != nil {
				require.Equal(t, cm.Run.Error.Code, same.Run.Error.Code)
			} else {
				require.Equal(t, "call-1", same.Run.Answers[0].Ref)
			}
		}
	}
}

// J5: a deadline of a run that is held falls due as it would otherwise: an automatic decision is
// stored and waits, and a run that may not decide any more fails.
func TestJ5ADeadlineOfAHeldRun(t *testing.T) {
	now := noon
	run := store.Run{
		ID: "r", Version: 5, Engine: "agent", State: fsm.StateWaitingUser, Profile: fsm.ProfileResumable,
		Session: &interaction.SessionHandle{Data: []byte("s")}, Interactions: 1, Attempt: 1, Owner: "n",
		Open:           []interaction.Question{{ID: 1, Kind: interaction.OpenText, Prompt: "?", AskedAt: now}},
		SessionTimeout: time.Second, Deadline: now.Add(time.Second), MaxAutoDecisions: 1, UpdatedAt: now,
	}
	cm, err := blockRun(&run, "gone", now)
	require.NoError(t, err)
	held := cm.Run
	cm, err = Deadline(&held, now.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, fsm.StateQueued, cm.Run.State)
	require.True(t, cm.Run.Held())
	require.Equal(t, interaction.AutoDecideTimeout, cm.Run.Answers[0].Resolution)
	held.AutoDecisions = 1
	cm, err = Deadline(&held, now.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, fsm.StateFailed, cm.Run.State)
	require.Nil(t, cm.Run.Block)
}

// M3: a run may wait for as many children as it may have, and its wait ends no microsecond too
// late.
func TestM3AWaitForAllTheChildrenThatARunMayHave(t *testing.T) {
	at := time.Unix(4e9, 0).UTC()
	running := runningRun()
	running.Family = &store.Family{Children: engine.MaxChildren}
	for until, want := range map[time.Time]time.Time{{}: {}, at: at, at.Add(1): at.Add(time.Microsecond)} {
		ev := Evidence{children: make([]string, engine.MaxChildren), sleep: until}
		cm, err := Turn(&running, &ev, "n", noon)
		require.NoError(t, err)
		require.Equal(t, fsm.StateQueued, cm.Run.State)
		require.Len(t, cm.Run.Block.Children, engine.MaxChildren)
		require.Equal(t, want, cm.Run.Block.Until)
	}
}

// M1 M3: a run that sleeps or waits yields, and a sleep ends no microsecond too late.
func TestM1M3WhatYields(t *testing.T) {
	at := time.Unix(100, 0).UTC()
	require.False(t, (&yielding{}).afterSuccess())
	require.True(t, (&yielding{sleep: at}).afterSuccess())
	require.True(t, (&yielding{await: &store.Block{}}).afterSuccess())
	for until, want := range map[time.Time]time.Time{at: at, at.Add(1): at.Add(time.Microsecond)} {
		run := store.Run{}
		recordYield(&run, &yielding{sleep: until}, noon)
		require.Equal(t, want, run.NotBefore)
	}
}

// J3 J14: the second loss in a row makes a suspect. A turn that was repeated for another reason makes
// none, however often. The first loss leaves the record as earlier releases store it; without it,
// a repeat before the first retry counts as a loss. Losses end with the row of repeats, and with the
// run.
func TestJ3WhichRepeatsAreLosses(t *testing.T) {
	endings := map[string]func(run *store.Run) (*store.Commit, error){
		"lost node": func(run *store.Run) (*store.Commit, error) {
			return Orphan(run, &OrphanEvidence{At: noon}, HostDefaults{})
		},
		"dropped turn": func(run *store.Run) (*store.Commit, error) { return DroppedTurn(run, HostDefaults{}, noon) },
		"lost agent": func(run *store.Run) (*store.Commit, error) {
			return lostAgent(run, &Evidence{}, "n", noon)
		},
		"retry": func(run *store.Run) (*store.Commit, error) {
			return transition(run, fsm.EventTurnYielded, &effects{now: noon, facts: fsm.FactPassing,
				yields: yielding{failure: &transientFailure{retry: &store.Retry{Max: 9}}}})
		},
		"good end": func(run *store.Run) (*store.Commit, error) {
			return Turn(run, &Evidence{sleep: noon.Add(time.Hour)}, "n", noon)
		},
	}
	for name, c := range map[string]struct {
		endings         []string
		repeats, losses int
		suspect         bool
	}{
		"two losses":        {[]string{"lost node", "lost node"}, 2, 2, true},
		"one loss":          {[]string{"lost node"}, 1, 0, false},
		"retries":           {[]string{"retry", "retry"}, 2, 0, false},
		"lost agents":       {[]string{"lost agent", "lost agent"}, 2, 0, false},
		"one after another": {[]string{"lost agent", "lost node"}, 2, 2, true},
		"one after a retry": {[]string{"retry", "lost node"}, 2, 1, false},
		"two after a retry": {[]string{"retry", "lost node", "lost node"}, 3, 2, true},
		"other repeats":     {[]string{"lost agent", "dropped turn", "retry", "lost agent"}, 4, 1, false},
		"losses in between": {[]string{"lost node", "lost agent", "retry", "lost node"}, 4, 2, true},
		"a loss before the last repeat": {
			[]string{"retry", "dropped turn", "dropped turn", "retry", "lost node"}, 5, 1, true,
		},
		"a loss after a turn that ended":  {[]string{"lost node", "good end", "lost node"}, 1, 1, false},
		"no loss before the last repeat":  {[]string{"retry", "retry", "retry", "retry", "lost agent"}, 5, 0, false},
		"no loss since a turn that ended": {[]string{"lost node", "lost node", "good end"}, 0, 0, false},
	} {
		run, suspect := runningRun(), false
		run.Repeatable, run.MaxRepeats = true, 5
		for _, ending := range c.endings {
			cm, err := endings[ending](&run)
			require.NoError(t, err, name)
			run, suspect = cm.Run, cm.Run.Suspect()
			body, err := store.Encode(run)
			require.NoError(t, err, name)
			require.Equal(t, run.Losses > 0, strings.Contains(string(body), "losses"), name)
			run.State, run.Slot, run.Block, run.Owner, run.Attempt = fsm.StateRunning, true, nil, "n", run.Attempt+1
		}
		require.Equal(t, c.suspect, suspect, name)
		require.Equal(t, []int{c.repeats, c.losses}, []int{run.Repeats, run.Losses}, name)
	}
	run := runningRun()
	run.Repeatable, run.MaxRepeats, run.Repeats, run.Losses = true, 2, 2, 2
	cm, err := Orphan(&run, &OrphanEvidence{At: noon}, HostDefaults{})
	require.NoError(t, err)
	require.Equal(t, fsm.CodeTurnRepeatLimitExceeded, cm.Run.Error.Code)
	require.Equal(t, []int{2, 0}, []int{cm.Run.Repeats, cm.Run.Losses})
}

// J13: a limit that is not given stays as it is.
func TestJ13LimitsOfABudget(t *testing.T) {
	both := store.Budget{Turns: 7, Tokens: 300}
	b := &store.RunBudget{Limit: store.Budget{Turns: 3, Tokens: 100}, Used: store.Budget{Turns: 3}}
	for given, want := range map[store.Budget]store.Budget{
		{Turns: 5}: {Turns: 5, Tokens: 100}, {Tokens: 200}: {Turns: 3, Tokens: 200}, both: both,
	} {
		require.Equal(t, &store.RunBudget{Limit: want, Used: b.Used}, Raise(b, given))
	}
}

// J2: pauses double up to their bound, are as long as the engine asks for, and have a jitter that
// is the same whenever it is asked for.
func TestRetryPausesDoubleUpToTheirBound(t *testing.T) {
	var r store.Retry
	for retry, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 10: 5 * time.Minute, math.MaxInt32: 5 * time.Minute,
	} {
		require.Equal(t, want, pauseBefore(retry, &r, "r", 0), retry)
	}
	r = store.Retry{Backoff: time.Minute, MaxBackoff: 90 * time.Second}
	require.Equal(t, time.Minute, pauseBefore(1, &r, "r", 0))
	require.Equal(t, 90*time.Second, pauseBefore(2, &r, "r", 0))
	require.Equal(t, time.Hour, pauseBefore(1, &r, "r", time.Hour))
	require.Equal(t, time.Minute, pauseBefore(1, &r, "r", -time.Hour))
	require.Equal(t, store.MaxRetryPause, pauseBefore(1, &r, "r", 2*store.MaxRetryPause))

	r.Jitter = time.Second
	seen := make(map[time.Duration]bool)
	for retry := range 100 {
		pause := pauseBefore(retry+2, &r, "r", 0)
		require.Equal(t, pause, pauseBefore(retry+2, &r, "r", 0))
		require.LessOrEqual(t, 90*time.Second, pause)
		require.LessOrEqual(t, pause, 91*time.Second)
		seen[pause] = true
	}
	require.Greater(t, len(seen), 50)
}

// A commit's memory is used again, unless its events are so large that it would be kept for
// nothing.
func TestRecycleKeepsNoLargeEvents(t *testing.T) {
	for size, reused := range map[int]bool{64<<10 - 1: true, 64 << 10: true, 64<<10 + 1: false} {
		c := newCommit(&store.Run{ID: "r"})
		c.Events = append(c.Events, store.Event{Body: make([]byte, size-1)}, store.Event{Body: []byte("x")})
		Recycle(c)
		require.Equal(t, reused, len(c.Events) == 0, "%d bytes", size)
	}
}

// TestEachEventOfAReportCounts: J11, the size of a turn's reports covers all events, also if one
// report has several of them.
func TestEachEventOfAReportCounts(t *testing.T) {
	require.Equal(t, 5, EncodedSize([]store.Event{{Body: []byte("abc")}, {Body: []byte("de")}}))
}
