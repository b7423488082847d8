package decide

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/schema"
	"github.com/interlude-go/interlude/store"
)

// B11: a session handle has 1 to MaxSessionHandle bytes.
func TestB11TheSizeOfASessionHandle(t *testing.T) {
	for size, fits := range map[int]bool{0: false, 1: true, engine.MaxSessionHandle: true,
		engine.MaxSessionHandle + 1: false} {
		h, err := StorableSession(&engine.SessionHandle{Engine: "agent", Data: make([]byte, size)})
		require.Equal(t, []bool{fits, fits}, []bool{err == nil, h != nil}, "%d bytes", size)
	}
	require.False(t, Repairable(&store.Run{}, &Evidence{sessionFault: errors.New("too large")}))
}

// J11: a run's record has at most maxOwnWarnings codes of its engine, each once, and all of the
// contract's.
func TestJ11WarningsOfARecord(t *testing.T) {
	var codes []fsm.Warning
	for i := range maxOwnWarnings + 3 {
		codes = withWarning(codes, fsm.Warning("X_"+string(rune('A'+i%26))+string(rune('A'+i/26))))
	}
	require.True(t, codes[0].Own())
	require.Len(t, codes, maxOwnWarnings)
	for range 2 {
		codes = withWarning(codes, fsm.WarnTurnRepeated)
	}
	require.Len(t, codes, maxOwnWarnings+1)
	require.Len(t, withWarning(nil, fsm.WarnTurnRepeated), 1)
}

// J11: the first diagnostics of an outcome are kept, and one more reports that the rest was
// dropped. A code that is not declared is in the detail.
func TestJ11DiagnosticsOfAnOutcome(t *testing.T) {
	require.Nil(t, declaredWarnings(nil))
	for given, want := range map[int]int{1: 1, maxDiagnostics: maxDiagnostics, maxDiagnostics + 1: maxDiagnostics + 1} {
		all := declaredWarnings(make([]interaction.Diagnostic, given))
		require.Len(t, all, want)
		require.Equal(t, given > maxDiagnostics, all[want-1].Code == fsm.WarnEngineOutputTruncated)
	}
	for code, want := range map[fsm.Warning]string{"": "why", "ODD": "ODD: why"} {
		require.Equal(t, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: want},
			declaredWarning(interaction.Diagnostic{Code: code, Detail: "why"}))
	}
}

// J11: reports add up, and journal entries are counted with the run.
func TestJ11ReportsAddUp(t *testing.T) {
	run := runningRun()
	run.Reported = 100
	cm, err := Report(&run, noon, nil, Message("a", nil), Message("b", nil))
	require.NoError(t, err)
	require.Equal(t, 100+EncodedSize(cm.Events), cm.Run.Reported)
	entry := engine.JournalEntry{Path: "1", Name: "step", Type: "step", Body: []byte("1")}
	cm, err = Entries(&run, []engine.JournalEntry{entry}, noon)
	require.NoError(t, err)
	require.Len(t, cm.Journal, 1)
	require.Equal(t, 1, cm.Run.Journal.Entries)
}

// J13 J1: a turn whose engine was not called counts neither towards the budget nor as an attempt.
func TestJ1J13ATurnThatHasNotBegunCountsNowhere(t *testing.T) {
	run := runningRun()
	run.Budget = &store.RunBudget{Limit: store.Budget{Turns: 3}, Used: store.Budget{Turns: 2}}
	for begun, used := range map[bool]int{true: 2, false: 1} {
		require.Equal(t, used, WithUsage(&run, &store.Usage{}, begun).Budget.Used.Turns)
	}
	for _, limit := range []int{0, 1} {
		run.MaxAttempts = limit
		cm, err := handBack(&run, "too early", noon)
		require.NoError(t, err)
		require.Equal(t, []int{0, limit}, []int{cm.Run.Repeats, cm.Run.Yielded})
	}
}

