package contract

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/cells.golden anew, for review")

const golden = "testdata/cells.golden"

// G2: every cell of the contract, as reviewed. A difference here is a change of behaviour.
func TestGoldenCells(t *testing.T) {
	t.Parallel()
	got := cells(Load())
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "the contract's cells changed; review with: go test ./contract -run "+
		"TestGoldenCells -update")
}

// cells is the whole table, a line for each state × event × transition.
func cells(l *Lifecycle) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s × %-31s → %-12s slot %-7s emits %s\n", "-", "submitted", l.Submission.To, l.Submission.Slot,
		emitted(l.Submission.Emits))
	for _, s := range l.States {
		for _, e := range l.Events {
			cell(&b, l, s.Name, e.Name)
		}
	}
	return b.String()
}

func cell(b *strings.Builder, l *Lifecycle, state, event string) {
	taken := false
	for _, t := range l.Transitions {
		if t.From != state || t.Event != event {
			continue
		}
		taken = true
		var when []string
		when = append(when, t.All...)
		for _, name := range t.None {
			when = append(when, "!"+name)
		}
		fmt.Fprintf(b, "%-12s × %-31s → %-12s %s slot %-7s when [%s] emits %s error [%s]\n", state, event, t.To, t.ID,
			t.Slot,
			strings.Join(when, " "), emitted(t.Emits), strings.Join(append([]string{t.Error}, t.Also...), " "))
	}
	if !taken {
		v := l.Next(state, event, nil)
		fmt.Fprintf(b, "%-12s × %-31s ✗ %s %s\n", state, event, v.Rule, v.Code)
	}
}

func emitted(list []Emission) string {
	marks := map[string]string{"one": "", "optional": "?", "many": "*", "some": "+"}
	var out []string
	for _, e := range list {
		out = append(out, e.Type+marks[e.Count])
	}
	return "[" + strings.Join(out, " ") + "]"
}
