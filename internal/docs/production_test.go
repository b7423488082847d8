package docs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The code writes the log messages that docs/production.md explains, with the level that the page
// says.
func TestTheLogMessagesOnThePageAreWritten(t *testing.T) {
	var source strings.Builder
	for _, folder := range []string{"lifecycle", "lifecycle/internal/node", "host/notify"} {
		paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		require.NoError(t, err)
		for _, path := range paths {
			source.WriteString(read(t, strings.TrimPrefix(path, root+"/")))
		}
	}
	_, section, found := strings.Cut(read(t, "docs/production.md"), "\nIn the log ")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	calls := map[string]string{"error": "Error", "warning": "Warn", "info": "Info"}
	table := rows(section)
	require.NotEmpty(t, table)
	for _, r := range table {
		require.Contains(t, calls, r[1])
		message := strings.Trim(r[0], "`")
		require.Contains(t, source.String(), `.`+calls[r[1]]+`("`+message+`"`, "a message of docs/production.md")
	}
}
