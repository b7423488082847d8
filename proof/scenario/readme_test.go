package scenario_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is a command's in README.md.
func (c command) row(name string) string {
	text := "| `" + c.usage(name) + "` | " + c.doc
	if c.body != "" {
		text += "; below it " + c.body
	}
	return text + " |\n"
}

// README.md lists every command as it is written, and every step of an agent; and nothing that
// there is not.
func TestTheReadmeListsWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		c := commands[name]
		require.NotEmpty(t, c.doc, name)
		require.Contains(t, string(text), c.row(name), "README.md lacks a row")
	}
	rows := regexp.MustCompile("(?m)^\\| `").FindAllString(string(text), -1)
	steps := 0
	for _, row := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(row, "| `message TEXT`") || steps > 0 && strings.HasPrefix(row, "|") {
			steps++
		} else if steps > 0 {
			break
		}
	}
	require.Len(t, rows, len(commands)+steps, "README.md has a row too many")
	for verb := range verbs {
		require.Regexp(t, "`"+verb+"[ `]", string(text), "README.md lacks a step")
	}
}
