package reqmap_test

import (
	"os"
	"path/filepath"
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
	require.Len(t, reqmap.Requirements(), 7+11+8+6+8+9+4+4+13+4)
	for _, r := range reqmap.Requirements() {
		require.NotEmpty(t, m[r.ID], "no test names %s: %s", r.ID, r.Text)
	}
}

func lines(text []byte) []string { return strings.Split(string(text), "\n") }

func TestTheTableIsFresh(t *testing.T) {
	root, m := scan(t)
	stored, err := os.ReadFile(filepath.Join(root, "docs", "requirements.md"))
	require.NoError(t, err)
	want, have := lines(reqmap.Render(m)), lines(stored)
	for i, line := range want {
		// The line that differs says more than the whole table twice.
		require.True(t, i < len(have) && have[i] == line, "docs/requirements.md is stale, run go generate ./... Line %d should be: %s", i+1, line)
	}
	require.Len(t, have, len(want), "docs/requirements.md is stale, run go generate ./...")
}
