package audit

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
)

// needed are the members that a log must have even when it is read leniently, each with what would be lost without it. The type "" is
// the envelope.
var needed = map[string]map[string]string{
	"": {
		"protocol_version": "says that it is FCMP at all",
		"run_id":           "says whose event it is",
		"seq":              "IV-03",
		"ts":               "IV-04, IV-34",
		"type":             "says what it is",
		"data":             "every rule",
		"meta":             "holds the attempt",
		"meta.attempt":     "IV-07, IV-16, IV-29",
	},
	contract.TypeStarted: {
		"mode":                           "IV-11",
		"interactive_require_user_reply": "IV-12, IV-32",
		"max_auto_decisions":             "IV-14, IV-15",
	},
	contract.TypeStateChanged: {
		"from": "IV-10", "to": "IV-17", "trigger": "IV-17",
		"terminal.status":     "IV-20",
		"terminal.error.code": "IV-21",
	},
	contract.TypeReplyAccepted: {"interaction_id": "IV-24, IV-25"},
	contract.TypeAutoDecided:   {"interaction_id": "IV-24, IV-25"},
	contract.TypeInputRequired: {
		"interaction_id":  "IV-23",
		"prompt":          "without it nothing is asked",
		"profile":         "IV-13, IV-32",
		"on_deadline":     "IV-14, IV-32",
		"options[].label": "an option is its label and its value",
		"options[].value": "an option is its label and its value",
	},
	contract.TypeMessageFinal:        {"text": "it is the message", "raw_ref.file": "a place needs all of it", "raw_ref.offset": "a place needs all of it", "raw_ref.length": "a place needs all of it"},
	contract.TypeMessageIntermediate: {"text": "it is the message", "raw_ref.file": "a place needs all of it", "raw_ref.offset": "a place needs all of it", "raw_ref.length": "a place needs all of it"},
	contract.TypeWarning:             {"code": "IV-22"},
}

// G4: each member that the schemas require was looked at: it is needed, with the reason, or it is made up for.
func TestEveryRequiredMemberIsNeededOrMadeUpFor(t *testing.T) {
	t.Parallel()
	madeUp := map[string][]string{}
	for _, a := range Allowances() {
		if a.Required {
			require.NotEmpty(t, a.Instead, a.Member)
			madeUp[a.Type] = append(madeUp[a.Type], a.Member)
		} else {
			require.Empty(t, a.Instead, a.Member)
		}
	}
	for typ, schema := range schemas() {
		reviewed := slices.Concat(slices.Collect(maps.Keys(needed[typ])), madeUp[typ])
		require.ElementsMatch(t, schema.members("", true), reviewed, "%q", typ)
	}
}

// event is a line of a log, taken apart.
type event struct {
	t     testing.TB
	whole map[string]any
}

func takeApart(t testing.TB, line string) event {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	e := event{t: t}
	require.NoError(t, dec.Decode(&e.whole))
	return e
}

// change calls f with the object that holds the member, where the event has it.
func (e event) change(a Allowance, f func(in map[string]any, name string)) {
	in := e.whole
	path := strings.Split(a.Member, ".")
	if a.Type != "" {
		if e.whole["type"] != a.Type {
			return
		}
		path = append([]string{"data"}, path...)
	}
	for _, name := range path[:len(path)-1] {
		inner, ok := in[name].(map[string]any)
		if !ok {
			return
		}
		in = inner
	}
	if last := path[len(path)-1]; in[last] != nil {
		f(in, last)
	}
}

func (e event) line() string {
	body, err := json.Marshal(e.whole)
	require.NoError(e.t, err)
	return string(body) + "\n"
}

// rewrite changes each event of a log.
func rewrite(t testing.TB, log string, change func(e event)) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(log) {
		e := takeApart(t, line)
		change(e)
		b.WriteString(e.line())
	}
	return b.String()
}

func goodLogs(t testing.TB) map[string]string { return logsIn(t, "good") }

func logsIn(t testing.TB, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", folder, "*.jsonl"))
	require.NoError(t, err)
	out := map[string]string{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		out[filepath.Base(path)] = string(body)
	}
	return out
}

func read(t testing.TB, log string, lenient bool) Report {
	t.Helper()
	report, err := Log(strings.NewReader(log), Options{Lenient: lenient})
	require.NoError(t, err)
	return report
}

