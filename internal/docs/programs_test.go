package docs_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// block is a program or a list of commands of a page.
type block struct {
	lang string
	text string
}

var fence = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")

func blocks(tb testing.TB, page string) (all []block) {
	tb.Helper()
	for _, m := range fence.FindAllStringSubmatch(read(tb, page), -1) {
		all = append(all, block{m[1], m[2]})
	}
	return all
}

// followed are pages whose programs other tests build and execute: TestTheGuideWorks, and
// TestTheReadmesCodeIsTheProgramHello.
var followed = []string{"docs/guide.md", "README.md"}

// others matches programs for other libraries, with which docs/compare.md compares.
var others = regexp.MustCompile(`\b(river|dbos|workflow)\.`)

// handled matches the handling of an error, which pages and tests write differently.
var handled = regexp.MustCompile(`(?m)^(must\(err\)|require\.NoError\(t, err\)|` +
	`if err != nil \{(\n(log\.|return|must).*)+\n\})\n`)

// plain returns a program's lines without indentation, comments, blank lines and the handling of
// errors.
func plain(program string) string {
	var b strings.Builder
	for line := range strings.Lines(program) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " // ")
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return handled.ReplaceAllString(b.String(), "")
}

// Each Go program on a page is part of a test, or of a program that a test runs. In a page's
// program, "…" replaces omitted lines, or an omitted part of a line.
func TestTheProgramsOfThePagesAreRun(t *testing.T) {
	var sources []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"),
			strings.HasSuffix(path, ".go") && strings.Contains(path, "/examples/"):
			text, err := os.ReadFile(path)
			sources = append(sources, plain(string(text)))
			return err
		}
		return nil
	}))
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.lang != "go" || slices.Contains(followed, page) || others.MatchString(b.text) {
				continue
			}
			for part := range strings.SplitSeq("\n"+plain(b.text), "\n…\n") {
				part = strings.Trim(part, "\n")
				shown := regexp.MustCompile(`(?m)^` + strings.ReplaceAll(regexp.QuoteMeta(part), "…", ".*") + `$`)
				assert.True(t, slices.ContainsFunc(sources, shown.MatchString),
					"%s shows a program that no test runs:\n%s", page, part)
			}
		}
	}
}

// The JSON on the pages is valid, and pages of agents install a tested version: the newest of the
// adapter, with which CI tests it where its license permits that.
func TestThePagesHaveValidJSONAndTestedVersions(t *testing.T) {
	install := regexp.MustCompile(`(?m)^npm install -g \S+@(\S+)$`)
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.lang == "json" {
				assert.True(t, json.Valid([]byte(b.text)), "%s:\n%s", page, b.text)
			}
			if m := install.FindStringSubmatch(b.text); m != nil {
				agent := strings.TrimSuffix(filepath.Base(page), ".md")
				adapter := read(t, "engine/agents/"+agent+".go")
				assert.Regexp(t, `tried: +\[2\]string\{"[^"]+", "`+regexp.QuoteMeta(m[1])+`"`, adapter, page)
			}
		}
	}
}

// executed are the first words of commands that other tests, or the release's rehearsal, execute:
// the commands of the guide, of interlude (cmd/interlude), and of an installation (.ci/rehearse.sh,
// .ci/clients.sh). The rest prepares a shell, or belongs to other programs.
var executed = strings.Fields("interlude mkdir cp go I= for done npm npx export tar sudo docker curl umask git sed " +
	"interlude_0.1.0_linux_amd64/interlude SEED=42")

var (
	testFlags = []string{"tags", "run", "v", "race", "timeout", "parallel", "count", "bench", "benchtime", "fuzz",
		"fuzztime", "args", "rapid.checks", "h"}
	flagWord = regexp.MustCompile(`(?:^|\s)--?([a-z][\w.-]*)`)
	ofTests  = regexp.MustCompile(`-(?:run|fuzz|bench) '?\^?(\w+)`)
	inline   = regexp.MustCompile("`((?:cd \\S+ && )?go (?:run \\./|test )[^`…]+)`")
)

