package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// transcripts matches the calls in the README, each with its output.
var transcripts = regexp.MustCompile("(?s)```\n\\$ interlude (run [^\n]*)\n(.*?)```")

// variable matches the parts that differ from run to run.
var variable = regexp.MustCompile(`\d{8}-\d{6}-\w{4}|[\d.]+ (s|min|ms)\b`)

// E1, E4: the README shows the program's output: a question left open, a kill -9 in the middle of a
// turn, and the end.
func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "hello"), os.DirFS("hello")))
	calls := transcripts.FindAllStringSubmatch(string(page), -1)
	require.Len(t, calls, 3)
	for i, typed := range []string{"", "3\n", "yes\n"} {
		cmd := calling(t, strings.Fields(calls[i][1])...)
		var out bytes.Buffer
		cmd.Dir, cmd.Stdin, cmd.Stdout = dir, strings.NewReader(typed), &out
		_ = cmd.Run() // two of the calls end before the run
		printed := strings.ReplaceAll(out.String(), "go run ./cmd/interlude ", "interlude ")
		if i == 1 { // the agent may get that far before the kill
			printed = strings.Replace(printed, "  Noted: pirate.\n", "", 1)
		}
		shown := strings.Replace(calls[i][2], "> ^C\n", "> \n", 1)
		require.Equal(t, variable.ReplaceAllString(shown, "…"), variable.ReplaceAllString(printed, "…"))
	}
}
