package guide_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// block is a fenced block of the page, with the text before it.
type block struct {
	lang, text, before string
}

var fenced = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns the blocks of the page, in order. Quoted blocks (in lines that begin with >) are
// for some readers only, and left out.
func blocks(tb testing.TB, path string) (all []block) {
	tb.Helper()
	text, err := os.ReadFile(path)
	require.NoError(tb, err)
	end := 0
	for _, at := range fenced.FindAllSubmatchIndex(text, -1) {
		all = append(all, block{
			lang: string(text[at[2]:at[3]]), text: string(text[at[4]:at[5]]), before: string(text[end:at[0]]),
		})
		end = at[1]
	}
	require.NotEmpty(tb, all)
	return all
}

var fileLine = regexp.MustCompile(`^// (\w+\.go)\n`)

// file returns the name of the file that a block shows, or "" if the block shows a part of one.
func (b block) file() string {
	if name := fileLine.FindStringSubmatch(b.text); name != nil {
		return name[1]
	}
	return ""
}

var below = regexp.MustCompile("(?:to\\s+`(\\w+\\.go)`,\\s+)?below\\s+`([^`]+)`")

// insert puts the block after the line that the text before the block names, of the file in the folder
// that it names; without a name it is agent.go.
func (b block) insert(tb testing.TB, folder string) {
	tb.Helper()
	named := below.FindStringSubmatch(b.before)
	require.NotNil(tb, named, "say below which line this stands: %s", b.text)
	path, line := filepath.Join(folder, cmp.Or(named[1], "agent.go")), named[2]+"\n"
	text, err := os.ReadFile(path)
	require.NoError(tb, err)
	require.Equal(tb, 1, strings.Count(string(text), line), "lines %q of %s", line, path)
	changed := strings.Replace(string(text), line, line+b.text, 1)
	require.NoError(tb, os.WriteFile(path, []byte(changed), 0o600))
}

// exchange is a command with its output.
type exchange struct {
	command string
	prints  *regexp.Regexp
}

// exchanges returns the commands of a block that shows a terminal. In their output, … matches
// anything in a line, and a line of … any lines.
func (b block) exchanges() (all []exchange) {
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		command, output, _ := strings.Cut(part, "\n")
		want := regexp.QuoteMeta(strings.TrimSpace(output))
		want = strings.ReplaceAll(want, "…\n", "(?s:.*)")
		want = strings.ReplaceAll(want, "…", ".*")
		all = append(all, exchange{command, regexp.MustCompile("^" + want + `\s*$`)})
	}
	return all
}
