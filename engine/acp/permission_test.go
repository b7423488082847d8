package acp_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// everyAgent plays a story with an agent of each profile.
func everyAgent(t *testing.T, story func(r *run)) {
	t.Helper()
	for _, can := range []string{"load", "resume", ""} {
		t.Run("can "+can, func(t *testing.T) { story(newRun(t, can, nil)) })
	}
}

// N6: the subject's changes are the diffs in a permission request's content, and the digest covers
// them. Other content, and diffs over the limit, stay in the context.
func TestN6APermissionRequestsDiffsAreShown(t *testing.T) {
	everyAgent(t, func(r *run) {
		w := removing("build")
		old := "a := 1\n"
		w.Content = []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock("why")),
			sdk.ToolDiffContent("/src/a.go", "a := 2\n", old), sdk.ToolDiffContent("/src/b.go", "new\u202e\n")}
		q := r.does(permit(w)).Questions[0]
		require.Equal(t, []interaction.Change{
			{Path: "/src/a.go", Kind: interaction.ChangeEdit, Before: "a := 1\n", After: "a := 2\n"},
			{Path: "/src/b.go", Kind: interaction.ChangeCreate, After: "new\u202e\n"},
		}, q.Subject.Changes)
		require.NotContains(t, q.Context, "newText", "a change is shown once")
		require.Contains(t, q.Context, "why")
		shown := q.Digest()
		require.Equal(t, "rm -r build: once", r.answer("once").FinalText)

		w.Content[1] = sdk.ToolDiffContent("/src/a.go", "a := 3\n", old)
		q = r.does(permit(w)).Questions[0]
		require.NotEqual(t, shown, q.Digest(), "another change is another question")

		w.Content = []sdk.ToolCallContent{sdk.ToolDiffContent("/src/a.go",
			strings.Repeat("x", interaction.MaxChangesText), old)}
		q = r.does(permit(w)).Questions[0]
		require.NotNil(t, q.Subject)
		require.Empty(t, q.Subject.Changes)
		require.Contains(t, q.Context, "/src/a.go")
	})
}

// C1, D5: a permission request becomes a question with the request's options and subject; the turn
// ends, and the run can park.
func TestPermissionRequestBecomesAQuestion(t *testing.T) {
	everyAgent(t, func(r *run) {
		w := removing("build")
		w.Late = "I was not allowed to"
		o := r.does("say I will clean up", permit(w), "done cleaned")

		require.Len(t, o.Questions, 1)
		q, odd := interaction.Normalize(o.Questions[0])
		require.Empty(t, odd)
		require.Equal(t, interaction.Approval, q.Kind)
		require.Equal(t, "execute", q.Subject.Tool)
		require.Contains(t, string(q.Subject.Arguments), "9007199254740993")
		require.Contains(t, q.Prompt, "rm -r build")
		require.Contains(t, q.Context, "execute")
		require.Contains(t, q.Context, "9007199254740993")
		require.Contains(t, q.Context, "/build")
		require.Equal(t, interaction.SafeDefault, q.DefaultPolicy)
		require.Equal(t, []interaction.Option{{Label: "Allow once", Value: "once"}, {Label: "Always allow",
			Value: "always"}, {Label: "Reject", Value: "no"}}, q.Options)
		require.Empty(t, o.FinalText, "nothing that was said before is a result")
		require.Equal(t, []string{"I will clean up"}, r.Messages())
		require.NotNil(t, o.Session, "B11")
		require.LessOrEqual(t, len(o.Session.Data), engine.MaxSessionHandle)
		require.Equal(t, []string{"rm -r build: canceled"}, r.decisions())
	})
}

