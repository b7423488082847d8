package docs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The test that docs/testing.md shows is the one that runs.
func TestTheTestOnThePageIsRun(t *testing.T) {
	require.Contains(t, read(t, "docs/testing.md"), "```go\n"+read(t, "internal/docs/approval/approval_test.go")+"```\n")
}
