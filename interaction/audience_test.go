package interaction_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// K5: who is named, or belongs to a group that is named, may answer; who is excepted may not.
func TestK5AudienceAdmits(t *testing.T) {
	type a = interaction.Audience
	ada := interaction.Actor{ID: "ada", Groups: []string{"finance", "staff"}}
	for name, tc := range map[string]struct {
		to     *a
		actor  interaction.Actor
		admits bool
	}{
		"nobody is named":              {nil, interaction.Actor{}, true},
		"an empty list opens nothing":  {&a{}, ada, false},
		"everybody":                    {&a{Everybody: true}, ada, true},
		"everybody but one":            {&a{Everybody: true, Except: []string{"ada"}}, ada, false},
		"everybody but another":        {&a{Everybody: true, Except: []string{"bob"}}, ada, true},
		"by name":                      {&a{Users: []string{"bob", "ada"}}, ada, true},
		"another's name":               {&a{Users: []string{"bob"}}, ada, false},
		"by group":                     {&a{Groups: []string{"finance"}}, ada, true},
		"another group":                {&a{Groups: []string{"sales"}}, ada, false},
		"a group is no user":           {&a{Groups: []string{"ada"}}, ada, false},
		"a user is no group":           {&a{Users: []string{"finance"}}, ada, false},
		"of the group, but excepted":   {&a{Groups: []string{"finance"}, Except: []string{"ada"}}, ada, false},
		"named, but excepted":          {&a{Users: []string{"ada"}, Except: []string{"ada"}}, ada, false},
		"who does not say who it is":   {&a{Everybody: true}, interaction.Actor{Groups: []string{"finance"}}, false},
		"of the group, without a name": {&a{Groups: []string{"finance"}}, interaction.Actor{Groups: ada.Groups}, false},
	} {
		require.Equal(t, tc.admits, tc.to.Admits(tc.actor), name)
		reply := interaction.Reply{ID: 1, Text: "yes", Actor: tc.actor}
		err := reply.ValidateFor(interaction.Question{ID: 1, To: tc.to})
		if tc.admits {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, interaction.ErrNotAsked, name)
		var refused *interaction.NotAskedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, *tc.to, refused.To)
	}
}

// K5: the refusal says who may answer.
func TestK5AudienceInWords(t *testing.T) {
	for want, to := range map[string]*interaction.Audience{
		"everybody":                            nil,
		"nobody":                               {},
		"everybody, but not ada":               {Everybody: true, Except: []string{"ada"}},
		"ada, bob and the groups x, y":         {Users: []string{"ada", "bob"}, Groups: []string{"x", "y"}},
		"the groups finance, but not ada, bob": {Groups: []string{"finance"}, Except: []string{"ada", "bob"}},
	} {
		require.Equal(t, want, to.String())
	}
}

// K5, C2: an engine that names an invalid audience opens its question to no one.
func TestK5UnusableNamesAdmitNobody(t *testing.T) {
	for _, name := range []string{"", "a\x00", "\xff", strings.Repeat("a", interaction.MaxActor+1)} {
		for _, to := range []interaction.Audience{{Users: []string{name}}, {Groups: []string{"a", name}},
			{Everybody: true, Except: []string{name}}} {
			q, odd := interaction.Normalize(interaction.Question{Kind: interaction.OpenText, Prompt: "?", To: &to})
			require.Equal(t, &interaction.Audience{}, q.To)
			require.Len(t, odd, 1)
			require.Equal(t, fsm.WarnAskUserTruncated, odd[0].Code)
		}
	}
	many := interaction.Audience{Users: strings.Split(strings.Repeat("a ", interaction.MaxAudience), " ")}
	require.ErrorContains(t, many.Validate(), "a list of 101 names")
}

// K5: the text of an agent sets no audience.
func TestK5TextOfAnAgentSetsNoPolicy(t *testing.T) {
	r := interaction.Read("<ASK_USER_YAML>\nask_user:\n  kind: open_text\n  prompt: May I?\n  to:\n    users: [me]\n"+
		"</ASK_USER_YAML>", nil)
	if r.Question != nil {
		require.Nil(t, r.Question.To)
	}
}

// K5: people are compared in one spelling; without a fold, or an audience, there is nothing to change.
func TestK5AFoldedAudience(t *testing.T) {
	a := &interaction.Audience{Users: []string{"Ada", "ada"}, Groups: []string{"Ops"}, Except: []string{"BOB"}}
	require.Equal(t, &interaction.Audience{Users: []string{"ada"}, Groups: []string{"Ops"}, Except: []string{"bob"}},
		a.Folded(strings.ToLower))
	require.Equal(t, a, a.Folded(nil))
	require.Nil(t, (*interaction.Audience)(nil).Folded(strings.ToLower))
}
