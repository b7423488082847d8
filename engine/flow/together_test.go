package flow_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/interaction"
)

// M1: a place asks one to MaxQuestions questions, and its reference is bounded.
func TestM1HowMuchAPlaceMayAsk(t *testing.T) {
	asks := func(n int) func(c *flow.Ctx, _ string) (string, error) {
		return func(c *flow.Ctx, _ string) (string, error) {
			questions := make([]engine.Question, n)
			for i := range questions {
				questions[i] = ask(strconv.Itoa(i) + ",")
			}
			answers, err := flow.AskAll(c, "q", engine.Rule{}, questions...)
			text := ""
			for _, a := range answers {
				text += a.Text
			}
			return text, err
		}
	}
	for n, ok := range map[int]bool{0: false, 1: true, engine.MaxQuestions: true, engine.MaxQuestions + 1: false} {
		d := &desk{}
		o, err := d.turn(t, asks(n))
		if !ok {
			require.ErrorContains(t, err, fmt.Sprintf("%d questions at 1, want 1 to %d", n, engine.MaxQuestions))
			continue
		}
		require.NoError(t, err)
		require.Len(t, o.Questions, n)
		answers, want := answersTo(o), ""
		for _, a := range answers {
			want += a.Text
		}
		slices.Reverse(answers) // in any order
		o, err = d.turn(t, asks(n), answers...)
		require.NoError(t, err)
		require.Equal(t, want, o.FinalText)
	}

	// A reference is "flow <path> <number> <name>"; each nested branch adds to the path.
	deep := func(branches int, name string) error {
		_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
			var into func(c *flow.Ctx, left int) error
			into = func(c *flow.Ctx, left int) error {
				if left > 0 {
					return flow.All(c, func(c *flow.Ctx) error { return into(c, left-1) })
				}
				_, err := flow.Ask[string](c, name, ask("?"))
				return err
			}
			return "", into(c, branches)
		})
		return err
	}
	branches := (engine.MaxRef - len("flow 1 1 ")) / len("1.b1.")
	name := strings.Repeat("n", engine.MaxRef-len("flow 1 1 ")-branches*len("1.b1."))
	require.NoError(t, deep(branches, name))
	require.ErrorContains(t, deep(branches, name+"n"), "nested too deeply in branches")
}

// M1: the path of a step is bounded.
func TestM1HowDeepAStepMayBe(t *testing.T) {
	const branches = 102
	for before, ok := range map[int]bool{9: true, 99: false} { // the path begins with "10." or "100."
		_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
			for range before {
				if err := stepOf(1)(c); err != nil {
					return "", err
				}
			}
			into := stepOf(1)
			for range branches {
				inner := into
				into = func(c *flow.Ctx) error { return flow.All(c, inner) }
			}
			return "", into(c)
		})
		if length := len(strconv.Itoa(before+1)+".b1.") + (branches-1)*len("1.b1.") + len("1"); ok {
			require.Equal(t, engine.MaxJournalWord, length)
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "is nested too deeply in branches")
	}
}

// M1: the limit of questions that are asked together does not apply to a single one.
func TestM1ASingleQuestionMayBeLarge(t *testing.T) {
	q := ask("?")
	q.Context = strings.Repeat("<", 32<<10) // six bytes each, as JSON
	for range interaction.MaxOptions {
		q.Options = append(q.Options, engine.Option{Label: strings.Repeat("<", interaction.MaxLabel)})
	}
	o, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) { return flow.Ask[string](c, "q", q) })
	require.NoError(t, err)
	body, err := json.Marshal(o.Questions[0])
	require.NoError(t, err)
	require.Greater(t, len(body), engine.MaxTogether)
}