// C1 K4: a request whose subject cannot be shown becomes a choice; with one way to allow and one to
// reject, it becomes a risk to acknowledge.
func TestRequestWithoutASubjectIsNoApproval(t *testing.T) {
	w := removing("build")
	w.Kind = "tool\u200b" // a hidden character
	r := newRun(t, "load", nil)
	q := r.does(permit(w)).Questions[0]
	require.Equal(t, interaction.ChooseOne, q.Kind)
	require.Nil(t, q.Subject)
	w.Options = yesOrNo
	r = newRun(t, "load", nil)
	require.Equal(t, interaction.RiskAck, r.does(permit(w)).Questions[0].Kind)
	require.Equal(t, "rm -r build: ok", r.answer("Yes").FinalText)
}

// K4: approve and reject choose the option that holds once; respond chooses none, and the agent
// receives the reason. The decision applies only to its subject. The protocol cannot pass other
// arguments, so they cannot be edited.
func TestDecisionsAboutAPermission(t *testing.T) {
	everyAgent(t, func(r *run) {
		decide := func(q interaction.Question, reply interaction.Reply) engine.Outcome {
			r.Helper()
			q.ID, reply.ID = r.turn.Attempt, r.turn.Attempt
			require.NoError(r, reply.ValidateFor(q))
			r.turn.Answers = []interaction.Answer{reply.AnswerTo(&q, time.Now())}
			o, err := r.repeatTurn(r.Context())
			require.NoError(r, err)
			return o
		}
		q := r.does(permit(removing("a"))).Questions[0]
		require.ErrorIs(r, interaction.Reply{ID: 1, Decision: interaction.Edit, Value: json.RawMessage(`{}`)}.ValidateFor(q),
			interaction.ErrInvalidReply)
		o := decide(q, interaction.Reply{Decision: interaction.Approve, Seen: q.Digest()})
		require.Equal(r, "rm -r a: once", o.FinalText)

		q = r.does(permit(removing("b"))).Questions[0]
		o = decide(q, interaction.Reply{Decision: interaction.Reject, Text: "b is needed"})
		require.Equal(r, "rm -r b: no", o.FinalText)
		require.Contains(r, r.transcript(r.turn.Attempt), "b is needed")

		q = r.does(permit(removing("c"))).Questions[0]
		decide(q, interaction.Reply{Decision: interaction.Respond, Text: "ask in May"})
		require.Contains(r, r.transcript(r.turn.Attempt), "ask in May")

		q = r.does(permit(removing("d"))).Questions[0]
		q.Prompt = "Something else?"
		decide(q, interaction.Reply{Decision: interaction.Approve})
		require.Contains(r, r.transcript(r.turn.Attempt), "What was decided is not what you asked for")
	})
}

// K1 K4: an agent asks for three permissions at once, and all are asked. Each decision applies only
// to its subject, even if the agent repeats the requests in another order and the answers come in
// any order. Undecided and changed requests are not allowed.
func TestK4PermissionsAskedForTogether(t *testing.T) {
	for can, reversed := range map[string]bool{"load": false, "": true} {
		gathering(t, can, func(can string) bool { return decideTogether(newRun(t, can, nil), reversed) })
	}
}

func decideTogether(r *run, reversed bool) (inTime bool) {
	r.Helper()
	o := r.does(together(removing("a"), removing("b"), removing("c")), "final done")
	if gathered(r.transcript(1)) < 3 {
		return false
	}
	require.Len(r, o.Questions, 3)
	answers := make(map[string]interaction.Answer)
	var all []interaction.Answer
	for i, q := range o.Questions {
		q.ID = i + 1
		require.NotEmpty(r, q.Ref)
		reply := interaction.Reply{ID: q.ID, Seen: q.Digest(), Decision: interaction.Approve}
		if q.Subject.Title == "rm -r b" {
			reply.Decision, reply.Text = interaction.Reject, "b is needed"
		}
		require.NoError(r, reply.ValidateFor(q))
		answers[q.Subject.Title] = reply.AnswerTo(&q, time.Now())
		all = append(all, answers[q.Subject.Title])
	}
	c := answers["rm -r c"]
	for i := range all {
		if all[i].ID == c.ID {
			all[i] = interaction.Answer{ID: c.ID, Ref: c.Ref, Resolution: interaction.Superseded}
		}
	}
	if reversed {
		slices.Reverse(all)
	}
	r.turn.Answers = all
	o, err := r.repeatTurn(r.Context())
	require.NoError(r, err)
	if gathered(r.transcript(2)) < 3 {
		return false
	}
	require.Len(r, o.Questions, 1, "what nobody has decided is asked about again")
	require.Equal(r, "rm -r c", o.Questions[0].Subject.Title)
	require.ElementsMatch(r, []string{"rm -r a: canceled", "rm -r b: canceled", "rm -r c: canceled",
		"rm -r a: once", "rm -r b: no", "rm -r c: canceled"}, r.decisions())
	require.Contains(r, r.transcript(2), "b is needed")
	require.Contains(r, r.transcript(2), "Nobody has decided.")
	return true
}

