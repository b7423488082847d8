package skill_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/skill"
)

const runner = `{"id":"demo","name":"A demo","execution_modes":["auto","interactive"],"schemas":{"output":"assets/output.schema.json"},"max_attempt":7,"session_timeout_sec":60,"interactive_require_user_reply":false,"others":{"tool":1}}`

func folder(change ...string) fstest.MapFS {
	f := fstest.MapFS{
		"SKILL.md":                  {Data: []byte("---\nname: demo\n---\n\n# Do it\nWell.\n")},
		"assets/runner.json":        {Data: []byte(runner)},
		"assets/output.schema.json": {Data: []byte(`{"type":"object"}`)},
	}
	for i := 0; i+1 < len(change); i += 2 {
		f[change[i]] = &fstest.MapFile{Data: []byte(change[i+1])}
	}
	return f
}

func TestLoadReadsWhatTheSkillFolderSays(t *testing.T) {
	s, err := skill.Load(folder())
	require.NoError(t, err)
	require.Equal(t, "demo", s.ID)
	require.Equal(t, "# Do it\nWell.", s.Instructions, "without the front matter")
	require.Equal(t, []fsm.Mode{fsm.ModeAuto, fsm.ModeInteractive}, s.Modes)
	require.JSONEq(t, `{"type":"object"}`, string(s.OutputSchema))
	require.Equal(t, 7, s.MaxAttempt, "B7: runner.json supplies max_attempt")
	require.Equal(t, 60, s.SessionTimeoutSec)
	require.False(t, *s.RequireUserReply)
}

func TestASchemaIsAlsoFoundBesideRunnerJSON(t *testing.T) {
	s, err := skill.Load(folder("assets/runner.json",
		`{"id":"demo","execution_modes":["auto"],"schemas":{"output":"output.schema.json"}}`))
	require.NoError(t, err)
	require.NotNil(t, s.OutputSchema)
	require.Zero(t, s.MaxAttempt, "B9: not declared")
	require.Nil(t, s.RequireUserReply)
}

// B7: a bad value is a clear error that names file, field, value and range.
func TestABrokenSkillSaysWhatIsWrong(t *testing.T) {
	with := func(field, value string) string {
		return `{"id":"demo","execution_modes":["auto"],"` + field + `":` + value + `}`
	}
	for name, c := range map[string]struct{ file, text, field, says string }{
		"max_attempt zero": {"assets/runner.json", with("max_attempt", "0"), "max_attempt",
			"is 0, want an integer of at least 1"},
		"max_attempt negative": {"assets/runner.json", with("max_attempt", "-3"), "max_attempt", "want an integer"},
		"max_attempt fraction": {"assets/runner.json", with("max_attempt", "1.5"), "max_attempt", "is 1.5"},
		"max_attempt text":     {"assets/runner.json", with("max_attempt", `"3"`), "max_attempt", `is "3"`},
		"max_attempt null":     {"assets/runner.json", with("max_attempt", "null"), "max_attempt", "is null"},
		"timeout zero": {"assets/runner.json", with("session_timeout_sec", "0"), "session_timeout_sec",
			"at least 1"},
		"strict as text": {"assets/runner.json", with("interactive_require_user_reply", `"yes"`),
			"interactive_require_user_reply", "true or false"},
		"no id": {"assets/runner.json", `{"execution_modes":["auto"]}`, "id", "is missing"},
		"id with a path": {"assets/runner.json", `{"id":"../x","execution_modes":["auto"]}`, "id",
			"want 1 to 128"},
		"engine too long": {"assets/runner.json", with("engine", `"`+strings.Repeat("x", 64)+`"`), "engine",
			"want 1 to 63"},
		"no modes": {"assets/runner.json", `{"id":"demo"}`, "execution_modes", "is missing"},
		"unknown mode": {"assets/runner.json", `{"id":"demo","execution_modes":["manual"]}`, "execution_modes",
			`["manual"]`},
		"schema outside": {"assets/runner.json", with("schemas", `{"output":"../../etc/passwd"}`),
			"schemas.output", "inside the skill folder"},
		"schema absolute": {"assets/runner.json", with("schemas", `{"output":"/etc/passwd"}`), "schemas.output",
			"inside the skill folder"},
		"schema missing": {"assets/runner.json", with("schemas", `{"output":"nowhere.json"}`), "",
			"cannot be read"},
		"schema does not parse": {"assets/output.schema.json", `{"type":"objekt"}`, "", "no JSON Schema"},
		"broken JSON":           {"assets/runner.json", "{\n  \"id\": demo\n}", "", "line 2, column"},
		"cut JSON":              {"assets/runner.json", `{"id":"demo"`, "", "line 1"},
		"a key twice":           {"assets/runner.json", `{"id":"demo","id":"other"}`, "", `"id" is given twice`},
		"more after the end":    {"assets/runner.json", `{"id":"demo"} {}`, "", "more after"},
		"no object":             {"assets/runner.json", `[]`, "", "want a JSON object"},
		"nested too deep": {"assets/runner.json", strings.Repeat("[", 100) + strings.Repeat("]", 100), "",
			"nested deeper"},
		"too large":             {"assets/runner.json", strings.Repeat(" ", skill.MaxRunner+1), "", "larger than"},
		"no instructions":       {"SKILL.md", "---\nname: x\n---\n", "", "no instructions"},
		"instructions no UTF-8": {"SKILL.md", "\xff\xfe", "", "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := skill.Load(folder(c.file, c.text))
			var wrong *skill.Error
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, c.field, wrong.Field)
			require.Contains(t, err.Error(), c.says)
		})
	}
	for _, missing := range []string{"SKILL.md", "assets/runner.json"} {
		f := folder()
		delete(f, missing)
		_, err := skill.Load(f)
		require.ErrorContains(t, err, missing)
	}
}