// G4: a producer may leave out, or give as null, each of these; a strict reader refuses what is required.
func TestWhatIsLeftOutIsForgiven(t *testing.T) {
	t.Parallel()
	met := map[Allowance]bool{}
	for name, log := range goodLogs(t) {
		for _, a := range Allowances() {
			if !a.Required {
				continue
			}
			for how, change := range map[string]func(in map[string]any, name string){
				Missing: func(in map[string]any, name string) { delete(in, name) },
				Null:    func(in map[string]any, name string) { in[name] = nil },
			} {
				n := 0
				changed := rewrite(t, log, func(e event) {
					e.change(a, func(in map[string]any, name string) { change(in, name); n++ })
				})
				if n == 0 {
					continue
				}
				met[a] = true
				require.Positive(t, read(t, changed, false).Found, "%s without %v", name, a)
				lenient := read(t, changed, true)
				require.Empty(t, lenient.Violations, "%s, %v is %s", name, a, how)
				require.Equal(t, []Forgiven{{a.Type, a.Member, how, n}}, lenient.Forgiven, name)
			}
		}
	}
	for _, a := range Allowances() {
		require.True(t, met[a] || !a.Required, "no good log has %v", a)
	}
}

// G4: what is optional may be null, and what is unknown is passed over, at any depth.
func TestNullsAndUnknownMembersAreForgiven(t *testing.T) {
	t.Parallel()
	for name, log := range goodLogs(t) {
		spread := rewrite(t, log, func(e event) {
			for _, a := range Allowances() {
				if !a.Required && e.whole["type"] == a.Type && !strings.Contains(a.Member, ".") {
					data, _ := e.whole["data"].(map[string]any)
					if _, ok := data[a.Member]; !ok {
						data[a.Member] = nil
					}
				}
			}
			e.whole["correlation"] = map[string]any{"x": nil}
			e.whole["meta"].(map[string]any)["host"] = "here"
			e.change(Allowance{Type: contract.TypeStateChanged, Member: "terminal.status"}, func(in map[string]any, _ string) { in["mood"] = 1 })
		})
		require.Positive(t, read(t, spread, false).Found, name)
		lenient := read(t, spread, true)
		require.Empty(t, lenient.Violations, name)
		require.Contains(t, lenient.Forgiven, Forgiven{"", "correlation", Unknown, lenient.Lines})
		require.Contains(t, lenient.Forgiven, Forgiven{"", "meta.host", Unknown, lenient.Lines})
	}
}

// G4: leniency hides no broken invariant but those of the members that it makes up for.
func TestWhatIsLeftOutHidesNothingElse(t *testing.T) {
	t.Parallel()
	about := map[string]bool{"IV-01": true, "IV-05": true, "IV-08": true} // they are about what is left out
	logs := logsIn(t, "violations")
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(logs)) { // one for each invariant
		if seen[name[:5]] || about[name[:5]] || name == "IV-22-undeclared-warning-at-the-end.jsonl" {
			continue
		}
		seen[name[:5]] = true
		bare := rewrite(t, logs[name], func(e event) {
			for _, a := range Allowances() {
				if a.Required {
					e.change(a, func(in map[string]any, name string) { delete(in, name) })
				}
			}
		})
		report := read(t, bare, true)
		require.Len(t, report.Violations, 1, name)
		require.Equal(t, name[:5], report.Violations[0].Invariant, name)
	}
}

// Names of unknown members come from the log: neither their number nor their length is its to choose.
func TestForgivenIsBounded(t *testing.T) {
	t.Parallel()
	log := goodLogs(t)["question-and-answer.jsonl"]
	i := 0
	crowded := rewrite(t, log, func(e event) {
		for range 50 {
			e.whole["unknown-"+strings.Repeat("i", i%1000)] = i
			i++
		}
	})
	report := read(t, crowded, true)
	require.Empty(t, report.Violations)
	require.LessOrEqual(t, len(report.Forgiven), maxForgiven+1)
	total := 0
	for _, f := range report.Forgiven {
		require.LessOrEqual(t, len(f.Member), maxName)
		total += f.Count
	}
	require.Equal(t, 50*report.Lines, total)
}

// Completing what is complete changes nothing.
func TestCompletingTwiceIsCompletingOnce(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../check/testdata/other-producer.jsonl")
	require.NoError(t, err)
	first, second := newCompleter(forgiven{}), newCompleter(forgiven{})
	for line := range bytes.Lines(body) {
		once := first.complete(bytes.TrimSpace(line))
		require.Equal(t, string(once), string(second.complete(once)))
	}
	require.NotEmpty(t, first.forgiven)
	require.Empty(t, second.forgiven)
	require.Empty(t, first.runs, "the run has ended")
}
