package audit

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/internal/sample"
)

// G4: no member that the schemas require was forgotten: it is demanded, or may be missing, or
// belongs to an object that counts as missing when it is incomplete.
func TestEveryRequiredMemberIsDemandedOrMayBeMissing(t *testing.T) {
	t.Parallel()
	parts := []string{"options[].", "raw_ref.", "wait.steps[].", "remember.most[].", "changes[]."}
	mayBeMissing := map[string][]string{}
	for _, a := range Allowances() {
		if a.Required {
			mayBeMissing[a.Type] = append(mayBeMissing[a.Type], a.Member)
		}
		for _, id := range a.Skipped {
			require.True(t, slices.ContainsFunc(embedded().Invariants, func(v contract.Invariant) bool {
				return v.ID == id
			}), id)
		}
	}
	for typ, schema := range schemas() {
		required := slices.DeleteFunc(schema.members("", true), func(member string) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(member, part) })
		})
		require.ElementsMatch(t, required, slices.Concat(Demanded()[typ], mayBeMissing[typ]), "%q", typ)
	}
}

// event is a decoded line of a log.
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

// change calls f with the object that contains the member, if the event has it.
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

// rewrite returns the log with each event changed.
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

// lowestProtocol is the version that an event without an incarnation needs.
func lowestProtocol(typ string, data map[string]any) string {
	l := contract.Load()
	trigger, _ := data["trigger"].(string)
	for _, e := range slices.Backward(l.Extensions) { // the latest version comes last
		if slices.Contains(e.Types, typ) || slices.Contains(e.Triggers, trigger) {
			return e.Protocol
		}
		for _, m := range e.Members {
			if of, member := contract.SplitMember(m); of == typ && data[member] != nil {
				return e.Protocol
			}
		}
	}
	return l.Protocol
}

// G4: a lenient reader accepts each allowance as missing or null; a strict reader refuses the event
// if the member is required. The invariants not checked then are those listed in the allowance, and
// they are counted.
func TestLenientForgivesMissingMembers(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	allowances := Allowances()
	met, lost := map[string]bool{}, map[string][]string{}
	logs := goodLogs(t)
	shortestFirst := slices.SortedFunc(maps.Keys(logs), func(a, b string) int { return len(logs[a]) - len(logs[b]) })
	for _, name := range shortestFirst {
		log := logs[name]
		for _, a := range allowances {
			if !everyLog && met[a.Type+" "+a.Member] || !strings.Contains(log, a.Type) {
				continue
			}
			for how, change := range map[string]func(in map[string]any, name string){
				Missing: func(in map[string]any, name string) { delete(in, name) },
				Null:    func(in map[string]any, name string) { in[name] = nil },
			} {
				n := 0
				changed := rewrite(t, log, func(e event) {
					e.change(a, func(in map[string]any, name string) {
						change(in, name)
						n++
						data, ok := e.whole["data"].(map[string]any)
						if ok && (name == "meta" || raises(a.Type, a.Member)) {
							e.whole["protocol_version"] = lowestProtocol(e.whole["type"].(string), data)
						}
					})
				})
				if n == 0 {
					continue
				}
				key := a.Type + " " + a.Member
				met[key] = true
				if a.Required {
					require.Positive(t, read(t, changed, false).Found, "%s without %v", name, a)
				}
				lenient := read(t, changed, true)
				require.Empty(t, lenient.Violations, "%s, %v is %s", name, a, how)
				if a.Required || how == Null {
					require.Equal(t, []Forgiven{{Type: a.Type, Member: a.Member, How: how, Count: n}}, lenient.Forgiven,
						name)
				}
				for _, s := range lenient.Skipped {
					require.Contains(t, a.Skipped, s.Invariant, "%s without %s", name, key)
					lost[key] = append(lost[key], s.Invariant)
				}
			}
		}
	}
	for _, a := range allowances {
		key := a.Type + " " + a.Member
		require.True(t, met[key] || !a.Required, "no good log has %v", a)
		for _, id := range a.Skipped {
			require.True(t, !met[key] || !everyLog || slices.Contains(lost[key], id), "%s is decided without %s", id,
				key)
		}
	}
}

// raises reports whether an event with the member has a later version of the protocol than the
// first.
func raises(typ, member string) bool {
	return slices.ContainsFunc(contract.Load().Extensions, func(e contract.Extension) bool {
		return slices.Contains(e.Members, typ+"."+member)
	})
}

