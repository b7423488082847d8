package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/internal/sample"
)

// logs returns the logs of a folder of the contract's test data, by name: good logs, or for each
// invariant some that break it.
func logs(t testing.TB, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", folder, "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	out := map[string]string{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		out[strings.TrimSuffix(filepath.Base(path), ".jsonl")] = string(body)
	}
	return out
}

func audited(t testing.TB, log string, o audit.Options) audit.Report {
	t.Helper()
	report, err := audit.Log(strings.NewReader(log), o)
	require.NoError(t, err)
	return report
}

// G4: a log that keeps all promises passes, and nothing in it has to be forgiven.
func TestCheckPassesGoodLogs(t *testing.T) {
	t.Parallel()
	for name, log := range logs(t, "good") {
		strict := audited(t, log, audit.Options{})
		require.Empty(t, strict.Violations, name)
		require.Zero(t, strict.Found, name)
		require.Positive(t, strict.Runs, name)
		require.Equal(t, strings.Count(log, "\n"), strict.Lines, name)
		checked, err := audit.Check(strings.NewReader(log))
		require.NoError(t, err)
		require.Equal(t, strict, checked, name)
		require.Equal(t, strict, audited(t, log, audit.Options{Lenient: true}), name)
	}
	require.Equal(t, 4, audited(t, logs(t, "good")["still-under-way"], audit.Options{}).Unfinished)
}

// G4: every broken invariant is reported once, with line and sequence number. This also holds when
// the log is read leniently, except for forgiven deviations.
func TestCheckReportsEveryInvariant(t *testing.T) {
	t.Parallel()
	forgiven := map[string]bool{
		"IV-01-unknown-member": true, "IV-02-begins-with-a-turn": true,
		"IV-07-attempt-starts-at-1": true, "IV-18-question-id-is-missing": true, "IV-19-no-word-about-the-end": true,
		"IV-21-failure-without-an-error": true, "IV-21-undeclared-code": true, "IV-22-undeclared-warning": true,
		"IV-22-undeclared-warning-at-the-end": true, "IV-33-deadline-is-missing": true,
		"IV-33-sticky-deadline-is-missing": true, "IV-33-a-wait-of-its-own-without-its-end": true,
		// a lenient reader forgives a time that differs by less than a day
		"IV-35-accepted-before-it-was-told": true, "IV-35-decided-later": true,
		"IV-35-a-default-answer-of-another-time": true, "IV-45-an-end-moved-of-a-wait-without-end": true,
		"IV-37-another-deadline":         true,
		"IV-37-deadline-before-its-time": true,
		// another producer may leave out who has decided, and what
		"IV-46-a-vote-without-a-name": true, "IV-46-a-vote-that-decides-nothing": true,
		"IV-47-answered-by-nobody": true, "IV-47-claimed-by-nobody": true,
		// another producer may omit that a rejection stops it, and the decision
		"IV-41-a-rejection-stops-it-without-that-rule": true,
		// another producer may omit the incarnation
		"IV-51-incarnation-is-gone": true,
	}
	for name, log := range logs(t, "violations") {
		want, err := audit.Check(strings.NewReader(log))
		require.NoError(t, err)
		strict := audited(t, log, audit.Options{})
		require.Equal(t, want.Violations, strict.Violations, name)
		require.Equal(t, name[:5], strict.Violations[0].Invariant, name)
		lenient := audited(t, log, audit.Options{Lenient: true})
		if forgiven[name] {
			require.Empty(t, lenient.Violations, name)
			require.NotEmpty(t, fmt.Sprint(lenient.Forgiven, lenient.Skipped), name)
			continue
		}
		require.Len(t, lenient.Violations, 1, name)
		got := lenient.Violations[0]
		require.Equal(t, name[:5], got.Invariant, name)
		require.Equal(t, strict.Violations[0].Line, got.Line, name)
		if name != "IV-01-name-in-capitals" { // the member is unknown then, so there is no seq
			require.Equal(t, strict.Violations[0].Seq, got.Seq, name)
		}
	}
}

// F2, F3, F4, F5, G4: a lenient reader accepts logs as other producers write them: without
// conversation.started, zones, profiles and limits; with other event types and codes; with
// questions before or after their change of state; and beginning in mid-run. The files in
// testdata/foreign specify the forgiven deviations. The strict reader refuses each of them.
func TestLenientPassesLogsOfOtherProducers(t *testing.T) {
	t.Parallel()
	for name, log := range logs(t, "foreign/good") {
		require.Positive(t, audited(t, log, audit.Options{}).Found, name)
		report := audited(t, log, audit.Options{Lenient: true})
		require.Empty(t, report.Violations, name)
		require.NotEmpty(t, report.Forgiven, name)
		require.NotEmpty(t, report.Skipped, name)
		begins := strings.Contains(name, "from-") || strings.Contains(name, "second-turn")
		require.Equal(t, begins, report.Fragments == 1, name)
	}
}