// K1 K4: answers with swapped Refs permit nothing.
func TestK4AnswerOfAnotherPermissionIsRefused(t *testing.T) {
	gathering(t, "load", func(can string) bool {
		r := newRun(t, can, nil)
		o := r.does(together(removing("a"), removing("b")))
		if gathered(r.transcript(1)) < 2 {
			return false
		}
		require.Len(t, o.Questions, 2)
		r.turn.Answers = nil
		for i, q := range o.Questions {
			q.ID = i + 1
			a := interaction.Reply{ID: q.ID, Decision: interaction.Approve}.AnswerTo(&q, time.Now())
			a.Ref = o.Questions[1-i].Ref
			r.turn.Answers = append(r.turn.Answers, a)
		}
		o, err := r.repeatTurn(t.Context())
		require.NoError(t, err)
		require.NotContains(t, strings.Join(r.decisions(), " "), "once")
		if gathered(r.transcript(2)) < 2 {
			return false
		}
		require.Len(t, o.Questions, 2)
		return true
	})
}

// K1: two equal requests at once become one question, since their repetitions cannot be
// distinguished; the decision is used once.
func TestK1EqualPermissionsAreAskedForOneAfterTheOther(t *testing.T) {
	r := newRun(t, "load,together=300ms", nil)
	require.Len(t, r.does(together(removing("a"), removing("a"))).Questions, 1)
	require.Len(t, r.answer("once").Questions, 1)
	require.Equal(t, 1, strings.Count(strings.Join(r.decisions(), " "), "once"))
}

// C3: a free-text answer selects an option by value, label or number.
func TestDecisionIsAppliedToTheSameRequest(t *testing.T) {
	everyAgent(t, func(r *run) {
		for i, text := range []string{"once", " allow ONCE ", "1"} {
			name := "folder-" + text
			require.Len(t, r.does(permit(removing(name))).Questions, 1, "a new subject is asked")
			o := r.answer(text)
			require.Empty(t, o.Questions)
			require.Equal(t, "rm -r "+name+": once", o.FinalText)
			require.Len(t, r.decisions(), 2*(i+1))
		}
	})
}

