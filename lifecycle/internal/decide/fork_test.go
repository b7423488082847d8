package decide

import (
	"testing"

	"github.com/stretchr/testify/require"

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