// F2, F3, F4, G4: every producer must keep the fixed parts of the protocol.
func TestLenientDemandsWhatTheProtocolFixes(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	met := map[string]bool{}
	for name, log := range goodLogs(t) {
		for typ, members := range Demanded() {
			for _, member := range members {
				if !everyLog && met[typ+" "+member] {
					continue
				}
				n := 0
				changed := rewrite(t, log, func(e event) {
					e.change(Allowance{Type: typ, Member: member}, func(in map[string]any, name string) {
						delete(in, name)
						n++
					})
				})
				if n > 0 {
					met[typ+" "+member] = true
					require.GreaterOrEqual(t, read(t, changed, true).Found, 1, "%s without %s of %s", name, member, typ)
				}
			}
		}
	}
	for typ, members := range Demanded() {
		for _, member := range members {
			require.True(t, met[typ+" "+member], "no good log has %s of %s", member, typ)
		}
	}
}

// G4: an optional member may be null, and an unknown member is ignored, at any depth.
func TestLenientForgivesNullsAndUnknownMembers(t *testing.T) {
	sample.Sequential(t)
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
			e.change(Allowance{Type: fcmp.TypeStateChanged, Member: "terminal.status"}, func(in map[string]any,
				_ string) {
				in["mood"] = 1
			})
		})
		require.Positive(t, read(t, spread, false).Found, name)
		lenient := read(t, spread, true)
		require.Empty(t, lenient.Violations, name)
		require.Contains(t, lenient.Forgiven, Forgiven{Member: "correlation", How: Unknown, Count: lenient.Lines})
		require.Contains(t, lenient.Forgiven, Forgiven{Member: "meta.host", How: Unknown, Count: lenient.Lines})
	}
}

// The log chooses the names of unknown members, but their number and length are bounded in the
// report.
func TestLenientReportIsBounded(t *testing.T) {
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

// G4: an event that occurs once in a run, or not again there, is refused by the lenient reader, too.
func TestLenientRefusesEventsThatOccurTwice(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	seen := map[any]bool{fcmp.TypeWarning: true} // may occur anywhere, any number of times
	for name, log := range goodLogs(t) {
		lines := slices.Collect(strings.Lines(log))
		for i, line := range lines {
			typ := takeApart(t, line).whole["type"]
			if seen[typ] {
				continue
			}
			seen[typ] = true
			for _, at := range []int{i + 1, len(lines)} {
				twice := renumbered(t, slices.Insert(slices.Clone(lines), at, line))
				if read(t, twice, false).Found > 0 {
					require.NotZero(t, read(t, twice, true).Found, "%s: %v again at %d", name, typ, at+1)
				}
			}
		}
	}
}

// renumbered returns the events with their numbers in order and their times not before each other,
// so that nothing else is wrong with them.
func renumbered(t *testing.T, lines []string) string {
	t.Helper()
	seq, local, attempt, last := map[any]int{}, map[any]int{}, map[any]any{}, map[any]string{}
	return rewrite(t, strings.Join(lines, ""), func(e event) {
		id, meta := e.whole["run_id"], e.whole["meta"].(map[string]any)
		seq[id]++
		if local[id]++; attempt[id] != meta["attempt"] {
			local[id], attempt[id] = 1, meta["attempt"]
		}
		e.whole["seq"], meta["local_seq"] = json.Number(strconv.Itoa(seq[id])), json.Number(strconv.Itoa(local[id]))
		last[id] = max(last[id], e.whole["ts"].(string))
		e.whole["ts"] = last[id]
	})
}

// G4: what the normalizer puts right is counted: a question before its change of state, attempts
// that grow while the run is queued, numbers left out, and other times of the same event.
func TestLenientCountsWhatItPutsRight(t *testing.T) {
	t.Parallel()
	counts := map[[2]string]int{}
	for _, log := range logsIn(t, "foreign/good") {
		for _, f := range read(t, log, true).Forgiven {
			counts[[2]string{f.Member, f.How}] += f.Count
		}
	}
	for of, want := range map[[2]string]int{
		{"", Early}: 3, {"interaction_id", Miscounted}: 2, {"accepted_at", OtherTime}: 1,
		{memberAttempt, Miscounted}: 1,
	} {
		require.GreaterOrEqual(t, counts[of], want, of)
	}
}