// C3, K4: the choice is the one that the person saw. Ids that look like numbers of the list are not
// offered; an answer that matches two options decides nothing.
func TestNumberInAnAnswerMeansThePlaceInTheList(t *testing.T) {
	for name, tc := range map[string]struct {
		options  []sdk.PermissionOption
		answer   string
		decision string // empty: none
	}{
		"a number is the place in the list": {[]sdk.PermissionOption{option("2", "Reject", "reject_once"),
			option("1", "Allow", "allow_once")}, "1", "2"},
		"ids from zero": {[]sdk.PermissionOption{option("0", "Reject", "reject_once"),
			option("1", "Allow", "allow_once")}, "1", "0"},
		"what is offered instead": {[]sdk.PermissionOption{option("2", "Reject", "reject_once"),
			option("1", "Allow", "allow_once")}, "option-2", "1"},
		"an id that is another's label": {[]sdk.PermissionOption{option("allow", "no", "reject_once"),
			option("no", "allow", "allow_once")}, "no", "allow"},
		"a label that is a number": {[]sdk.PermissionOption{option("a", "2", "reject_once"),
			option("b", "1", "allow_once")}, "2", ""},
		"two of one label": {[]sdk.PermissionOption{option("a", "Do it", "reject_once"),
			option("b", "do it", "allow_once")}, "do it", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, "load", nil)
			w := removing("build")
			w.Options = tc.options
			q := r.does(permit(w)).Questions[0]
			for i, o := range q.Options {
				for j := range q.Options {
					require.False(t, i != j && o.Value == strconv.Itoa(j+1), "%q is the number of another option",
						o.Value)
				}
			}
			o := r.answer(tc.answer)
			if tc.decision == "" {
				require.Contains(t, r.transcript(2), "It was not given")
				require.Len(t, o.Questions, 1, "asked again")
				return
			}
			require.Equal(t, "rm -r build: "+tc.decision, r.decisions()[1])
		})
	}
}

// J14: an earlier release may have offered an id that is another option's number; such an answer
// decides nothing.
func TestAmbiguousAnswerToAnEarlierReleaseDecidesNothing(t *testing.T) {
	r := newRun(t, "load", nil)
	w := removing("build")
	w.Options = []sdk.PermissionOption{option("2", "Reject", "reject_once"), option("1", "Allow", "allow_once")}
	o := r.does(permit(w))
	r.turn.Session.Data = regexp.MustCompile(`,"value":"option-\d"`).ReplaceAll(o.Session.Data, nil)
	require.NotContains(t, string(r.turn.Session.Data), "option-")
	require.Len(t, r.answer("1").Questions, 1)
	require.NotContains(t, strings.Join(r.decisions(), " "), ": 1")
}

// A rejection is applied as well, and the agent continues.
func TestRejectionIsApplied(t *testing.T) {
	r := newRun(t, "load", nil)
	r.does(permit(removing("build")), "done without it")
	o := r.answer("reject")
	require.Equal(t, []string{"rm -r build: canceled", "rm -r build: no"}, r.decisions())
	require.True(t, interaction.Read(o.FinalText, nil).Done)
	require.Contains(t, r.transcript(2), "Do not do it")
}

// An allow-once decision is used once: the same request is asked again.
func TestAllowOnceIsAppliedOnce(t *testing.T) {
	everyAgent(t, func(r *run) {
		w := removing("build")
		r.does(permit(w), permit(w))
		o := r.answer("once")
		require.Len(t, o.Questions, 1)
		require.Equal(t, []string{"rm -r build: once"}, r.Messages())
		require.Equal(t, []string{"rm -r build: canceled", "rm -r build: once", "rm -r build: canceled"}, r.decisions())
	})
}

// An allow-always decision holds for the rest of the run, in any process.
func TestAllowAlwaysHoldsForTheRun(t *testing.T) {
	everyAgent(t, func(r *run) {
		w := removing("build")
		r.does(permit(w))
		require.Empty(t, r.answer("always").Questions)
		require.Empty(t, r.does(permit(w), permit(w)).Questions)
		require.Len(t, r.does(permit(removing("src"))).Questions, 1, "but only for the same subject")
	})
}