// M1: branches' questions are asked together in the branches' order, up to the maximum; those that
// do not fit, have a rule, or come with one that has, are asked in a later turn.
func TestM1WhichQuestionsAreAskedTogether(t *testing.T) {
	rule, most := engine.Rule{Answers: 1}, engine.MaxQuestions
	type place struct {
		questions int
		rule      engine.Rule
		large     bool
	}
	for name, test := range map[string]struct {
		places []place
		asked  []string // for each turn the places, with the number of their questions
	}{
		"all fit":       {[]place{{questions: 2}, {questions: most - 3}, {questions: 1}}, []string{"012"}},
		"one too many":  {[]place{{questions: 2}, {questions: most - 1}, {questions: 1}}, []string{"02", "1"}},
		"the first has": {[]place{{2, rule, false}, {questions: 1}, {questions: 1}}, []string{"0", "12"}},
		"another has":   {[]place{{questions: 1}, {2, rule, false}, {questions: 1}}, []string{"02", "1"}},
		"two have":      {[]place{{2, rule, false}, {2, rule, false}}, []string{"0", "1"}},
		"too large": {[]place{{questions: 5, large: true}, {questions: 4, large: true}, {questions: 1, large: true}},
			[]string{"02", "1"}},
		"too large together": {slices.Repeat([]place{{questions: 3, large: true}}, 3), []string{"01", "2"}},
		"eleven places":      {slices.Repeat([]place{{questions: 1}}, 11), []string{"012345678910"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := func(c *flow.Ctx, _ string) (string, error) {
				var branches []func(c *flow.Ctx) error
				for i, p := range test.places {
					branches = append(branches, func(c *flow.Ctx) error {
						q := ask(strconv.Itoa(i))
						if p.large {
							q.Context = strings.Repeat("x", 32<<10)
						}
						_, err := flow.AskAll(c, "q", p.rule, slices.Repeat([]engine.Question{q}, p.questions)...)
						return err
					})
				}
				return "done", flow.All(c, branches...)
			}
			d, o := &desk{}, engine.Outcome{}
			var asked []string
			for !o.Done {
				var err error
				o, err = d.turn(t, f, answersTo(o)...)
				require.NoError(t, err)
				var prompts []string
				for _, q := range o.Questions {
					prompts = append(prompts, q.Prompt)
				}
				if !o.Done {
					asked = append(asked, strings.Join(slices.Compact(prompts), ""))
				}
			}
			require.Equal(t, test.asked, asked)
		})
	}
}

// M1: an answer that no function of the run asked for holds it.
func TestM1AnAnswerThatNoFunctionAskedFor(t *testing.T) {
	asks := func(c *flow.Ctx, _ string) (string, error) { return flow.Ask[string](c, "q", ask("?")) }
	for _, ref := range []string{"", "flow", "flow 1 0", "flow 1 x q", "mine 1 0 q"} {
		_, err := new(desk).turn(t, asks, engine.Answer{ID: 7, Ref: ref})
		require.ErrorContains(t, err, "the run has an answer to question 7, which this function did not ask")
	}
}

// M1: a branch ended by runtime.Goexit or a panic fails; a branch's error that is not final ends
// the turn.
func TestM1HowBranchesEnd(t *testing.T) {
	turn := func(branch func(c *flow.Ctx) error) error {
		_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
			return "", flow.All(c, func(*flow.Ctx) error { return nil }, branch)
		})
		return err
	}
	require.ErrorContains(t, turn(func(*flow.Ctx) error { runtime.Goexit(); return nil }), "ended by runtime.Goexit")
	require.ErrorContains(t, turn(func(*flow.Ctx) error { panic("oh") }), "panic: oh")
	var f *engine.Failure
	require.ErrorAs(t, turn(func(*flow.Ctx) error { return engine.Later(time.Hour, "busy") }), &f)
	require.Equal(t, time.Hour, f.After)
	require.ErrorAs(t, turn(func(*flow.Ctx) error { return engine.Hold(engine.CodeEngineFailed, "why") }), &f)
	require.True(t, f.Held)
	require.NoError(t, turn(func(*flow.Ctx) error { return nil }))
}