// G4: a lenient log may begin at any of its events. An unreadable line is one violation, wherever
// it is, and no event around it is blamed for its possible content.
func TestLenientBlamesNoEventForUnreadableLines(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	for name, log := range logs(t, "foreign/good") {
		lines := strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n")
		for i, line := range lines {
			rest := audited(t, strings.Join(lines[i:], ""), audit.Options{Lenient: true})
			require.Empty(t, rest.Violations, "%s from line %d on", name, i+1)

			spoiled := slices.Clone(lines)
			spoiled[i] = strings.Replace(line, "{", `{"given": 1, "given": 2, `, 1)
			report := audited(t, strings.Join(spoiled, ""), audit.Options{Lenient: true})
			require.Len(t, report.Violations, 1, "%s with line %d spoiled", name, i+1)
			require.Equal(t, i+1, report.Violations[0].Line, name)
		}
	}
}

// F2, F3, F4, F5, G4: a real fault in a lenient log is reported once, under the broken invariant.
func TestLenientReportsRealFaults(t *testing.T) {
	t.Parallel()
	for name, log := range logs(t, "foreign/violations") {
		report := audited(t, log, audit.Options{Lenient: true})
		require.Len(t, report.Violations, 1, name)
		require.Equal(t, name[:5], report.Violations[0].Invariant, "%s: %v", name, report.Violations[0])
	}
}

// G4: in one log with all kinds of runs interleaved, the violation of each broken run is reported
// once, and none in the good runs.
func TestCheckSeparatesInterleavedRuns(t *testing.T) {
	t.Parallel()
	want := map[string]string{} // invariant by run
	var all [][]string
	number := 0
	mix := func(name, log string, invariant string) {
		number++
		run := fmt.Sprintf("%s.%d", name, number)
		if len(invariant) > 0 {
			want[run] = invariant
		}
		all = append(all, strings.SplitAfter(strings.ReplaceAll(log, `"run_id":"run-1"`, fmt.Sprintf(`"run_id":%q`,
			run)), "\n"))
	}
	for name, log := range logs(t, "violations") {
		if name != "IV-01-no-json" { // the line does not say which run it belongs to
			mix(name, log, name[:5])
		}
	}
	mix("good", logs(t, "good")["question-and-answer"], "")
	var mixed strings.Builder
	for row := range 40 {
		for _, lines := range all {
			if row < len(lines) {
				mixed.WriteString(lines[row])
			}
		}
	}
	var told []audit.Violation
	report := audited(t, mixed.String(), audit.Options{MaxViolations: 3, Found: func(v audit.Violation) {
		told = append(told, v)
	}})
	require.Len(t, told, len(want))
	require.Equal(t, len(want), report.Found)
	require.Equal(t, told[:3], report.Violations)
	require.Equal(t, len(want)+1, report.Runs)
	for _, v := range told {
		require.Equal(t, want[v.RunID], v.Invariant, v.RunID)
	}
}

func TestCheckReportsUnreadableLogs(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	report, err := audit.Log(io.MultiReader(strings.NewReader(logs(t, "good")["question-and-answer"]),
		iotest.ErrReader(broken)), audit.Options{})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "after line 11")
	require.Equal(t, audit.Report{Lines: 11, Runs: 1}, report)

	require.Equal(t, audit.Report{}, audited(t, "", audit.Options{}))
}

// The content of a log determines neither how much memory the audit takes nor how long an
// explanation is.
func TestCheckBoundsMemoryForHostileLogs(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	good := logs(t, "good")["question-and-answer"]
	for name, line := range map[string]string{
		"endless":      strings.Repeat("0", fcmp.MaxEvent+1),
		"long name":    `{"` + strings.Repeat("x", 1<<18) + `":1}`,
		"deep":         strings.Repeat("[", 1<<16),
		"no UTF-8":     "\xff\xfe",
		"NUL":          "\x00\x00",
		"null":         "null",
		"two values":   "{}{}",
		"large number": `{"seq":1` + strings.Repeat("0", 100_000) + `}`,
		"exponent":     `{"protocol_version":"fcmp/1.0","run_id":"r","seq":1e999999999}`,
	} {
		for _, lenient := range []bool{false, true} {
			report := audited(t, line+"\n"+good, audit.Options{Lenient: lenient})
			require.Equal(t, 1, report.Found, name)
			v := report.Violations[0]
			require.Equal(t, "IV-01", v.Invariant, name)
			require.Equal(t, 1, v.Line, name)
			require.LessOrEqual(t, len([]rune(v.Explanation)), 601, name)
			require.Equal(t, 12, report.Lines, name)
		}
	}
}

