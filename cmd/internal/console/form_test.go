package console_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
)

// formCase is a schema, and values that a person must be able to give exactly, here as on the page.
type formCase struct {
	Schema   json.RawMessage
	Examples []json.RawMessage
}

func formCases(t *testing.T) map[string]formCase {
	t.Helper()
	body, err := os.ReadFile("../../../proof/page/testdata/forms.json")
	require.NoError(t, err)
	var all map[string]formCase
	require.NoError(t, json.Unmarshal(body, &all))
	return all
}

// pasted is a text as a terminal sends it when it is pasted.
func pasted(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// send selects the first entry of a form's list: send the value.
const send = "\r"

// formKeys are the keys for each example of a form: one entry for each control.
var formKeys = map[string][][]string{
	"allof-base":        {{"1\r", "n\r", send}},
	"anyof-null":        {{"Turku\r", "3\r", "2\r", "late\r", send}, {"Turku\r", "3\r", "4\r", send}},
	"cli-const-int":     {{"2\r", send}},
	"cli-enum-default":  {{"\r3\r", send}},
	"cli-optional-bool": {{"x\r", send}, {"x\r", "3\r", "2\r", send}},
	// Neither typing nor pasting can enter these characters; the default is offered as a whole.
	"cli-string-default":     {{"1\r", send}},
	"default-null":           {{"x\r", send}, {"x\r", "3\r", "\r", "a\r", "\r", "4\r", "2\r", "b\r", "\r", send}},
	"dependent":              {{"2\r", "1\r", "3\r", "2\r", send}},
	"empty-required":         {{"\r", "2\r", send}},
	"enum-names":             {{"2\r", send}},
	"if-then":                {{"2\r", "3\r", "FI00\r", send}, {"1\r", send}},
	"map-with-named":         {{"2\r", "/bin\r", "3\r", "LANG\r", "C\r", send}},
	"mixed-enum-few":         {{"2\r", send}, {"1\r", send}},
	"multi-line":             {{pasted("line one\nline two") + "\r", send}},
	"nullable-required":      {{"Turku\r", "3\r", "2\r", send}, {"Turku\r", "1\r", "x\r", "1\r", "3\r", send}},
	"optional-group-default": {{"x\r", send}},
	"rec-3":                  {{"2\r", "x\r", send}},
	"string-or-list":         {{"1\r", "a\r", send}, {"3\r", "\r", "a\r", "2\r", "b\r", "\r", send}},
	"zod-email":              {{"a@b.example\r", send}},
}

// N3: every value that a form accepts can be given on the terminal, by its controls and as JSON.
func TestN3EachFormTakesItsValuesExactly(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	cases := formCases(t)
	for name := range formKeys {
		c := cases[name]
		require.NotEmpty(t, c.Examples, name)
		for i, want := range c.Examples {
			t.Run(name, func(t *testing.T) {
				require.Len(t, formKeys[name], len(c.Examples))
				run := name + string(rune('a'+i))
				require.JSONEq(t, string(want), string(o.fills(t, run, c.Schema, formKeys[name][i])))
			})
		}
	}
}

// N3: every form accepts its values as JSON, whatever its schema.
func TestN3EveryFormCanBeWrittenAsJSON(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	number, cases := 0, formCases(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		for i, want := range c.Examples {
			if number++; number%sample.Raced(8) != 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				run := name + string(rune('a'+i))
				o.asks(run, engine.Question{Kind: engine.FillFields, Prompt: "Fill in", Schema: c.Schema})
				r, err := o.lc.Get(t.Context(), run)
				require.NoError(t, err)
				require.NotEmpty(t, r.OpenQuestion(1).Schema, "it is asked as a form")
				status, shown := onTerminal(t, writesJSON(string(want)), "reply", "-db", o.db, "-as", "ada", run)
				require.Equal(t, command.Succeeded, status, shown)
				history, err := o.lc.History(t.Context(), run)
				require.NoError(t, err)
				require.JSONEq(t, string(want), string(history[0].Value))
			})
		}
	}
}

// writesJSON is a person who takes the shortest way to a form's JSON field.
func writesJSON(value string) func(unread string) (string, int) {
	const list, empty, field = "↑ ↓ move", "leave it empty for", "Your answer, as JSON"
	open, written := false, false // a control waits for keys; the value was written
	return func(unread string) (string, int) {
		from := strings.LastIndex(unread, ready)
		if open = open || from >= 0; !open {
			return "", 0
		}
		var keys string
		control := unread[max(0, from):]
		switch {
		case strings.Contains(control, field) && !written:
			keys, written = "\x7f\x7f"+pasted(value)+"\r", true
		case strings.Contains(control, empty):
			keys = "\r"
		case strings.Contains(control, list) && written:
			keys = "1\r"
		case strings.Contains(control, list):
			keys = "\x1b[F\r"
		default:
			return "", 0
		}
		open = false
		return keys, len(unread)
	}
}

