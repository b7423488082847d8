package docs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// K3 to K6: the programs that docs/questions.md shows are parts of examples, which are run.
func TestTheProgramsAboutQuestionsAreRun(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range files {
		rel, err := filepath.Rel(root, name)
		require.NoError(t, err)
		all.WriteString(read(t, rel))
	}
	blocks := strings.Split(read(t, "docs/questions.md"), "```go\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		program, _, closed := strings.Cut(block, "```\n")
		require.True(t, closed)
		require.Contains(t, all.String(), program, "what the page shows must be part of an example")
	}
}