// N9: only an approval is hidden until the host's policy has decided, for the seconds that the host
// gives it.
func TestN9WhichQuestionsAreHidden(t *testing.T) {
	for subject, want := range map[*interaction.Subject]uint16{nil: 0, {Tool: "pay"}: 5} {
		run := runningRun()
		openQuestions(&run, &asking{question: &interaction.Question{Subject: subject}, hideFor: 5 * time.Second}, noon)
		require.Equal(t, want, run.Open[0].HiddenFor)
	}
}

// K2: a reply completes the rule with the last open question, with enough replies, or by a rejection.
func TestK2WhatCompletesARule(t *testing.T) {
	for name, c := range map[string]struct {
		rule          interaction.Rule
		open, replies int
		decision      interaction.Decision
		completes     bool
	}{
		"the last one":    {interaction.Rule{}, 1, 0, "", true},
		"another is open": {interaction.Rule{}, 2, 1, interaction.Reject, false},
		"enough":          {interaction.Rule{Answers: 2}, 2, 1, "", true},
		"one too few":     {interaction.Rule{Answers: 2}, 3, 0, "", false},
		"a rejection":     {interaction.Rule{StopOnReject: true}, 3, 0, interaction.Reject, true},
		"no rejection":    {interaction.Rule{StopOnReject: true}, 3, 0, interaction.Approve, false},
	} {
		run := store.Run{Open: make([]interaction.Question, c.open),
			Together: &store.Together{Asked: 3, Replies: c.replies, Rule: c.rule}}
		require.Equal(t, c.completes, completesRule(&run, c.decision), name)
	}
}

// N11: if the rule of several questions is no longer stored, it is inferred from their outcome.
func TestN11TheRuleOfAnOutcome(t *testing.T) {
	reply := interaction.Record{Resolution: interaction.UserReply}
	rejected := reply
	rejected.Decision = interaction.Reject
	closed := interaction.Record{Resolution: interaction.Superseded}
	abandoned := interaction.Record{Resolution: interaction.Abandoned}
	for _, c := range []struct {
		round []interaction.Record
		want  interaction.Rule
	}{
		{[]interaction.Record{reply, rejected, abandoned}, interaction.Rule{}},
		{[]interaction.Record{reply, closed, reply, reply, abandoned}, interaction.Rule{Answers: 3}},
		{[]interaction.Record{reply, closed, rejected, reply}, interaction.Rule{StopOnReject: true}},
	} {
		require.Equal(t, c.want, ruleOfOutcome(c.round))
	}
}

// N11: the answers that a fork does not inherit.
func TestN11WhichAnswersAreWithheld(t *testing.T) {
	eve := interaction.Actor{ID: "eve"}
	for name, c := range map[string]struct {
		q    interaction.Question
		how  interaction.Resolution
		asks bool
	}{
		"anyone's":    {interaction.Question{}, interaction.UserReply, false},
		"an approval": {interaction.Question{Subject: &interaction.Subject{}}, interaction.UserReply, true},
		"of several":  {interaction.Question{Need: 2}, interaction.UserReply, true},
		"somebody else's": {interaction.Question{To: &interaction.Audience{Users: []string{"ada"}}},
			interaction.UserReply, true},
		"a closed approval": {interaction.Question{Subject: &interaction.Subject{}}, interaction.Superseded, false},
		"her own": {interaction.Question{To: &interaction.Audience{Users: []string{"eve"}}},
			interaction.UserReply, false},
	} {
		require.Equal(t, c.asks, mustAskAgain(&interaction.Record{Question: c.q, Resolution: c.how}, eve), name)
	}
	o := Origin{History: make([]interaction.Record, 2), Withheld: []int{1, 2}}
	require.Len(t, o.WithheldRecords(), 1, "an index beyond the history is passed over")
}

// J6: a refusal names its cause, if it has one.
func TestJ6ARefusalNamesItsCause(t *testing.T) {
	require.EqualError(t, cannotForkf("it runs"), "it runs")
	cause := errors.New("no option")
	err := &CannotFork{Reason: "it is refused", Err: cause}
	require.EqualError(t, err, "it is refused: no option")
	require.ErrorIs(t, err, cause)
}

