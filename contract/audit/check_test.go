package audit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/internal/sample"
)

// G4: for every invariant there is a log that breaks it, and the checker names that invariant.
func TestCheckCatchesEveryInvariant(t *testing.T) {
	t.Parallel()
	caught := map[string]bool{}
	for name, body := range logs(t, "violations") {
		want := name[:len("IV-00")]
		report, err := audit.Check(strings.NewReader(body))
		require.NoError(t, err)
		require.NotNil(t, report.First(), "%s: nothing was found", name)
		require.Equal(t, want, report.First().Invariant, "%s: %v", name, report.First())
		require.NotEmpty(t, report.First().Explanation, name)
		if want != "IV-01" {
			require.Equal(t, "run-1", report.First().RunID, name)
		}
		caught[want] = true
	}
	for _, v := range contract.Load().Invariants {
		require.True(t, caught[v.ID], "%s has no log that breaks it in testdata/violations", v.ID)
	}
	require.Len(t, caught, len(contract.Load().Invariants))
}

// G4: a violation is found among many other runs, with its own line and run.
func TestCheckNamesTheRunOfAViolation(t *testing.T) {
	t.Parallel()
	good := strings.ReplaceAll(logs(t, "good")["question-and-answer"], "run-1", "run-good")
	bad := logs(t, "violations")["IV-30-speaks-while-queued"]
	mixed := interleave(good, bad)
	report, err := audit.Check(strings.NewReader("\n" + mixed + "\n\n"))
	require.NoError(t, err)
	require.Equal(t, &audit.Violation{Invariant: "IV-30", RunID: "run-1", Line: 5, Seq: 2,
		Explanation: "assistant.message.intermediate in state queued"}, report.First())
	require.EqualError(t, report.First(),
		`line 5: run "run-1" violates IV-30: assistant.message.intermediate in state queued`)
}

// G4: every log of testdata/violations has one fault, and the checker reports it once: the events
// after it are judged as if it had been right.
func TestCheckReportsAFaultOnce(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	for name, body := range logs(t, "violations") {
		found := findings(audit.NewChecker(), body)
		require.Len(t, found, 1, name)
		require.Equal(t, name[:5], found[0].Invariant, name)
	}
}

// G4: all faults of a run are reported, not only the first, each with its own invariant, even if
// one event has several.
func TestCheckerReportsEveryFaultOfARun(t *testing.T) {
	t.Parallel()
	log := logs(t, "good")["question-and-answer"]
	lines := strings.SplitAfter(log, "\n")
	spoil := func(i int, was, is string) {
		changed := strings.Replace(lines[i], was, is, 1)
		require.NotEqual(t, lines[i], changed, was)
		lines[i] = changed
	}
	spoil(1, `"updated_at":"2026`, `"updated_at":"3026`)
	spoil(2, `"seq":3`, `"seq":3,"seq":3`)
	spoil(5, `"interaction_id":1`, `"interaction_id":9`)
	spoil(7, `"trigger":"interaction.reply.accepted"`, `"trigger":"run.canceled"`)
	spoil(8, `"engine":"demo"`, `"engine":"other"`)
	spoil(8, `"attempt":2`, `"attempt":3`)
	spoil(10, `"warnings":[]`, `"warnings":["SOMETHING_ODD"]`)
	spoil(10, `"status":"succeeded"`, `"status":"failed"`)
	var told []string
	for _, v := range findings(audit.NewChecker(), strings.Join(lines, "")) {
		told = append(told, fmt.Sprintf("%d %s", v.Line, v.Invariant))
	}
	require.Equal(t, []string{"2 IV-35", "3 IV-01", "6 IV-28", "8 IV-26", "9 IV-05", "9 IV-07", "11 IV-20", "11 IV-22"},
		told)
}

// G4: the checker continues after a violation, in the broken run and in the others. A sequence of
// events that is in the log twice is reported once.
func TestCheckerGoesOnWithTheOtherRuns(t *testing.T) {
	t.Parallel()
	bad := logs(t, "violations")["IV-30-speaks-while-queued"]
	halves := strings.ReplaceAll(logs(t, "violations")["IV-26-log-ends-between"], "run-1", "run-2")
	c := audit.NewChecker()
	var found []audit.Violation
	for line := range strings.Lines(bad + bad + halves) {
		found = append(found, c.Line([]byte(line))...)
	}
	require.Len(t, found, 2)
	found = append(found, c.Close()...)
	require.Len(t, found, 3)
	require.Equal(t, []string{"IV-30", "IV-03", "IV-26"}, []string{found[0].Invariant, found[1].Invariant,
		found[2].Invariant})
	require.Equal(t, []string{"run-1", "run-1", "run-2"}, []string{found[0].RunID, found[1].RunID, found[2].RunID})
}

// G4: events can be judged one by one, without being written down.
func TestCheckerTakesEvents(t *testing.T) {
	t.Parallel()
	for _, body := range logs(t, "good") {
		c := audit.NewChecker()
		for line := range strings.Lines(body) {
			e, err := fcmp.Decode([]byte(line))
			require.NoError(t, err)
			require.Nil(t, c.Event(e))
		}
		require.Empty(t, c.Close())
	}
	c := audit.NewChecker()
	v := c.Event(fcmp.Event{})
	require.Equal(t, "IV-01", v[0].Invariant)
	v = c.Event(fcmp.Event{Data: []byte("{")})
	require.Equal(t, "IV-01", v[0].Invariant)
	require.Equal(t, 2, v[0].Line)
}

func interleave(a, b string) string {
	left, right := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	var out strings.Builder
	for i := range max(len(left), len(right)) {
		if i < len(left) {
			out.WriteString(left[i])
		}
		if i < len(right) {
			out.WriteString(right[i])
		}
	}
	return out.String()
}

// FuzzCheck: whatever a log contains, the checker ends, names an invariant of the contract, and
// gives the same verdict each time.
func FuzzCheck(f *testing.F) {
	for _, folder := range []string{"good", "violations"} {
		for _, body := range logs(f, folder) {
			f.Add([]byte(body))
		}
	}
	known := map[string]bool{}
	for _, v := range contract.Load().Invariants {
		known[v.ID] = true
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := audit.Check(bytes.NewReader(body))
		require.NoError(t, err)
		if first.First() != nil {
			require.True(t, known[first.First().Invariant])
			require.NotEmpty(t, first.First().Explanation)
		}
		second, err := audit.Check(iotest.OneByteReader(bytes.NewReader(body)))
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}
