package decide

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// J6: the session from which a fork continues, its run, and whether it is still in use. A record's
// session takes precedence over the run's, and a fork that never had a turn passes on its
// inheritance. Data sent along with a reply is not inherited.
func TestJ6WhatAForkInherits(t *testing.T) {
	session := func(data string) *interaction.SessionHandle {
		return &interaction.SessionHandle{Engine: "agent", Data: []byte(data)}
	}
	ended := store.Run{ID: "r", State: fsm.StateFailed, Attempt: 2, Profile: fsm.ProfileResumable,
		Session: session("run")}
	of := func(records ...interaction.Record) []interaction.Record { return records }
	goOn := ForkAt{Answer: &interaction.Reply{Text: "go on"}}
	change := func(r store.Run, with func(r *store.Run)) store.Run {
		with(&r)
		return r
	}
	asksAgain := func(questions int) func(r *store.Run) {
		return func(r *store.Run) {
			r.Session, r.ForkedFrom = nil, &store.ForkPoint{RunID: "before", AsksAgain: questions}
		}
	}
	record := interaction.Record{
		Question: interaction.Question{ID: 1, Attempt: 2}, Resolution: interaction.UserReply, Response: "yes",
		Key: "k", Digest: "d",
	}
	own := record
	own.Session = session("own")
	earlier := &Origin{RunID: "before", CreatedAt: noon, WorkDir: "/before", Session: session("before")}
	for name, c := range map[string]struct {
		source ForkSource
		at     ForkAt
		run    string // empty: refused
		data   string
		atRest bool
	}{
		"a question, and no turn since": {ForkSource{Run: ended, Settled: of(record)}, ForkAt{Question: 1}, "r",
			"run", true},
		"its record has the session": {ForkSource{Run: ended, Settled: of(own)}, ForkAt{Question: 1}, "r", "own",
			true},
		"the run goes on": {ForkSource{Run: change(ended, func(r *store.Run) { r.State = fsm.StateQueued }),
			Settled: of(own)}, ForkAt{Question: 1}, "r", "own", false},
		"a turn since": {ForkSource{Run: change(ended, func(r *store.Run) { r.Attempt = 3 }), Settled: of(own)},
			ForkAt{Question: 1}, "r", "own", false},
		"the end": {ForkSource{Run: ended, Settled: of(own)}, ForkAt{}, "r", "run", true},
		"the end of a sticky run": {ForkSource{Run: change(ended, func(r *store.Run) {
			r.Profile = fsm.ProfileStickyProcess
		}), Settled: of(own)}, ForkAt{}, "", "", false},
		"a fork that has not branched": {ForkSource{Run: change(ended, func(r *store.Run) { r.Session = nil }),
			From: earlier, Settled: nil}, goOn, "before", "before", false},
		"a fork without a session": {ForkSource{Run: change(ended, func(r *store.Run) { r.Session = nil }),
			From: &Origin{RunID: "before"}}, goOn, "", "", false},
		"a fork that has only asked again": {ForkSource{Run: change(ended, asksAgain(1)), From: earlier,
			Settled: of(record)}, ForkAt{Question: 1}, "before", "before", false},
		"a fork whose engine has asked": {ForkSource{Run: change(ended, asksAgain(0)), From: earlier,
			Settled: of(record)}, ForkAt{Question: 1}, "", "", false},
		"a fork without a session that has asked again": {ForkSource{Run: change(ended, asksAgain(1)),
			From: &Origin{RunID: "before"}, Settled: of(record)}, ForkAt{Question: 1}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := Fork(&c.source, &c.at, noon)
			if c.run == "" {
				var refused *CannotFork
				require.ErrorAs(t, err, &refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []any{c.run, c.data, c.atRest}, []any{o.RunID, string(o.Session.Data), o.AtRest})
			if o.RunID == earlier.RunID {
				require.Equal(t, []any{earlier.CreatedAt, earlier.WorkDir}, []any{o.CreatedAt, o.WorkDir})
			}
			for _, r := range o.History {
				require.Equal(t, []any{"", "", (*interaction.SessionHandle)(nil)}, []any{r.Key, r.Digest, r.Session})
			}
		})
	}
}

// J6: a fork takes over the answer as given to the run's own turn: an automatic decision is marked
// as such.
func TestJ6TheAnswerOfAnAutomaticDecision(t *testing.T) {
	question := interaction.Question{ID: 1, Kind: interaction.OpenText, Prompt: "?"}
	auto := interaction.NewAutoDecision(question).Answer(noon)
	record := interaction.Settle(question, auto, "", "")
	require.Equal(t, auto, record.Answer())
}