// N15: code with an unusable schema fails only a turn that would ask with the schema; a turn that
// asks is successful. J5: a turn that sleeps asks nothing, and has not failed.
func TestWhatAnOutcomeCannotHave(t *testing.T) {
	unusable := engine.AskAll(engine.Question{Kind: engine.OpenText, Prompt: "?", Schema: []byte(`{"type":7}`)})
	for name, c := range map[string]struct {
		process engine.Process
		done    bool
		code    fsm.Code
	}{
		"it asks":       {engine.Process{Status: engine.OK}, false, fsm.CodeEngineFailed},
		"it is done":    {engine.Process{Status: engine.OK}, true, ""},
		"it has failed": {engine.Process{Status: engine.Failed, Code: fsm.CodeTurnTimeout}, false, fsm.CodeTurnTimeout},
	} {
		o := unusable
		o.Process, o.Done = c.process, c.done
		require.Equal(t, c.code, Read(o, &Terms{}).Process.Code, name)
	}
	asks := Read(engine.Outcome{
		Process: engine.Process{Status: engine.OK}, Questions: []engine.Question{{Prompt: "?"}},
	}, &Terms{})
	for _, fact := range []fsm.Facts{fsm.FactProcessOK, fsm.FactQuestionAsked} {
		require.True(t, asks.facts.Has(fact))
	}
	sleeps := func(change func(o *engine.Outcome)) bool {
		o := engine.Outcome{Process: engine.Process{Status: engine.OK}, Sleep: noon}
		change(&o)
		return !Read(o, &Terms{}).sleep.IsZero()
	}
	require.True(t, sleeps(func(*engine.Outcome) {}))
	require.False(t, sleeps(func(o *engine.Outcome) { o.Done = true }))
	require.False(t, sleeps(func(o *engine.Outcome) { o.Process.Status = engine.Failed }))
	require.False(t, sleeps(func(o *engine.Outcome) { o.Questions = []engine.Question{{Prompt: "?"}} }))
}

// B1: the end of a turn's process replaces an earlier end, and no other fact. M1: journal entries
// that cannot be stored fail the turn; entries of an interrupted turn are not stored.
func TestB1M1EvidenceThatIsAddedLater(t *testing.T) {
	ev := Evidence{facts: fsm.FactDoneMarker, sleep: noon}
	for _, status := range []engine.Status{engine.OK, engine.Failed} {
		ev.SetProcess(engine.Process{Status: status})
		require.Equal(t, []bool{true, status == engine.OK}, []bool{ev.facts.Has(fsm.FactDoneMarker),
			ev.facts.Has(fsm.FactProcessOK)})
	}
	ev.SetProcess(engine.Process{Status: engine.OK})
	ev.AddJournal(nil, nil)
	entries := []engine.JournalEntry{{Path: "1", Name: "step", Type: "step", Body: []byte("1")}}
	ev.AddJournal(entries, nil)
	require.Equal(t, entries, ev.FinalEntries())
	ev.AddJournal(nil, nil)
	require.Len(t, ev.FinalEntries(), 1)
	require.Equal(t, engine.OK, ev.Process.Status)
	ev.AddJournal(make([]engine.JournalEntry, 1), nil)
	require.Equal(t, engine.Failed, ev.Process.Status)
	require.True(t, ev.sleep.IsZero())
	ev.Interrupt(engine.ErrShutdown)
	require.Empty(t, ev.FinalEntries())
}

// B3: the reasons for a missing output.
func TestB3AMissingOutput(t *testing.T) {
	s, err := schema.Cached([]byte(`{"type":"object"}`))
	require.NoError(t, err)
	require.ErrorContains(t, Dialect{Plain: true}.validateOutput(s, interaction.Reading{}), "returned no output")
	require.ErrorContains(t, Dialect{}.validateOutput(s, interaction.Reading{}), "no JSON output")
	require.NoError(t, Dialect{Plain: true}.validateOutput(s, interaction.Reading{Output: []byte(`{}`)}))
}

