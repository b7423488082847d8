package contract_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/internal/sample"
)

// G1, G4: every single change of the contract is detected by something other than a copy of the
// contract: by its own soundness, by a law written from the requirements, or by a recorded log. An
// undetected mutant that decides anything differently shows a missing rule. The golden table is not
// used here: it would catch every change and explain none.
func TestEveryMutantIsCaught(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	m := &mutants{t: t, base: copyOf(t, contract.Load())}
	m.transitions()
	m.rejections()
	m.gate()
	m.policy()
	m.lists()
	m.invariants()
	recorded := record(t)
	require.Empty(t, recorded.misjudged(m.base), "the contract itself misjudges a log")

	caught := map[string]int{}
	var survivors []string
	for i, mutant := range m.all {
		if i%eachMutant != 0 {
			continue
		}
		l := mutant.l()
		by := caughtBy(l, recorded)
		if by == "" && sameDecisions(m.base, l) {
			by = "equal"
		}
		caught[by]++
		if by == "" {
			survivors = append(survivors, mutant.name)
		}
	}
	t.Logf("%d mutants; caught by soundness %d, by laws %d, by logs %d; equal in what they say %d; survivors %d",
		len(m.all), caught["soundness"], caught["laws"], caught["logs"], caught["equal"], len(survivors))
	require.Empty(t, survivors)
	require.Greater(t, len(m.all), 1500)
}

func caughtBy(l *contract.Lifecycle, recorded recordings) string {
	if l.Check() != nil || audit.Executable(l) != nil {
		return "soundness"
	}
	if contract.BrokenLaw(l) != "" {
		return "laws"
	}
	if recorded.misjudged(l) != "" {
		return "logs"
	}
	return ""
}

// sameDecisions reports whether a mutant of the gate is equivalent: the first rule that holds
// decides, so a condition that an earlier rule has settled may be repeated, and neighbours that
// exclude each other may change places. Every possible turn is tried.
func sameDecisions(base, l *contract.Lifecycle) bool {
	guards := []contract.Guard{{All: contract.GateFacts}}
	for _, r := range l.Gate {
		guards = append(guards, r.Guard)
	}
	gateless := *l
	gateless.Gate = base.Gate
	if !reflect.DeepEqual(&gateless, base) {
		return false // something else is different
	}
	equal := true
	contract.Assignments(contract.Mentioned(guards...), func(f contract.Facts) bool {
		want, _ := base.Decide(f)
		got, _ := l.Decide(f)
		equal = contract.Impossible(f) || want.Outcome == got.Outcome && want.Error == got.Error &&
			slices.Equal(want.Warnings,
				got.Warnings)
		return equal
	})
	return equal
}

// recordings are the logs of testdata, read once: schemas do not mutate.
type recordings map[string][]recordedLine

type recordedLine struct {
	event fcmp.Event
	wrong error // nil for an event
}

func record(t testing.TB) recordings {
	t.Helper()
	out := recordings{}
	for _, folder := range []string{"good", "violations"} {
		paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.jsonl"))
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			body, err := os.ReadFile(path)
			require.NoError(t, err)
			name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
			for line := range bytes.Lines(body) {
				e, err := fcmp.Verify(line)
				out[name] = append(out[name], recordedLine{e, err})
			}
		}
	}
	return out
}

// misjudged names a log on which the contract's invariants do not say what its name says, or "".
func (r recordings) misjudged(l *contract.Lifecycle) string {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		want := ""
		if strings.HasPrefix(name, "IV-") {
			want = name[:len("IV-00")]
		}
		if judged(l, r[name]) != want {
			return name
		}
	}
	return ""
}

func judged(l *contract.Lifecycle, lines []recordedLine) string {
	c := audit.NewCheckerFor(l)
	for _, line := range lines {
		var found []audit.Violation
		if line.wrong != nil {
			found = c.Refuse(nil, line.wrong)
		} else {
			found = c.Verified(line.event)
		}
		if len(found) > 0 {
			return found[0].Invariant
		}
	}
	if left := c.Close(); len(left) > 0 {
		return left[0].Invariant
	}
	return ""
}
