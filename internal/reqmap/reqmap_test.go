package reqmap_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/reqmap"
)

func scan(t *testing.T) (string, reqmap.Map) {
	t.Helper()
	root, err := reqmap.Root()
	require.NoError(t, err)
	m, err := reqmap.Scan(root)
	require.NoError(t, err)
	return root, m
}

func TestEveryRequirementHasATest(t *testing.T) {
	_, m := scan(t)
	require.Len(t, reqmap.Requirements(), 7+11+8+6+8+9+4+4+13+14+9+5+5+8)
	for _, r := range reqmap.Requirements() {
		require.NotEmpty(t, m[r.ID], "no test names %s: %s", r.ID, r.Text)
	}
}

// Each requirement that the contract names is in the table.
func TestTheTableHasWhatTheContractNames(t *testing.T) {
	root, err := reqmap.Root()
	require.NoError(t, err)
	contract, err := os.ReadFile(filepath.Join(root, "contract", "lifecycle.json"))
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, r := range reqmap.Requirements() {
		known[r.ID] = true
	}
	named := regexp.MustCompile(`"([A-Z][0-9]+)"`).FindAllSubmatch(contract, -1)
	require.NotEmpty(t, named)
	for _, id := range named {
		require.True(t, known[string(id[1])], "the contract names %s, requirements.txt does not", id[1])
	}
}

func lines(text []byte) []string { return strings.Split(string(text), "\n") }

func TestTheTableIsFresh(t *testing.T) {
	root, m := scan(t)
	stored, err := os.ReadFile(filepath.Join(root, "docs", "internals", "requirements.md"))
	require.NoError(t, err)
	want, have := lines(reqmap.Render(m)), lines(stored)
	for i, line := range want {
		// The first line that differs says more than both tables in full.
		require.True(t, i < len(have) && have[i] == line, "requirements.md is stale, run go generate ./... Line "+
			"%d should be: %s", i+1, line)
	}
	require.Len(t, have, len(want), "docs/internals/requirements.md is stale, run go generate ./...")
}
