package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every bug of the museum is seen by its check, which passes without it.
func TestEveryBugIsSeen(t *testing.T) {
	root, err := rootOf(".")
	require.NoError(t, err)
	bugs, err := readBugs("bugs", "")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(bugs), 15)
	findings, err := show(t.Context(), root, bugs)
	require.NoError(t, err)
	for _, f := range findings {
		t.Run(f.bug.name, func(t *testing.T) {
			require.NoError(t, f.err, "%s", f.bug.story)
			require.NotEmpty(t, f.said)
			t.Logf("%s: %s: %s", f.took.Round(1e8), f.bug.check, f.said)
		})
	}
}

func TestApplyRefusesAPatchThatDoesNotFit(t *testing.T) {
	const diff = "--- a/museum_test.go\n+++ b/museum_test.go\n@@ -1 +1 @@\n-package elsewhere\n+package here\n"
	_, err := patched(".", diff)
	require.ErrorContains(t, err, "does not apply any more: the lines of hunk 1 are 0 times in museum_test.go")
	_, err = patched(".", "--- a/gone.go\n+++ b/gone.go\n@@ -1 +1 @@\n-package gone\n+package here\n")
	require.ErrorContains(t, err, "does not apply any more")
	files, err := patched(".", "--- a/museum_test.go\n+++ b/museum_test.go\n@@ -1 +1 @@\n-package main\n+package "+
		"changed\n")
	require.NoError(t, err)
	require.Regexp(t, "^package changed\n\nimport", files["museum_test.go"])
}

func TestReadBugNeedsStoryCheckAndDiff(t *testing.T) {
	for _, text := range []string{"", "story: once\ncheck: go test ./x -run T\n", "check: go test ./x\n--- a/x\n",
		"story: once\n--- a/x\n"} {
		_, err := readBug("bug", text)
		require.ErrorContains(t, err, "unified diff")
	}
	b, err := readBug("bug", "story: Once upon a time.\ncheck: go test ./x -run TestX -short\n\n--- a/x\n+++ b/x\n")
	require.NoError(t, err)
	require.Equal(t, bug{"bug", "Once upon a time.", check{"./x", []string{"-run", "TestX", "-short"}},
		"--- a/x\n+++ b/x\n"}, b)
}