// M3: a run waits for at most as many children as it may have, and only for children that it has
// started.
func TestM3AWaitForChildrenThatWereNotStarted(t *testing.T) {
	for name, c := range map[string]struct {
		family *store.Family
		awaits int
		state  fsm.State
	}{
		"it has no family":   {nil, 1, fsm.StateFailed},
		"it has started one": {&store.Family{Children: 1}, 1, fsm.StateQueued},
		"it has no child":    {&store.Family{}, 1, fsm.StateFailed},
		"too many":           {&store.Family{Children: 1}, store.MaxChildren + 1, fsm.StateFailed},
	} {
		run := runningRun()
		run.Family = c.family
		cm, err := Turn(&run, &Evidence{children: make([]string, c.awaits)}, "n", noon)
		require.NoError(t, err)
		require.Equal(t, c.state, cm.Run.State, name)
	}
	run := runningRun()
	for want := range 3 {
		cm, err := CountChild(&run, noon)
		require.NoError(t, err)
		run = cm.Run
		require.Equal(t, want+1, run.Family.Children)
	}
}

// J5: the failures that an operator can repair. J3: the repeat policy of the host has the same
// effect as the run's policy.
func TestJ3J5ThePolicyOfTheHost(t *testing.T) {
	for _, p := range []engine.Process{{Transient: true}, {Repairable: true}, {Code: fsm.CodeWorkspaceMissing}, {}} {
		ev := Evidence{Process: p, host: HostDefaults{Hold: store.HoldOn}}
		require.Equal(t, p != engine.Process{}, ev.reasonToHold(&store.Run{}) != nil, p)
	}
	for policy, state := range map[store.OnInterrupt]fsm.State{store.InterruptRepeat: fsm.StateQueued,
		store.InterruptFail: fsm.StateFailed} {
		run := runningRun()
		cm, err := Orphan(&run, &OrphanEvidence{At: noon}, HostDefaults{OnInterrupt: policy})
		require.NoError(t, err)
		require.Equal(t, state, cm.Run.State)
	}
}

// K5: a claimant answers under the name of the claim, and a reply by one person is no vote.
func TestK5AReplyOfAClaimant(t *testing.T) {
	run := parked()
	run.Open[0].Claim = &interaction.Claim{Actor: "Ada", Until: noon.Add(time.Hour)}
	ada := interaction.Actor{ID: "ada", Fold: strings.ToLower}
	cm, err := Reply(&run, interaction.Reply{ID: 1, Text: "yes", Actor: ada}, noon)
	require.NoError(t, err)
	require.Equal(t, "Ada", cm.Run.Answers[0].Actor)
	require.Zero(t, cm.Run.Votes)
}

// N3 J2: members of events that are derived from a record.
func TestMembersOfEvents(t *testing.T) {
	run := runningRun()
	for i, value := range []string{"yes", "no"} {
		other := []string{"no", "yes"}[i]
		asked := inputRequired(&run, &interaction.Question{Kind: interaction.Confirm, Only: true,
			Options: []interaction.Option{{Label: "A", Value: value}, {Label: "B", Value: other}}})
		require.Equal(t, "yes", asked.YesValue)
	}
	unclear := interaction.Question{Kind: interaction.ChooseOne, Only: true,
		Options: []interaction.Option{{Label: "A", Value: "a"}}}
	require.Empty(t, inputRequired(&run, &unclear).YesValue)
	run.Repeats = 2
	for kind, retry := range map[store.BlockKind]int{store.BlockSleep: 0, store.BlockRetry: 2} {
		run.Block = &store.Block{Kind: kind}
		require.Equal(t, retry, yielded(&run).Retry, kind)
	}
	run.Block = nil
	ev := Evidence{warnings: make([]interaction.Diagnostic, 10)}
	for i := range ev.warnings {
		ev.warnings[i].Code = fsm.WarnEngineDiagnostic
	}
	cm, err := Turn(&run, &ev, "n", noon)
	require.NoError(t, err)
	require.Len(t, cm.Events, 11)
}

