package docs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/testing.md shows exactly the test that runs.
func TestTheTestOnThePageIsRun(t *testing.T) {
	require.Contains(t, read(t, "docs/testing.md"), "```go\n"+read(t, "internal/docs/approval/approval_test.go")+"```\n")
}

// M5: the rehearsals that docs/testing.md shows are parts of the example, which is run.
func TestTheRehearsalsOnThePageAreRun(t *testing.T) {
	example := read(t, "examples/rehearsal_test.go")
	_, page, found := strings.Cut(read(t, "docs/testing.md"), "\n## A crash at every commit\n")
	require.True(t, found)
	blocks := strings.Split(page, "```go\n")[1:]
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		program, _, closed := strings.Cut(block, "```\n")
		require.True(t, closed)
		require.Contains(t, example, program)
	}
}