// J6: a fork from the end begins with a message, with its source's last turn, or from the start.
func TestJ6HowAForkFromTheEndBegins(t *testing.T) {
	failed := store.Run{ID: "r", State: fsm.StateFailed, Attempt: 3, Profile: fsm.ProfileResumable,
		Session: &interaction.SessionHandle{Engine: "agent", Data: []byte("s")}}
	record := func(id, attempt int, text string) interaction.Record {
		return interaction.Record{Question: interaction.Question{ID: id, Attempt: attempt},
			Resolution: interaction.UserReply, Response: text}
	}
	one := []interaction.Record{record(1, 1, "one")}
	two := []interaction.Record{record(1, 1, "one"), record(2, 2, "two"), record(3, 2, "three")}
	approval := append(slices.Clone(two[:2]), record(3, 2, "three"))
	approval[1].Question.Subject = &interaction.Subject{Tool: "pay"}
	both, rule, none := []string{"two", "three"}, interaction.Rule{Answers: 1}, interaction.Rule{}
	journal := []engine.JournalEntry{{Path: "1"}}
	history := func(records ...interaction.Record) *Origin { return &Origin{History: records, Journal: journal} }
	asks := &Origin{Asks: []interaction.Question{{ID: 1}}, Rule: rule, Journal: journal}
	message := &Origin{Answer: &interaction.Answer{Text: "next"}, Message: true, Journal: journal}
	answered, several := history(two[0]), history(two...)
	answered.Answer = &interaction.Answer{Text: "one"}
	several.Answers = make([]interaction.Answer, 2)
	together := failed
	together.Together = &store.Together{First: 2, Asked: 2, Rule: rule}
	earlier := failed
	earlier.Together = &store.Together{First: 1, Asked: 2, Rule: rule}
	for name, c := range map[string]struct {
		source  ForkSource
		answers []string // the answers that the first turn gets
		history int
		asks    int
		rule    interaction.Rule
		journal bool
	}{
		"it asked nothing":       {source: ForkSource{Run: failed, From: history()}},
		"one question":           {ForkSource{Run: failed, Settled: one}, []string{"one"}, 1, 0, none, false},
		"several":                {ForkSource{Run: failed, Settled: two}, both, 3, 0, none, false},
		"an approval":            {ForkSource{Run: together, Settled: approval}, nil, 1, 2, rule, false},
		"the rule of others":     {ForkSource{Run: earlier, Settled: approval}, nil, 1, 2, none, false},
		"one approval":           {ForkSource{Run: together, Settled: approval[1:2]}, nil, 0, 1, none, false},
		"a fork that was to ask": {ForkSource{Run: failed, From: asks}, nil, 0, 1, rule, true},
		"a fork with a message":  {ForkSource{Run: failed, From: message}, []string{"next"}, 0, 0, none, true},
		"a fork with an answer":  {ForkSource{Run: failed, From: answered}, []string{"one"}, 1, 0, none, true},
		"a fork with several":    {ForkSource{Run: failed, From: several}, both, 3, 0, none, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := Fork(&c.source, &ForkAt{}, noon)
			require.NoError(t, err)
			var answers []string
			for _, a := range o.Answers {
				answers = append(answers, a.Text)
			}
			if o.Answer != nil {
				answers = append(answers, o.Answer.Text)
			}
			require.Equal(t, c.answers, answers)
			require.Equal(t, []bool{len(answers) == 1, c.journal}, []bool{o.Answer != nil, len(o.Journal) > 0})
			require.Equal(t, []int{c.history, c.asks}, []int{len(o.History), len(o.Asks)})
			require.Equal(t, c.rule, o.Rule)
		})
	}
	answered.History, several.History = nil, two[:1]
	for _, lost := range []*Origin{answered, several} {
		_, err := Fork(&ForkSource{Run: failed, From: lost}, &ForkAt{}, noon)
		require.ErrorIs(t, err, store.ErrCorrupt, "its history lacks an answered question")
	}
	for _, answer := range []interaction.Reply{{Decision: interaction.Approve}, {Value: []byte("1")}} {
		_, err := Fork(&ForkSource{Run: failed}, &ForkAt{Answer: &answer}, noon)
		require.ErrorContains(t, err, "only a text can continue it")
	}
}

// J6 N11: the author of a fork answers one of several questions that were asked together, unless the
// fork must ask another of them again.
func TestJ6AnAnswerToOneOfSeveralQuestions(t *testing.T) {
	source := ForkSource{Run: store.Run{ID: "r", State: fsm.StateFailed, Attempt: 2, Profile: fsm.ProfileResumable,
		Session: &interaction.SessionHandle{Engine: "agent", Data: []byte("s")}}}
	for id, attempt := range []int{1, 2, 2} {
		source.Settled = append(source.Settled, interaction.Record{Question: interaction.Question{ID: id + 1,
			Attempt: attempt, Kind: interaction.OpenText}, Resolution: interaction.UserReply, Response: "stored"})
	}
	given := ForkAt{Answer: &interaction.Reply{Text: "given"}}
	for i, want := range [][]string{{"given", "stored"}, {"stored", "given"}} {
		given.Question = i + 2
		o, err := Fork(&source, &given, noon)
		require.NoError(t, err)
		require.Equal(t, want, []string{o.Answers[0].Text, o.Answers[1].Text})
		require.Len(t, o.History, 3)
	}
	approval := &source.Settled[2].Question
	approval.Kind, approval.Subject = interaction.Approval, &interaction.Subject{Tool: "pay"}
	given.Question = 2
	_, err := Fork(&source, &given, noon)
	require.ErrorContains(t, err, "question 2 was asked together with question 3, which the fork asks again")
	o, err := Fork(&source, &ForkAt{Question: 3, Answer: &interaction.Reply{Decision: interaction.Approve}}, noon)
	require.NoError(t, err)
	require.Equal(t, interaction.Approve, o.Answers[1].Decision)
}