func FuzzRunner(f *testing.F) {
	f.Add([]byte(runner))
	f.Add([]byte(`{"id":"x","execution_modes":[],"max_attempt":1e400}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := skill.Load(folder("assets/runner.json", string(text)))
		if err == nil {
			require.NotEmpty(t, s.Modes)
			require.GreaterOrEqual(t, s.MaxAttempt, 0)
			return
		}
		var wrong *skill.Error
		require.ErrorAs(t, err, &wrong)
	})
}

// FuzzFolder: whatever the texts of a skill are, it is loaded with instructions and a schema that
// can be used, or refused with an *Error.
func FuzzFolder(f *testing.F) {
	f.Add("---\nname: x\n---\nDo it.", `{"type":"object"}`)
	f.Add("---\n---\n", "{")
	f.Add("\ufeff---\r\na\r\n---\r\nb\r\n---\r\nc", `{"$ref":"#"}`)
	f.Add("---\nno end", "true")
	f.Add("\xff", "")
	f.Fuzz(func(t *testing.T, instructions, schema string) {
		s, err := skill.Load(folder("SKILL.md", instructions, "assets/output.schema.json", schema))
		if err != nil {
			var wrong *skill.Error
			require.ErrorAs(t, err, &wrong)
			return
		}
		require.NotEmpty(t, s.Instructions)
		require.Equal(t, strings.TrimSpace(s.Instructions), s.Instructions)
		require.True(t, utf8.ValidString(s.Instructions))
		if len(s.OutputSchema) > 0 {
			require.True(t, json.Valid(s.OutputSchema))
		}
	})
}

// skillWith is a skill's folder with this in its runner.json.
func skillWith(members string) fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md":           {Data: []byte("---\nname: demo\n---\n\nDo it.\n")},
		"assets/runner.json": {Data: []byte(`{"id":"demo","execution_modes":["interactive"]` + members + `}`)},
	}
}

// TestSpecKeepsTheZeroValueOfWhatIsMissing: B7, what its folder does not say keeps the zero
// value, so that a person must reply unless it says otherwise.
func TestSpecKeepsTheZeroValueOfWhatIsMissing(t *testing.T) {
	labels := map[string]string{"skill": "demo"}
	for members, want := range map[string]lifecycle.Spec{
		``:                                       {Prompt: "Do it.", Mode: lifecycle.Interactive, Labels: labels},
		`,"interactive_require_user_reply":true`: {Prompt: "Do it.", Mode: lifecycle.Interactive, Labels: labels},
		`,"interactive_require_user_reply":false,"session_timeout_sec":90,"max_attempt":7`: {Prompt: "Do it.",
			Mode: lifecycle.Interactive, Labels: labels, AutoDecide: true, SessionTimeout: 90 * time.Second,
			MaxAttempts: 7},
	} {
		spec, err := skill.Spec(skillWith(members), lifecycle.Interactive)
		require.NoError(t, err)
		require.Equal(t, want, spec, members)
		require.NoError(t, spec.Validate())
	}
}

func TestSpecDescribesTheFault(t *testing.T) {
	_, err := skill.Spec(skillWith(``), lifecycle.Auto)
	require.ErrorIs(t, err, lifecycle.ErrInvalidSpec)
	require.EqualError(t, err,
		`lifecycle: invalid spec: Mode is "auto", want one of the skill's execution_modes ["interactive"]`)

	_, err = skill.Spec(skillWith(`,"max_attempt":0`), lifecycle.Interactive)
	var wrong *skill.Error
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, "max_attempt")
}

// FuzzSkill: a folder's spec can be submitted, or the folder is refused with the reason.
func FuzzSkill(f *testing.F) {
	f.Add(`,"max_attempt":9223372036854775807,"session_timeout_sec":2147483648`, "Do it.", "interactive")
	f.Add(`,"engine":"vendor/agent-2"`, "Do it.", "auto")
	f.Add(`,"engine":"`+strings.Repeat("x", 64)+`"`, "Do it.", "interactive")
	f.Add(`,"id":"`+strings.Repeat("x", 128)+`"`, "\ufeff\x00", "")
	f.Fuzz(func(t *testing.T, members, instructions, mode string) {
		folder := skillWith(members)
		folder["SKILL.md"].Data = []byte(instructions)
		spec, err := skill.Spec(folder, lifecycle.Mode(mode))
		if err == nil {
			require.NoError(t, spec.Validate())
			return
		}
		if wrong := (*skill.Error)(nil); !errors.As(err, &wrong) {
			require.ErrorIs(t, err, lifecycle.ErrInvalidSpec)
		}
	})
}
