package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func logs(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	out := map[string][]byte{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		out[strings.TrimSuffix(filepath.Base(path), ".jsonl")] = body
	}
	return out
}

// G4: a log of a run that kept its promises passes.
func TestGoodLogsPass(t *testing.T) {
	t.Parallel()
	for name, body := range logs(t, "good") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := Check(bytes.NewReader(body))
			require.NoError(t, err)
			require.Nil(t, report.Violation)
			require.Equal(t, bytes.Count(body, []byte{'\n'}), report.Lines)
			require.Positive(t, report.Runs)
		})
	}
}

// G4: for every invariant there is a log that breaks it, and the checker names that invariant.
func TestEveryInvariantIsCaught(t *testing.T) {
	t.Parallel()
	caught := map[string]bool{}
	for name, body := range logs(t, "violations") {
		want := name[:len("IV-00")]
		report, err := Check(bytes.NewReader(body))
		require.NoError(t, err)
		require.NotNil(t, report.Violation, "%s: nothing was found", name)
		require.Equal(t, want, report.Violation.Invariant, "%s: %v", name, report.Violation)
		require.NotEmpty(t, report.Violation.Explanation, name)
		if want != "IV-01" {
			require.Equal(t, "run-1", report.Violation.RunID, name)
		}
		caught[want] = true
	}
	for _, v := range Load().Invariants {
		require.True(t, caught[v.ID], "%s has no log that breaks it in testdata/violations", v.ID)
	}
	require.Len(t, caught, len(Load().Invariants))
}

// G4: a violation is found among many other runs, with its own line and run.
func TestRunsAreJudgedApart(t *testing.T) {
	t.Parallel()
	good := strings.ReplaceAll(string(logs(t, "good")["question-and-answer"]), "run-1", "run-good")
	bad := string(logs(t, "violations")["IV-30-speaks-while-queued"])
	mixed := interleave(good, bad)
	report, err := Check(strings.NewReader("\n" + mixed + "\n\n"))
	require.NoError(t, err)
	require.Equal(t, &Violation{Invariant: "IV-30", RunID: "run-1", Line: 5, Seq: 2,
		Explanation: "assistant.message.intermediate in state queued"}, report.Violation)
	require.EqualError(t, report.Violation,
		`line 5: run "run-1" violates IV-30: assistant.message.intermediate in state queued`)
}

// G4: every log of testdata/violations has one fault, and the checker tells it once: what comes
// after it is judged by what is known then.
func TestOneFaultIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, body := range logs(t, "violations") {
		found := findings(NewChecker(), string(body))
		require.Len(t, found, 1, name)
		require.Equal(t, name[:5], found[0].Invariant, name)
	}
}

// G4: all faults of a run are told, those behind the first too, each with its own invariant; also
// several of one event.
func TestEveryFaultOfARunIsTold(t *testing.T) {
	t.Parallel()
	log := string(logs(t, "good")["question-and-answer"])
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
	for _, v := range findings(NewChecker(), strings.Join(lines, "")) {
		told = append(told, fmt.Sprintf("%d %s", v.Line, v.Invariant))
	}
	require.Equal(t, []string{"2 IV-35", "3 IV-01", "6 IV-28", "8 IV-26", "9 IV-05", "9 IV-07", "11 IV-20", "11 IV-22"},
		told)
}

// G4: the checker goes on after a violation, in the run that broke and in the others. A row of
// events that stand twice is told once.
func TestCheckerGoesOnWithTheOtherRuns(t *testing.T) {
	t.Parallel()
	bad := string(logs(t, "violations")["IV-30-speaks-while-queued"])
	halves := strings.ReplaceAll(string(logs(t, "violations")["IV-26-log-ends-between"]), "run-1", "run-2")
	c := NewChecker()
	var found []Violation
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

// G4: events can be judged as they come, without being written down.
func TestCheckerTakesEvents(t *testing.T) {
	t.Parallel()
	for _, body := range logs(t, "good") {
		c := NewChecker()
		for line := range strings.Lines(string(body)) {
			e, err := Decode([]byte(line))
			require.NoError(t, err)
			require.Nil(t, c.Event(e))
		}
		require.Empty(t, c.Close())
	}
	c := NewChecker()
	v := c.Event(Event{})
	require.Equal(t, "IV-01", v[0].Invariant)
	v = c.Event(Event{Data: []byte("{")})
	require.Equal(t, "IV-01", v[0].Invariant)
	require.Equal(t, 2, v[0].Line)
}

func TestLogsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, err := Check(io.MultiReader(bytes.NewReader(logs(t, "good")["question-and-answer"]), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "after line 11")

	report, err := Check(strings.NewReader(""))
	require.NoError(t, err)
	require.Equal(t, Report{}, report)

	endless := io.MultiReader(strings.NewReader("{"), io.LimitReader(zeros{}, 4*MaxEvent), strings.NewReader("\n"))
	report, err = Check(endless)
	require.NoError(t, err)
	require.Equal(t, "IV-01", report.Violation.Invariant)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
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

// FuzzCheck: whatever a log says, the checker ends with a verdict of the contract, and the same one
// each time.
func FuzzCheck(f *testing.F) {
	for _, folder := range []string{"good", "violations"} {
		for _, body := range logs(f, folder) {
			f.Add(body)
		}
	}
	known := map[string]bool{}
	for _, v := range Load().Invariants {
		known[v.ID] = true
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := Check(bytes.NewReader(body))
		require.NoError(t, err)
		if first.Violation != nil {
			require.True(t, known[first.Violation.Invariant])
			require.NotEmpty(t, first.Violation.Explanation)
		}
		second, err := Check(iotest.OneByteReader(bytes.NewReader(body)))
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}