// fills types into the controls of a form, and returns the stored value.
func (o *office) fills(t *testing.T, run string, schema json.RawMessage, keys []string) json.RawMessage {
	t.Helper()
	o.asks(run, engine.Question{Kind: engine.FillFields, Prompt: "Fill in", Schema: schema})
	status, shown := typed(t, keys, "reply", "-db", o.db, "-as", "ada", run)
	require.Equal(t, command.Succeeded, status, shown)
	history, err := o.lc.History(t.Context(), run)
	require.NoError(t, err)
	return history[0].Value
}

// N3: schemas without a matching control, and values that a control would change, are given as
// JSON, whole or for one member.
func TestN3AnyValueIsGivenAsJSON(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	for name, c := range map[string]struct {
		schema string
		keys   []string
		want   string
	}{
		"a large number as written": {`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
			[]string{"12345678901234567890123\r", send}, `{"n":12345678901234567890123}`},
		"the whole in place of its members": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			[]string{"\r", "\x1b[F\r", "\x1b[F\x7f\x7f" + pasted(`{"a":"x\ty","b":[1]}`) + "\r", send},
			`{"a":"x\ty","b":[1]}`},
		"one member":   {`{"type":"object","required":["a"]}`, []string{"\r", "3\r", pasted(`{"x":[null]}`) + "\r", send}, `{"a":{"x":[null]}}`},
		"no type":      {`{"minLength":2}`, []string{"\r", "3\r", pasted(`[1, 2]`) + "\r"}, `[1,2]`},
		"a boolean":    {`{"type":"boolean"}`, []string{"2\r"}, `false`},
		"a number":     {`{"$ref":"#/$defs/n","$defs":{"n":{"type":"number"}}}`, []string{"x\r\x7f1.50\r"}, `1.50`},
		"a branch":     {`{"oneOf":[{"type":"integer"},{"type":"object","title":"Point","properties":{"x":{"type":"integer"}},"required":["x"]}]}`, []string{"2\r", "7\r", send}, `{"x":7}`},
		"only a group": {`{"type":"object","properties":{"g":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"required":["g"]}`, []string{"v\r", "\r", send}, `{"g":{"a":"v"}}`},
		"left out again": {`{"type":"object","properties":{"a":{"type":"string"}}}`,
			[]string{"2\r", "x\r", "2\r", "\x7f\r", "4\r", send}, `{}`},
		"refused, then " +
			"corrected": {`{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}`,
			[]string{"1\r", send, "2\r", "\x7f5\r", send}, `{"n":5}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, json.Valid([]byte(c.schema)))
			run := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			require.Equal(t, c.want, string(o.fills(t, run, json.RawMessage(c.schema), c.keys)))
		})
	}
}

// N3: Enter never sends an optional member, a default or the first option unless the person has
// selected it.
func TestN3EnterAloneChoosesNothing(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	risk := engine.Question{Kind: engine.RiskAck, Prompt: "All data is deleted."}
	for run, q := range map[string]engine.Question{"choice": colour, "confirm": confirm, "risk": risk,
		"approval": payment, "enum": {Kind: engine.FillFields, Prompt: "Where?",
			Schema: formCases(t)["cli-enum-default"].Schema}} {
		t.Run(run, func(t *testing.T) {
			o.asks(run, q)
			status, shown := typed(t, []string{"\r\r\r\r\x03"}, "reply", "-db", o.db, "-as", "ada", run)
			require.Equal(t, command.Refused, status, shown)
			r, err := o.lc.Get(t.Context(), run)
			require.NoError(t, err)
			require.Equal(t, lifecycle.StateWaitingUser, r.State)
		})
	}
}

// N3: before an approval counts, the call is named and the end of its arguments is shown, which may
// have scrolled away.
func TestN3AnApprovalIsConfirmed(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	long := payment
	long.Subject = &engine.Subject{Tool: "shell", Arguments: json.RawMessage(
		`{"cmd":"x` + strings.Repeat("y ", 2000) + `; rm -rf /"}`)}
	o.asks("r", long)
	status, shown := typed(t, []string{"1\r", "y"}, "reply", "-db", o.db, "-as", "ada", "r")
	require.Equal(t, command.Succeeded, status, shown)
	_, confirmed, found := strings.Cut(shown, "lines above")
	require.True(t, found, shown)
	require.Contains(t, confirmed, "; rm -rf /")
	require.Contains(t, confirmed, "Approve this call of shell?")
}

// N6: edited arguments are shown as a change before they are approved.
func TestN6AnEditIsShownBeforeItIsApproved(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", payment)
	edited := strings.Repeat("\x7f", 20) + pasted(`{"eur":5}`) + "\r"
	status, shown := typed(t, []string{"2\r", edited, "y"}, "reply", "-db", o.db, "-as", "ada", "r")
	require.Equal(t, command.Succeeded, status, shown)
	_, change, found := strings.Cut(strings.ReplaceAll(shown, "\r", ""), "the change:\n")
	require.True(t, found, shown)
	require.Contains(t, change, "  {\n-   \"eur\": 7\n+   \"eur\": 5\n  }\n")
	history, err := o.lc.History(t.Context(), "r")
	require.NoError(t, err)
	require.JSONEq(t, `{"eur":5}`, string(history[0].Answer().Arguments))
	require.Contains(t, o.call("", "show", "r").well(), "     -   \"eur\": 7\n     +   \"eur\": 5\n")
}