// A permission covers only its subject: another one, however similar, is asked.
func TestOtherSubjectIsAskedAgain(t *testing.T) {
	for name, change := range map[string]func(*wanted){
		"input": func(w *wanted) {
			w.RawInput = json.RawMessage(`{"command":"rm -r build","depth":9007199254740992}`)
		},
		"title":    func(w *wanted) { w.Title = "rm -r build " },
		"kind":     func(w *wanted) { w.Kind = "delete" },
		"location": func(w *wanted) { w.Path = "/" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, "load", nil)
			w, other := removing("build"), removing("build")
			w.RawInput, other.RawInput = json.RawMessage(`{"command":"rm -r build","depth":9007199254740993}`),
				json.RawMessage(`{"command":"rm -r build","depth":9007199254740993}`)
			change(&other)
			w.Then = &other
			r.does(permit(w))
			require.Len(t, r.answer("once").Questions, 1)
			require.NotContains(t, strings.Join(r.decisions(), " "), "once")

			// The person decides on the second; the first decision covers only the first subject.
			require.Empty(t, r.answer("no").Questions)
			w.Then = nil
			require.Empty(t, r.does(permit(w)).Questions)
			require.Equal(t, w.Title+": once", r.decisions()[len(r.decisions())-1])
		})
	}
}

// Member order does not change the subject; the request may omit parts that the tool call has sent.
func TestSameSubjectInOtherJSONIsRecognized(t *testing.T) {
	r := newRun(t, "load", nil)
	w, same := removing("build"), removing("build")
	w.RawInput = json.RawMessage(`{"a":1,"b":{"c":[1,2],"d":"x"}}`)
	same.RawInput = json.RawMessage(`{"b": {"d":"x", "c":[1,2]}, "a":1}`)
	same.Announce = true
	w.Then = &same
	r.does(permit(w))
	require.Empty(t, r.answer("once").Questions)
	require.Equal(t, "rm -r build: once", r.decisions()[1])
}

// An option with the same id but another kind is not the person's choice.
func TestOptionOfAnotherKindIsNotChosen(t *testing.T) {
	r := newRun(t, "load", nil)
	w, trick := removing("build"), removing("build")
	trick.Options = threeWays[1:]
	trick.Options = append(trick.Options[:0:0], option("no", "Reject", "allow_always"), option("once", "Allow once",
		"reject_once"))
	w.Then = &trick
	r.does(permit(w))
	require.Len(t, r.answer("no").Questions, 1)
	require.NotContains(t, strings.Join(r.decisions(), " "), ": no")
}

// An empty subject is never recognized: its decision cannot be applied to another request.
func TestEmptySubjectIsNeverRecognized(t *testing.T) {
	r := newRun(t, "load", nil)
	w := wanted{Options: threeWays}
	r.does(permit(w))
	require.Len(t, r.answer("always").Questions, 1)
}

// An answer that matches no option grants nothing and is sent to the agent as text.
func TestAnswerThatIsNoOptionIsText(t *testing.T) {
	everyAgent(t, func(r *run) {
		w := removing("build")
		for _, text := range []string{"yes", "once, but only on Sundays", "4", "0", "sure"} {
			r.does(permit(w))
			o := r.answer(text + "\n" + enginetest.Script("final I see"))
			require.Empty(t, o.Questions)
			require.Equal(t, "I see", o.FinalText)
			require.Len(t, r.does(permit(w)).Questions, 1, "nothing was granted by %q", text)
			r.answer("no way\n" + enginetest.Script("final I see"))
		}
		require.NotContains(t, strings.Join(r.decisions(), " "), "once")
		require.Contains(t, r.transcript(2), "It was not given")
	})
}

// C6, D2, D4: an automatic decision permits nothing, whatever its text.
func TestAutoDecisionPermitsNothing(t *testing.T) {
	everyAgent(t, func(r *run) {
		asked := r.does(permit(removing("build"))).Questions[0]
		o := r.nobodyAnswers(asked) // the agent proposes it again
		require.Len(t, o.Questions, 1)
		r.turn.Answers[0].Text, r.turn.Answers[0].ID = "once", r.turn.Attempt
		o, err := r.repeatTurn(t.Context())
		require.NoError(t, err)
		require.Len(t, o.Questions, 1)
		require.NotContains(t, strings.Join(r.decisions(), " "), "once")
	})
}

