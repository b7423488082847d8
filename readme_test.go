package interlude_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// A3: the diagram of docs/concepts.md has exactly the state machine's transitions, without those
// from a state to itself.
func TestConceptsDrawTheStateMachine(t *testing.T) {
	want := make(map[string]bool)
	for _, arrow := range fsm.Transitions() {
		if arrow.From != arrow.To {
			want[string(arrow.From)+" --> "+string(arrow.To)] = true
		}
	}
	drawn := regexp.MustCompile(`(?m)^    (\w+ --> \w+)`).FindAllString(page(t, "docs/concepts.md"), -1)
	for i := range drawn {
		drawn[i] = strings.TrimSpace(drawn[i])
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), drawn)
}

// docs/README.md lists the modules with their Go versions. The README names the root module.
func TestTheIndexListsTheModules(t *testing.T) {
	text := page(t, "docs/README.md")
	files, err := filepath.Glob("*/*/go.mod")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range append(files, "go.mod") {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		found := regexp.MustCompile(`(?s)^module (\S+).*\ngo (\S+)\n`).FindStringSubmatch(string(body))
		require.NotNil(t, found, name)
		require.Contains(t, text, "Go "+strings.TrimSuffix(found[2], ".0"), "the Go of %s", name)
		if folder := filepath.Dir(name); folder != "." {
			require.Contains(t, text, "`"+filepath.ToSlash(folder)+"`", "the module of %s", name)
		} else {
			require.Contains(t, page(t, "README.md"), found[1])
		}
	}
}

// docs/README.md links to every page for users, and the indexes of engines and internals to theirs.
func TestTheIndexListsThePages(t *testing.T) {
	for pattern, index := range map[string]string{
		"docs/*.md": "docs/README.md", "docs/tutorials/*.md": "docs/README.md",
		"docs/engines/*.md": "docs/engines/README.md", "docs/internals/*.md": "docs/internals/README.md",
	} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, name := range files {
			if name == index {
				continue
			}
			link, err := filepath.Rel(filepath.Dir(index), name)
			require.NoError(t, err)
			require.Contains(t, page(t, index), "]("+filepath.ToSlash(link)+")", "%s does not list %s", index, name)
		}
	}
}

// The README's first code is examples/hello, without the parts of every program: each line is a
// line of the program, except the comment. A line with {… } at its end means a block.
func TestTheReadmesCodeIsTheProgramHello(t *testing.T) {
	code := func(line string) string {
		line, _, _ = strings.Cut(line, " // ")
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "… }"))
	}
	source, err := os.ReadFile("examples/hello/main.go")
	require.NoError(t, err)
	var program []string
	for line := range strings.Lines(string(source)) {
		program = append(program, code(line))
	}
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(page(t, "README.md"))
	require.NotNil(t, block)
	for line := range strings.Lines(block[1]) {
		want := strings.TrimPrefix(code(line), "go ") // Serve runs in a goroutine, which the program waits for
		found := slices.ContainsFunc(program, func(have string) bool {
			return have == want || strings.HasPrefix(want, "lc.Serve(") && strings.Contains(have, "lc.Serve(")
		})
		require.True(t, found, "the README's line is not in examples/hello:\n%s", want)
	}
}