func TestCheckRefusesTooManyOpenRuns(t *testing.T) {
	t.Parallel()
	first, _, _ := strings.Cut(logs(t, "good")["question-and-answer"], "\n")
	var log strings.Builder
	for i := range 4 {
		log.WriteString(strings.Replace(first, "run-1", fmt.Sprintf("run-%d", i), 1) + "\n")
	}
	for _, lenient := range []bool{false, true} {
		report, err := audit.Log(strings.NewReader(log.String()), audit.Options{OpenRuns: 3, Lenient: lenient})
		require.ErrorIs(t, err, audit.ErrTooManyRuns)
		require.ErrorContains(t, err, "4 at line 4")
		require.Equal(t, 4, report.Unfinished)
		require.Equal(t, 4, audited(t, log.String(), audit.Options{OpenRuns: 4, Lenient: lenient}).Unfinished)
	}
}

// many is a log of many runs, one after the other, that is never in memory as a whole.
type many struct {
	log  string
	runs int
	next int
	rest []byte
}

func (m *many) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		if m.next == m.runs {
			return 0, io.EOF
		}
		m.rest = []byte(strings.ReplaceAll(m.log, `"run-1"`, fmt.Sprintf("\"run-%d\"", m.next)))
		m.next++
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// A long log takes little memory: next to nothing is kept of runs that ended, whether the log is in
// order or not, and an open run takes at most 4 KiB.
func TestCheckTakesLittleMemoryForALongLog(t *testing.T) {
	sample.Sequential(t)
	const runs = 2000
	for _, c := range []struct {
		log string
		run int64 // bytes kept of each
	}{
		{logs(t, "good")["question-and-answer"], 512},
		{logs(t, "violations")["IV-03-an-event-is-missing"], 512},
		{logs(t, "violations")["IV-30-speaks-while-queued"], 4 << 10}, // its run does not end
	} {
		for _, lenient := range []bool{false, true} {
			before := heap()
			var most int64
			report, err := audit.Log(io.TeeReader(&many{log: c.log, runs: runs}, every(400, func() {
				most = max(most, heap())
			})), audit.Options{Lenient: lenient})
			require.NoError(t, err)
			require.Equal(t, runs, report.Runs)
			require.LessOrEqual(t, len(report.Violations), audit.DefaultMaxViolations)
			require.Less(t, most-before, runs*c.run)
		}
	}
}

// every returns a writer that calls f at each nth write.
func every(n int, f func()) io.Writer { return &counted{n: n, f: f} }

type counted struct {
	n, at int
	f     func()
}

func (c *counted) Write(p []byte) (int, error) {
	if c.at++; c.at%c.n == 0 {
		c.f()
	}
	return len(p), nil
}

// heap returns the number of bytes in use on the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// FuzzLog: every log is judged to its end, with the same result however it is read, and a log that
// passes strictly needs no forgiving.
func FuzzLog(f *testing.F) {
	for _, folder := range []string{"good", "violations"} {
		for _, log := range logs(f, folder) {
			f.Add([]byte(log))
		}
	}
	other, err := os.ReadFile("../check/testdata/other-producer.jsonl")
	require.NoError(f, err)
	f.Add(other)
	f.Fuzz(func(t *testing.T, log []byte) {
		strict, err := audit.Log(bytes.NewReader(log), audit.Options{})
		require.NoError(t, err)
		again, err := audit.Log(iotest.OneByteReader(bytes.NewReader(log)), audit.Options{})
		require.NoError(t, err)
		require.Equal(t, strict, again)
		first, err := audit.Check(bytes.NewReader(log))
		require.NoError(t, err)
		require.Equal(t, first.First() == nil, strict.Found == 0)

		lenient, err := audit.Log(bytes.NewReader(log), audit.Options{Lenient: true})
		require.NoError(t, err)
		require.Equal(t, strict.Lines, lenient.Lines)
		if strict.Found == 0 {
			require.Equal(t, strict, lenient)
		}
		for _, r := range []audit.Report{strict, lenient} {
			require.LessOrEqual(t, r.Unfinished, r.Runs)
			require.Len(t, r.Violations, min(r.Found, audit.DefaultMaxViolations))
		}
	})
}
