package crash

import (
	"embed"
	"io/fs"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/skill"
)

//go:embed skill
var skillFolder embed.FS

// Scenarios returns all scenarios. Together they make every call that the library makes to a store.
func Scenarios() []Scenario {
	lenient := lifecycle.Spec{AutoDecide: true, SessionTimeout: time.Second}
	strict := lifecycle.Spec{SessionTimeout: time.Second}
	again := lifecycle.Spec{Repeatable: true}
	report := skillSpec()
	mended := report
	mended.RepairRounds, mended.Repeatable = 2, true
	patient := lifecycle.Spec{Repeatable: true, Retry: &lifecycle.Retry{Max: 5, Backoff: 10 * time.Millisecond}}
	ask := lifecycle.Spec{OnInterrupt: lifecycle.Ask}
	holdable := lifecycle.Spec{Repeatable: true, Hold: lifecycle.HoldOn}
	return []Scenario{
		{Name: "idle", Doc: "A host that has nothing to do.", Upkeep: true, Renewals: true},
		{Name: "two", Doc: "A skill asks two questions, answered with keys, and gives its output.", Runs: []Plan{{
			Name: "two", Spec: with(report, again), Turn: speaks(counts("Count what?", "Really?")),
			Replies: map[int]string{1: "the chairs", 2: "yes"}, Ends: succeeded,
		}}},
		{Name: "board", Doc: "Three questions at once, two of which are answered, which is enough.", Runs: []Plan{{
			Name: "board", Spec: again, Turn: asksAll(2, "Affordable?", "Legal?", "Safe?"),
			Replies: map[int]string{1: "it is", 2: "yes"}, Ends: succeeded,
		}}},
		{Name: "voted", Doc: "An approval that two people decide.", Runs: []Plan{{
			Name: "voted", Spec: lifecycle.Spec{Repeatable: true, Ask: &lifecycle.AskPolicy{Need: 2}},
			Turn: asksApproval("deploy"), Voters: []string{"ada", "bob"}, Ends: succeeded,
		}}},
		{Name: "hands", Doc: "A question is claimed, given back, claimed by another, and put to that one alone.",
			Runs: []Plan{{
				Name: "hands", Spec: again, Turn: asks("Which one?"), Hands: true,
				Replies: map[int]string{1: "the blue one"}, Ends: succeeded,
			}}},
		{Name: "default", Doc: "Nobody answers a question: a reminder, and then its default answer.", Runs: []Plan{{
			Name: "default", Spec: waits(interaction.Wait{Then: interaction.ThenDefault,
				Steps:   []interaction.WaitStep{{Do: interaction.Remind, After: time.Second}},
				Default: &interaction.DefaultReply{Text: "the blue one"}}),
			Turn: asks("Which one?"), Ends: succeeded,
		}}},
		{Name: "escalated", Doc: "Nobody answers a question, though it is put to others, and its end fails the run.",
			Runs: []Plan{{
				Name: "escalated", Spec: waits(interaction.Wait{Then: interaction.ThenFail,
					Steps: []interaction.WaitStep{{Do: interaction.Escalate, After: time.Second,
						To: &interaction.Audience{Groups: []string{"bosses"}}}}}),
				Turn: asks("Which one?"), Ends: timedOut,
			}}},
		{Name: "once", Doc: "A question whose turns must not be repeated.", Runs: []Plan{{
			Name: "once", Turn: asks("Go on?"), Replies: map[int]string{1: "yes"}, Ends: succeeded,
			Broken: []End{interrupted},
		}}},
		{Name: "auto", Doc: "Nobody answers, and the agent decides.", Runs: []Plan{{
			Name: "auto", Spec: with(lenient, again), Turn: asks("Which one?"), Ends: succeeded,
		}}},
		{Name: "process", Doc: "A resident process, a question, a reply.", Runs: []Plan{{
			Name: "process", Sticky: true, Turn: asks("Which one?"), Replies: map[int]string{1: "the blue one"},
			Ends: succeeded, Broken: []End{interrupted, processLost},
		}}},
		{Name: "decides", Doc: "A resident process decides when nobody answers.", Runs: []Plan{{
			Name: "decides", Spec: lenient, Sticky: true, Turn: asks("Which one?"), Ends: succeeded,
			Broken: []End{interrupted, processLost},
		}}},
		{Name: "strict", Doc: "A resident process is not kept for a person who must answer and does not.",
			Runs: []Plan{{
				Name: "strict", Spec: strict, Sticky: true, Turn: asks("Which one?"), Ends: timedOut,
				Broken: []End{interrupted, processLost},
			}}},
		{Name: "loss", Doc: "A resident process dies while its run waits.", Runs: []Plan{{
			Name: "loss", Sticky: true, Turn: asks("Which one?"), Lose: Asked, Ends: processLost,
			Broken: []End{interrupted},
		}}},
		{Name: "withdrawn", Doc: "Canceled while it waits, and before it starts.", Runs: []Plan{
			{Name: "asked", Spec: again, Turn: asks("Which one?"), Cancel: Asked, Ends: canceled},
			{Name: "held", Spec: lifecycle.Spec{NotBefore: fixed}, Turn: asks(), Cancel: Queued, Ends: canceled},
		}},
		{Name: "again", Doc: "The host is shut down during a turn that may be repeated.", Runs: []Plan{{
			Name: "again", Spec: again, Turn: sticks(asks()), Later: asks(), Leave: Spoke, Ends: succeeded,
		}}},
		{Name: "shut", Doc: "The host is shut down during a turn that must not be repeated.", Runs: []Plan{{
			Name: "shut", Turn: sticks(asks()), Later: asks(), Leave: Spoke, Ends: interrupted,
			Broken: []End{succeeded},
		}}},
		{Name: "deserted", Doc: "The host is shut down while a resident process waits.", Runs: []Plan{{
			Name: "deserted", Sticky: true, Turn: asks("Which one?"), Later: asks(), Leave: Asked, Ends: processLost,
			Broken: []End{interrupted, succeeded},
		}}},
		{Name: "mended", Doc: "An output that is not valid is given again.", Runs: []Plan{{
			Name: "mended", Spec: mended, Turn: mends, Ends: succeeded,
		}}},
		{Name: "busy", Doc: "A model is overloaded, and then the turn is held until somebody resumes it.",
			Runs: []Plan{{
				Name: "busy", Spec: patient, Turn: troubled(asks("Which one?")),
				Replies: map[int]string{1: "the green one"}, Resume: lifecycle.ChoiceRepeat, Ends: succeeded,
			}}},
		{Name: "unpaid", Doc: "A turn is held, and somebody gives the run up.", Runs: []Plan{{
			Name: "unpaid", Spec: again, Turn: unpaid, Resume: lifecycle.ChoiceEnd, Ends: givenUp,
		}}},
		{Name: "unready", Doc: "The host is shut down before it calls the engine of a turn.", Runs: []Plan{{
			Name: "unready", Spec: ask, Unready: true, Turn: asks(), Leave: Claimed, Resume: lifecycle.ChoiceRepeat,
			Ends: succeeded,
		}}},
		{Name: "ask", Doc: "The host is shut down during a turn, and somebody decides that it is repeated.",
			Runs: []Plan{{
				Name: "ask", Spec: ask, Turn: sticks(asks()), Later: asks(), Leave: Spoke,
				Resume: lifecycle.ChoiceRepeat, Ends: succeeded,
			}}},
		{Name: "renewed", Doc: "A turn that takes longer than a lease is renewed, and canceled then.", Renewals: true,
			Runs: []Plan{{
				Name: "renewed", Spec: again, Turn: sticks(asks()), Renewed: Spoke, Cancel: Spoke, Ends: canceled,
				Broken: []End{succeeded},
			}}},
		{Name: "pruned", Doc: "A run is deleted when it has ended.", Runs: []Plan{{
			Name: "pruned", Spec: again, Turn: asks(), Prune: true, Ends: succeeded,
		}}},
		{Name: "forked", Doc: "A run that has ended is forked from its question, with another answer.", Runs: []Plan{
			{Name: "source", Spec: again, Turn: asks("Which one?"), Replies: map[int]string{1: "the blue one"},
				Ends: succeeded},
			{Name: "fork", Fork: &Fork{"source", "the red one"}, Spec: again, Turn: asksUntil("yes", "Really?"),
				Replies: map[int]string{1: "yes"}, Ends: succeeded},
		}},
		{Name: "fed", Doc: "A reader acknowledges all that happens.", Feed: true, Runs: []Plan{{
			Name: "fed", Spec: again, Turn: asks(), Ends: succeeded,
		}}},
		{Name: "orphans", Doc: "A host finds what another left.", Orphans: true, Runs: []Plan{
			{Name: "lost", Turn: sticks(asks()), Place: Spoke, Ends: interrupted},
			{Name: "repeated", Spec: again, Turn: sticks(asks()), Place: Spoke, Ends: succeeded},
			{Name: "parked", Spec: again, Turn: asks("Which one?"), Place: Asked, Replies: map[int]string{1: "both"},
				Ends: succeeded},
			{Name: "refused", Spec: holdable, Refused: true, Turn: asks("Which one?"), Place: Asked,
				Replies: map[int]string{1: "none"}, Resume: lifecycle.ChoiceRepeat, Ends: succeeded},
			{Name: "bereft", Sticky: true, Turn: asks("Which one?"), Place: Asked, Ends: processLost},
		}},
	}
}

// with returns the spec s, repeatable if again is.
func with(s, again lifecycle.Spec) lifecycle.Spec {
	s.Repeatable = again.Repeatable
	return s
}

// waits is a spec whose questions have a wait (K7) of two seconds.
func waits(w interaction.Wait) lifecycle.Spec {
	w.End = 2 * time.Second
	return lifecycle.Spec{Repeatable: true, Ask: &lifecycle.AskPolicy{Wait: &w}}
}

func skillSpec() lifecycle.Spec {
	folder, err := fs.Sub(skillFolder, "skill")
	if err != nil {
		panic(err) // the folder is embedded
	}
	spec, err := skill.Spec(folder, lifecycle.Interactive)
	if err != nil {
		panic(err)
	}
	return spec
}
