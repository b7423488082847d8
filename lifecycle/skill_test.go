package lifecycle

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle/skill"
)

// skillWith is a skill's folder with this in its runner.json.
func skillWith(members string) fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md":           {Data: []byte("---\nname: demo\n---\n\nDo it.\n")},
		"assets/runner.json": {Data: []byte(`{"id":"demo","execution_modes":["interactive"]` + members + `}`)},
	}
}

// TestASkillBecomesASpec: B7, what its folder does not say keeps the zero value, so that a person
// must reply unless it says otherwise.
func TestASkillBecomesASpec(t *testing.T) {
	labels := map[string]string{"skill": "demo"}
	for members, want := range map[string]Spec{
		``:                                       {Prompt: "Do it.", Mode: Interactive, Labels: labels},
		`,"interactive_require_user_reply":true`: {Prompt: "Do it.", Mode: Interactive, Labels: labels},
		`,"interactive_require_user_reply":false,"session_timeout_sec":90,"max_attempt":7`: {Prompt: "Do it.",
			Mode: Interactive, Labels: labels, AutoDecide: true, SessionTimeout: 90 * time.Second, MaxAttempts: 7},
	} {
		spec, err := FromSkill(skillWith(members), Interactive)
		require.NoError(t, err)
		require.Equal(t, want, spec, members)
		require.NoError(t, spec.Validate())
	}
}

func TestASkillThatCannotBeUsedSaysWhy(t *testing.T) {
	_, err := FromSkill(skillWith(``), Auto)
	require.ErrorIs(t, err, ErrInvalidSpec)
	require.EqualError(t, err,
		`lifecycle: invalid spec: Mode is "auto", want one of the skill's execution_modes ["interactive"]`)

	_, err = FromSkill(skillWith(`,"max_attempt":0`), Interactive)
	var wrong *skill.Error
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, "lifecycle: read skill: ")
	require.ErrorContains(t, err, "max_attempt")
}

// FuzzSkill: what a folder makes can be submitted, or the folder is refused with the reason.
func FuzzSkill(f *testing.F) {
	f.Add(`,"max_attempt":9223372036854775807,"session_timeout_sec":2147483648`, "Do it.", "interactive")
	f.Add(`,"engine":"vendor/agent-2"`, "Do it.", "auto")
	f.Add(`,"engine":"`+strings.Repeat("x", 64)+`"`, "Do it.", "interactive")
	f.Add(`,"id":"`+strings.Repeat("x", 128)+`"`, "\ufeff\x00", "")
	f.Fuzz(func(t *testing.T, members, instructions, mode string) {
		folder := skillWith(members)
		folder["SKILL.md"].Data = []byte(instructions)
		spec, err := FromSkill(folder, Mode(mode))
		if err == nil {
			require.NoError(t, spec.Validate())
			return
		}
		if wrong := (*skill.Error)(nil); !errors.As(err, &wrong) {
			require.ErrorIs(t, err, ErrInvalidSpec)
		}
	})
}
