package docs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// K3 to K6: the programs that docs/questions.md shows are parts of examples of package lifecycle, which are run.
func TestTheProgramsAboutQuestionsAreRun(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "lifecycle", "example*_test.go"))
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
		shown := strings.Contains(all.String(), program)
		require.True(t, shown, "the page shows what is part of no example:\n%s", program)
	}
}
