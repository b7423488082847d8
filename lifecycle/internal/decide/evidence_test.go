package decide

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// TestBoundedCutsBetweenCharacters: as much as fits is kept, still as UTF-8.
func TestBoundedCutsBetweenCharacters(t *testing.T) {
	text := "aé€😀" + strings.Repeat("€b", 5)
	for limit := range len(text) + 3 {
		kept, cut := bounded(text, limit)
		require.Equal(t, limit < len(text), cut, "%d bytes", limit)
		require.True(t, utf8.ValidString(kept), "%d bytes", limit)
		require.True(t, strings.HasPrefix(text, kept))
		if require.LessOrEqual(t, len(kept), limit); cut {
			_, next := utf8.DecodeRuneInString(text[len(kept):])
			require.Greater(t, len(kept)+next, limit, "the next character would not fit")
		}
	}
	kept, cut := bounded("a\xffb", 5)
	require.Equal(t, "a\uFFFDb", kept)
	require.False(t, cut)
}

// K1: a rule that asks for fewer answers than none, or for more than there are questions, asks for
// all.
func TestK1ARuleWithoutSenseAsksForAll(t *testing.T) {
	for answers, want := range map[int]int{-1: 3, 0: 3, 1: 1, 2: 2, 3: 3, 4: 3} {
		o := engine.AskAll(engine.Question{Prompt: "a"}, engine.Question{Prompt: "b"}, engine.Question{Prompt: "c"})
		o.Rule = engine.Rule{Answers: answers, StopOnReject: true}
		var ev Evidence
		ev.findQuestions(o)
		require.Len(t, ev.siblings, 2)
		require.Equal(t, want, ev.rule.Needs(3), "%d", answers)
		require.GreaterOrEqual(t, ev.rule.Answers, 0, "no store takes less")
		require.True(t, ev.rule.StopOnReject)
	}
}

// K1 J11: of several questions as many are asked as can be stored together; a warning says how many
// that are.
func TestK1QuestionsThatAreTooLargeTogether(t *testing.T) {
	sized := func(size int) engine.Question {
		q := engine.Question{Kind: engine.OpenText}
		q.Prompt = strings.Repeat("x", size-sizeOfQuestion(&q))
		return q
	}
	const quarter = interaction.MaxTogether / 4
	for name, c := range map[string]struct {
		last    int // the size of the fourth of five
		asked   int
		warning string
	}{
		"as large as they may be": {quarter, 4, "the first 4 of 5 questions have 256 KiB together, which is the " +
			"limit; the others are not asked"},
		"larger": {quarter + 1, 3, "the first 3 of 5 questions have 256 KiB together, which is the limit; " +
			"the others are not asked"},
	} {
		first := sized(quarter)
		ev := Evidence{question: &first, siblings: []engine.Question{sized(quarter), sized(quarter), sized(c.last),
			sized(1000)}}
		ev.limitQuestions()
		require.Len(t, ev.siblings, c.asked-1, name)
		surplus := interaction.Diagnostic{Code: fsm.WarnAskUserSurplus, Detail: c.warning}
		require.Equal(t, []interaction.Diagnostic{surplus}, ev.questionWarnings)
	}
	first := sized(quarter)
	ev := Evidence{question: &first, siblings: []engine.Question{sized(3 * quarter)}}
	ev.limitQuestions()
	require.Len(t, ev.siblings, 1)
	require.Empty(t, ev.questionWarnings)
}

// TestSessionHandleMustBeText: E2, the engine and the version that a handle names are stored as
// text, so each of them must be some.
func TestSessionHandleMustBeText(t *testing.T) {
	for name, h := range map[string]engine.SessionHandle{
		"engine":  {Engine: "\xff", Version: "1", Data: []byte("s")},
		"version": {Engine: "agent", Version: "\xff", Data: []byte("s")},
	} {
		kept, err := StorableSession(&h)
		require.ErrorContains(t, err, "want UTF-8", name)
		require.Nil(t, kept)
	}
}

// K5: a question without an audience from its engine has the policy of its run; an audience from
// the engine stays, but the submitter stays excepted.
func TestK5WhoMayAnswer(t *testing.T) {
	ada, bob := &interaction.Audience{Users: []string{"ada"}}, &interaction.Audience{Users: []string{"bob"}}
	but := func(to interaction.Audience, except ...string) *interaction.Audience { to.Except = except; return &to }
	for name, tc := range map[string]struct {
		ask        *interaction.AskPolicy
		named, has *interaction.Audience
	}{
		"everybody":                     {nil, nil, nil},
		"an empty policy":               {&interaction.AskPolicy{}, nil, nil},
		"the engine's":                  {nil, ada, ada},
		"the run's":                     {&interaction.AskPolicy{To: ada}, nil, ada},
		"the engine's before the run's": {&interaction.AskPolicy{To: ada}, bob, bob},
		"not the submitter": {&interaction.AskPolicy{NotSubmitter: true}, nil,
			but(interaction.Audience{Everybody: true}, "carl")},
		"neither for the engine": {&interaction.AskPolicy{NotSubmitter: true}, bob, but(*bob, "carl")},
	} {
		q := interaction.Question{To: tc.named}
		Address(tc.ask, "carl", &q)
		require.Equal(t, tc.has, q.To, name)
	}
	require.Empty(t, ada.Except, "nobody's list is changed")
}

// K7: the engine's wait takes precedence over the host's; a question with an invalid wait waits for
// a reply, and a warning says why.
func TestK7TheHostsWaitIsForQuestionsWithoutTheirOwn(t *testing.T) {
	hosts := &interaction.Wait{Then: interaction.ThenDefault, End: time.Hour,
		Default: &interaction.DefaultReply{Text: "no"}}
	policy := &interaction.AskPolicy{Wait: hosts}
	own := &interaction.Wait{Then: interaction.ThenFail, End: time.Minute}
	q := interaction.Question{ID: 1, Kind: interaction.OpenText, Prompt: "Which?", Wait: own}
	require.NoError(t, applyPolicy(policy, "", &q))
	require.Equal(t, own, q.Wait)

	q.Wait = nil
	require.NoError(t, applyPolicy(policy, "", &q))
	require.Equal(t, hosts, q.Wait)
	require.NotSame(t, hosts, q.Wait)

	approval := interaction.Question{ID: 1, Kind: interaction.Approval, Prompt: "May I?",
		Subject: &interaction.Subject{Tool: "pay"}}
	ev := &Evidence{}
	ev.addressQuestion(&Terms{Ask: policy}, &approval)
	require.Equal(t, &interaction.Wait{}, approval.Wait, "a text is no decision")
	require.Len(t, ev.questionWarnings, 1)
	require.Contains(t, ev.questionWarnings[0].Detail, "it waits without limit")
}

// K5, K7: a policy that lets everybody answer, at any time, individually, restricts nothing.
func TestK5APolicyThatBinds(t *testing.T) {
	for _, free := range []*interaction.AskPolicy{nil, {}, {Need: 1}, {Rejects: 1}, {Need: 1, Rejects: 1}} {
		require.False(t, Restricts(free), free)
	}
	for _, bound := range []*interaction.AskPolicy{{Need: 2}, {Rejects: 2}, {NotSubmitter: true},
		{Wait: &interaction.Wait{}}, {To: &interaction.Audience{}}} {
		require.True(t, Restricts(bound), bound)
	}
}