// N9: the host's policy decides a question that is still hidden, or leaves it to people.
func TestN9WhatARulingDoes(t *testing.T) {
	run := parked()
	run.Open[0].Kind, run.Open[0].Subject = interaction.Approval, &interaction.Subject{Tool: "pay"}
	approves := interaction.Ruling{Rule: "small", Decision: interaction.Approve}
	for _, number := range []int{1, 9} {
		_, err := Ruling(&run, number, approves, noon)
		require.ErrorIs(t, err, ErrNoPolicy)
	}
	run.Open[0].HiddenFor = 5
	cm, err := Ruling(&run, 1, approves, noon)
	require.NoError(t, err)
	require.Equal(t, fsm.StateQueued, cm.Run.State)
	_, err = Ruling(&run, 1, interaction.Ruling{Rule: "small", Decision: interaction.Edit}, noon)
	require.Error(t, err)
	ada := &interaction.Audience{Users: []string{"ada"}}
	for _, to := range []*interaction.Audience{nil, ada} {
		cm, err = Ruling(&run, 1, interaction.Ruling{Rule: "small", To: to}, noon)
		require.NoError(t, err)
		require.Equal(t, to, cm.Run.Open[0].To)
		require.Zero(t, cm.Run.Open[0].HiddenFor)
	}
	run.Open[0].To = ada
	_, err = Ruling(&run, 1, interaction.Ruling{Rule: "small", Need: 2}, noon)
	require.Error(t, err)
}

// J14: if a run may have only one loss, this loss is stored, because the run is then a suspect.
func TestJ14TheOnlyLossIsStored(t *testing.T) {
	run := runningRun()
	run.Repeatable, run.MaxRepeats = true, 1
	cm, err := Orphan(&run, &OrphanEvidence{At: noon}, HostDefaults{})
	require.NoError(t, err)
	require.Equal(t, 1, cm.Run.Losses)
}

// E2 I4 J5: an orphan is held only while it waits with a session that the engine refuses.
func TestJ5WhichOrphansAreHeld(t *testing.T) {
	session := &interaction.SessionHandle{Engine: "agent", Data: []byte("s")}
	for name, c := range map[string]struct {
		state   fsm.State
		session *interaction.SessionHandle
		held    bool
	}{
		"a wait":                   {fsm.StateWaitingUser, session, true},
		"a wait without a session": {fsm.StateWaitingUser, nil, false},
		"a queued run":             {fsm.StateQueued, session, false},
	} {
		run := parked()
		run.State, run.Profile, run.Session = c.state, fsm.ProfileResumable, c.session
		cm, err := Orphan(&run, &OrphanEvidence{At: noon, SessionFault: "refused"}, HostDefaults{Hold: store.HoldOn})
		require.NoError(t, err, name)
		require.Equal(t, []bool{c.held, !c.held}, []bool{cm.Run.Held(), cm.Run.State == fsm.StateFailed}, name)
	}
}

// B1 J1: the interruption of a turn decides, whatever its outcome would have led to.
func TestB1J1AnInterruptionOverrulesTheOutcome(t *testing.T) {
	for name, outcome := range map[string]Evidence{
		"asks again": {asksAgain: true, question: &interaction.Question{}},
		"waits":      {children: []string{"c"}},
		"sleeps":     {sleep: noon.Add(time.Hour)},
		"has failed": {Process: engine.Process{Status: engine.Failed, Transient: true}, retry: &store.Retry{Max: 9}},
		"is held":    {Process: engine.Process{Status: engine.Failed, Held: true}},
		"lost agent": {Process: engine.Process{Status: engine.Interrupted}},
		"is done":    {facts: fsm.FactDoneMarker},
	} {
		for cause, code := range map[error]fsm.Code{
			engine.ErrTurnTimeout: fsm.CodeTurnTimeout, engine.ErrShutdown: "",
		} {
			run, ev := runningRun(), outcome
			run.Family = &store.Family{Children: 1}
			ev.Begun, ev.host = true, HostDefaults{OnInterrupt: store.InterruptRepeat, Hold: store.HoldOn}
			ev.Interrupt(cause)
			cm, err := Turn(&run, &ev, "n", noon)
			require.NoError(t, err, name)
			require.Nil(t, cm.Run.Block, name)
			if code == "" {
				require.Equal(t, fsm.StateQueued, cm.Run.State, name)
				continue
			}
			require.Equal(t, code, cm.Run.Error.Code, name)
		}
	}
}