// E4: a turn repeated after a crash grants nothing twice: decisions used before the crash stay
// used.
func TestRepeatedTurnGrantsNothingTwice(t *testing.T) {
	r := newRun(t, "load", nil)
	w := removing("build")
	r.does(permit(w), permit(w))
	before := *r.turn.Session
	require.Len(t, r.answer("once").Questions, 1, "used for the first, asked for the second")
	var used engine.SessionHandle // as stored when the decision was used, before the agent received it
	for _, h := range r.Handles() {
		if strings.Contains(string(h.Data), `"settled_by"`) {
			used = h
		}
	}
	require.NotEqual(t, before.Data, used.Data)

	r.turn.Session = &used
	r.turn.Answers[0].ID = 1 // the same answer
	o, err := r.repeatTurn(t.Context())
	require.NoError(t, err)
	require.Len(t, o.Questions, 1)
	require.Equal(t, 1, strings.Count(strings.Join(r.decisions(), "\n"), ": once"))
}

// I2: a decision is not applied unless it can be stored as used.
func TestDecisionIsStoredBeforeItIsApplied(t *testing.T) {
	r := newRun(t, "load", nil)
	w := removing("build")
	r.does("note x", permit(w))
	o, err := r.refusing("once")
	require.NoError(t, err)
	require.Equal(t, engine.Interrupted, o.Process.Status)
	require.NotContains(t, strings.Join(r.decisions(), " "), "once")
}

// H4: auto mode asks no one: actions that the host does not allow are rejected, and the turn
// continues.
func TestAutoModeAnswersPermissionRequests(t *testing.T) {
	for _, tc := range []struct {
		permission acp.Permission
		want       string
	}{{"", "rm -r build: no"}, {acp.Reject, "rm -r build: no"}, {acp.Allow, "rm -r build: once"}} {
		r := newRun(t, "load", func(c *acp.Config) { c.AutoPermission = tc.permission })
		r.turn.Mode = fsm.ModeAuto
		o := r.does(permit(removing("build")))
		require.Empty(t, o.Questions)
		require.Equal(t, tc.want, o.FinalText)
		require.Equal(t, tc.permission != acp.Allow, len(o.Diagnostics) > 0, "a refusal is worth knowing")
	}
	r := newRun(t, "load", nil)
	r.turn.Mode = fsm.ModeAuto
	w := removing("build")
	w.Options, w.Insistent = threeWays[:1], true
	require.Equal(t, "rm -r build: canceled", r.does(permit(w)).FinalText, "there is no way to reject")
}

// C1: an agent's invalid options are bounded.
func TestUnusableOptionsAreLeftOut(t *testing.T) {
	r := newRun(t, "load", nil)
	w := removing("build")
	w.Options = append(w.Options[:1:1], option("once", "twice the same", "allow_always"),
		option(strings.Repeat("x", 600), "long", "allow_once"))
	for range 50 {
		w.Options = append(w.Options, option(strings.Repeat("y", len(w.Options)), strings.Repeat("\x01é", 600),
			"reject_once"))
	}
	o := r.does(permit(w))
	require.Len(t, o.Questions[0].Options, 20)
	require.LessOrEqual(t, len(o.Session.Data), engine.MaxSessionHandle)
	w.Options, w.Insistent = nil, true
	require.Empty(t, r.answer("none\n"+enginetest.Script(permit(w))).Questions, "without options there is nothing to "+
		"ask")
}

// I6: canceling a run during a request ends its process.
func TestAgentThatDoesNotStopAfterItsRequestIsEnded(t *testing.T) {
	for _, can := range []string{"load,stubborn", "stubborn"} {
		r := newRun(t, can, nil)
		w := removing("build")
		w.Insistent = true
		o, err := r.execute(t.Context(), enginetest.Script(permit(w), "hang"))
		require.NoError(t, err)
		if can == "stubborn" {
			require.Equal(t, engine.Failed, o.Process.Status, "its process cannot go on with the session")
			require.Empty(t, o.Questions)
			continue
		}
		require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
		require.Len(t, o.Questions, 1, "another process goes on with the session")
	}
}