// Each go run and go test command on a page names an existing package, and existing flags and
// tests. Other tests execute the other commands.
func TestTheCommandsOfThePagesExist(t *testing.T) {
	tests := testNames(t)
	for _, page := range append(pages(t), "CONTRIBUTING.md", "AGENTS.md", "contract/README.md") {
		if slices.Contains(followed, page) {
			continue
		}
		for _, b := range blocks(t, page) {
			if b.lang != "sh" && b.lang != "" {
				continue
			}
			folder, typed := ".", strings.HasPrefix(b.text, "$ ") // then other lines are output
			for line := range strings.Lines(b.text) {
				if typed && !strings.HasPrefix(line, "$ ") {
					continue
				}
				folder = command(t, tests, page, folder, strings.TrimSpace(line))
			}
		}
		for _, m := range inline.FindAllStringSubmatch(read(t, page), -1) {
			if in := strings.Fields(m[1]); in[0] != "cd" && slices.Contains(in, ".") {
				continue // the page's text names the folder
			}
			command(t, tests, page, ".", m[1])
		}
	}
}

// command checks a line of a shell in a folder, and returns the folder of the next line.
func command(t *testing.T, tests map[string]string, page, folder, line string) string {
	t.Helper()
	line, _, _ = strings.Cut(line, "  #")
	line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
	if rest, ok := strings.CutPrefix(line, "cd "); ok {
		in, then, _ := strings.Cut(rest, " && ")
		assert.DirExists(t, filepath.Join(root, in), "%s: %s", page, line)
		if then != "" {
			command(t, tests, page, in, then)
			return folder
		}
		return in
	}
	words := strings.Fields(line)
	switch {
	case line == "", strings.HasPrefix(line, "#"):
	case strings.HasPrefix(line, "go run ./"):
		in := filepath.Join(root, folder, words[2])
		files, err := filepath.Glob(filepath.Join(in, "*.go"))
		require.NoError(t, err)
		assert.NotEmpty(t, files, "%s: %s", page, line)
		hasFlags(t, page, line, in, nil)
	case strings.HasPrefix(line, "go test "):
		found := false
		for _, word := range words[2:] {
			if word != "." && !strings.HasPrefix(word, "./") {
				continue
			}
			in := filepath.Join(root, folder, word)
			assert.DirExists(t, in, "%s: %s", page, line)
			hasFlags(t, page, line, in, testFlags)
			below := strings.TrimPrefix(filepath.ToSlash(in)+"/", root+"/")
			for _, m := range ofTests.FindAllStringSubmatch(line, -1) {
				for name, path := range tests {
					found = found || strings.Contains(name, m[1]) &&
						strings.HasPrefix(path, strings.TrimPrefix(below, "./"))
				}
			}
		}
		hasNames := ofTests.MatchString(line) && !strings.Contains(line, "-bench")
		assert.True(t, found || !hasNames, "%s: no package of the line has the test: %s", page, line)
	case strings.HasPrefix(words[0], ".ci/"), strings.HasPrefix(words[0], "./"):
		assert.FileExists(t, filepath.Join(root, words[0]), "%s: %s", page, line)
	default:
		known := slices.Contains(executed, words[0]) || strings.HasPrefix(line, "I=") || strings.Contains(line, ".ci/")
		assert.True(t, known, "%s: a command that no test knows: %s", page, line)
	}
	return folder
}

// hasFlags fails the test unless a folder's source declares each flag of the line.
func hasFlags(t *testing.T, page, line, in string, known []string) {
	t.Helper()
	var source strings.Builder
	require.NoError(t, filepath.WalkDir(in, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		source.Write(text)
		return err
	}))
	for _, m := range flagWord.FindAllStringSubmatch(line, -1) {
		declared := slices.Contains(known, m[1]) || strings.Contains(source.String(), `"`+m[1]+`"`) || m[1] == "h"
		assert.True(t, declared, "%s: %s has no flag -%s: %s", page, in, m[1], line)
	}
}
