package contract

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// G1: the contract that the program is built with is sound.
func TestEmbeddedContractIsSound(t *testing.T) {
	t.Parallel()
	l, err := Parse(Source())
	require.NoError(t, err)
	require.Equal(t, l, Load())
	require.Equal(t, l.Version, Version())
}

// A caller's change of a loaded contract has no effect elsewhere.
func TestLoadReturnsCopies(t *testing.T) {
	t.Parallel()
	Load().Transitions[0].To = "nowhere"
	Source()[0] = 'x'
	require.Equal(t, "running", Load().Transitions[0].To)
	require.Equal(t, byte('{'), Source()[0])
}

// G1: the file is closed and says each thing once.
func TestParseRefusesFaultsOfTheFile(t *testing.T) {
	t.Parallel()
	replaced := func(old, with string) string {
		t.Helper()
		require.Equal(t, 1, strings.Count(string(source), old), "%q does not stand once in the contract", old)
		return strings.Replace(string(source), old, with, 1)
	}
	const first = `{"id": "TR-01", "from": "queued"`
	cases := []struct{ name, raw, says string }{
		{"nothing", "", "not JSON"},
		{"no object", "[]", "expected object"},
		{"cut short", string(source[:len(source)-3]), "not JSON"},
		{"two files", string(source) + "{}", "more after its end"},
		{"unknown key", replaced(first, `{"mood": "good", "id": "TR-01", "from": "queued"`), "'mood' not allowed"},
		{"key twice", replaced(first, `{"id": "TR-01", "id": "TR-01", "from": "queued"`), `key "id" is given twice`},
		{"key twice at the top", replaced(`"protocol": "fcmp/1.0",`, `"protocol": "fcmp/1.0", "protocol": "fcmp/1.0",`),
			`key "protocol" is given twice`},
		{"key twice in parameters", replaced(`{"field": "seq"}`, `{"field": "ts", "field": "seq"}`),
			`key "field" is given twice`},
		{"missing key", replaced(first, `{"id": "TR-01"`), "missing properties: 'from'"},
		{"bad id", replaced(first, `{"id": "TRANSITION-1", "from": "queued"`), "does not match pattern"},
		{"id twice", replaced(first, `{"id": "TR-02", "from": "queued"`), "id TR-02 is used twice"},
		{"unknown state", replaced(first, `{"id": "TR-01", "from": "limbo"`), `no state "limbo"`},
		{"unknown fact", replaced(`"all": ["slot_held"]`, `"all": ["moon_full"]`), `no fact "moon_full"`},
		{"fact on both sides", replaced(`"all": ["slot_held"], "none": ["held", "budget_spent"]`, `"all": ["slot_held"], "none": ["slot_held"]`),
			`fact "slot_held" occurs 2 times`},
		{"overlapping guards", replaced(`"all": ["interactive", "handle_present"], "none": ["sticky"]`,
			`"all": ["interactive", "handle_present"]`), "TR-02 and TR-03: can be taken at once"},
		{"unreachable rule", replaced(`{"id": "CG-03", "all": ["output_valid"], "none"`,
			`{"id": "CG-03", "all": ["output_valid", "process_ok"], "none": ["process_ok"], "none"`), "twice"},
		{"unknown kind", replaced(`"kind": "chain"`, `"kind": "magic"`), "/kind"},
		{"doc without a point", replaced(`"doc": "Finished with its output."`, `"doc": "Finished with its output"`),
			"/doc"},
		{"other protocol", replaced(`"protocol": "fcmp/1.0",`, `"protocol": "fcmp/9.0",`),
			"the schema of the envelope allows"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, err := Parse([]byte(c.raw))
			require.Nil(t, l)
			require.ErrorIs(t, err, ErrContract)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// G1: the gate is total and each rule of it can decide; the reasons are named.
func TestParseRefusesFaultsOfTheGate(t *testing.T) {
	t.Parallel()
	gap := Load()
	gap.Gate = gap.Gate[:len(gap.Gate)-1]
	require.ErrorContains(t, gap.Check(), "some turns are not decided")

	shadowed := Load()
	shadowed.Gate = slices.Insert(shadowed.Gate, 1, shadowed.Gate[0])
	shadowed.Gate[1].ID = "CG-99"
	require.ErrorContains(t, shadowed.Check(), "CG-99: can never decide")

	refused := Load()
	refused.Gate[len(refused.Gate)-2].Outcome, refused.Gate[len(refused.Gate)-2].Error = "turn.needs_input", ""
	require.ErrorContains(t, refused.Check(), "running refuses its outcome turn.needs_input (GUARD_NOT_MET)")

	crowded := Load()
	for i := range 30 {
		name := "fact_" + strings.Repeat("x", i+1)
		crowded.Facts = append(crowded.Facts, Name{ID: name, Name: name})
		crowded.Gate[0].None = append(crowded.Gate[0].None, name)
		crowded.Transitions[0].None = append(crowded.Transitions[0].None, name)
	}
	require.ErrorContains(t, crowded.Check(), "can be enumerated")
}

// G1: "contract/ names it wherever a state, event, rule or invariant carries it out": every
// requirement of the sections that the contract is about is named in it.
func TestContractNamesItsRequirements(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"A1", "A2", "A3", "A4", "A5", "A6", "A7", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B11",
		"C2", "C4", "C5", "C6", "C8",
		"D1", "D2", "D3", "D4", "D5", "D6", "E1", "E2", "E3", "E4", "E5", "E7", "E8", "F1", "F2", "F3", "F4", "F5",
		"F6", "F7", "F8", "F9", "G2", "I1", "I2", "I4", "I6", "I7", "I8", "I9", "I12",
	} {
		require.Contains(t, string(source), `"`+id+`"`, id)
	}
}

// F7: the payload schemas speak of the contract's own names: a list in them that lags behind is
// found here.
func TestSchemasNameWhatTheContractDefines(t *testing.T) {
	t.Parallel()
	const asked = "user.input.required"
	l := Load()
	var terminal []string
	for _, s := range l.States {
		if s.Terminal {
			terminal = append(terminal, s.Name)
		}
	}
	for _, c := range []struct {
		typ, member string
		want        []string
	}{
		{started, "mode", Names(l.Modes)}, {stateChanged, "from", l.StateNames()}, {stateChanged, "to",
			l.StateNames()},
		{stateChanged, "trigger", Names(l.Events)}, {stateChanged, "status", terminal},
		{asked, "profile", Names(l.Profiles)}, {asked, "on_deadline", []string{"keep_waiting", "auto_decide", "fail",
			"take_default"}},
	} {
		raw, err := eventFiles.ReadFile("events/" + c.typ + schemaSuffix)
		require.NoError(t, err)
		found := regexp.MustCompile(`"` + c.member + `": \{\s*"enum": (\[[^\]]*\])`).FindSubmatch(raw)
		require.NotNil(t, found, "%s in %s", c.member, c.typ)
		var got []string
		require.NoError(t, json.Unmarshal(found[1], &got))
		require.Equal(t, c.want, got, "%s in %s", c.member, c.typ)
	}
	code := regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,127}$`)
	for _, c := range slices.Concat(l.Errors, l.Warnings) {
		require.Regexp(t, code, c.Code)
	}
}

// F1, F7: every payload is a closed object, at every level, but for the hints of a question, which
// are free.
func TestPayloadsAreClosed(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("events")
	require.NoError(t, err)
	for _, file := range files {
		raw, err := eventFiles.ReadFile("events/" + file.Name())
		require.NoError(t, err)
		var schema any
		require.NoError(t, json.Unmarshal(raw, &schema))
		closed(t, file.Name(), schema)
	}
}

func closed(t *testing.T, where string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		free := strings.HasSuffix(where, "/ui_hints") || where == "envelope.schema.json/properties/data"
		if v["type"] == "object" && !free {
			require.Equal(t, false, v["additionalProperties"], where)
		}
		if v["type"] == "string" && v["pattern"] == nil {
			require.NotNil(t, v["maxLength"], "%s has no bound", where)
		}
		if v["type"] == "array" {
			require.NotNil(t, v["maxItems"], "%s has no bound", where)
		}
		for key, item := range v {
			closed(t, where+"/"+key, item)
		}
	case []any:
		for _, item := range v {
			closed(t, where, item)
		}
	}
}

// FuzzParse: for any bytes, Parse ends; an accepted contract can be queried.
func FuzzParse(f *testing.F) {
	f.Add(Source())
	f.Add([]byte(`{"version":"1.0.0"}`))
	f.Add([]byte(`{"a":[{"a":1},{"a":1}],"a":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := Parse(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrContract)
			return
		}
		for _, s := range l.StateNames() {
			for _, e := range Names(l.Events) {
				v := l.Next(s, e, nil)
				require.NotEqual(t, v.Transition == nil, v.Code == "")
			}
		}
		_, ok := l.Decide(nil)
		require.True(t, ok)
	})
}
