package scenario_test

import (
	"bufio"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// story is a file, and what its first line says: the requirements that it stands for, and what it
// tells.
type story struct {
	path, section, ids, title string
}

// name is the story's among the sub-tests: D3_F2_a_sticky_process.
func (s story) name() string {
	return strings.ReplaceAll(s.ids, " ", "_") + "_" + strings.TrimSuffix(filepath.Base(s.path), ".txt")
}

var titled = regexp.MustCompile(`^# ([A-I][0-9]{1,2}(?: [A-I][0-9]{1,2})*): (.+)$`)

// readTitle reads a story's first line.
func readTitle(path string) (s story, _ error) {
	file, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer file.Close()
	line, err := bufio.NewReader(file).ReadString('\n')
	if err != nil {
		return s, fmt.Errorf("%s:1: %w", path, err)
	}
	parts := titled.FindStringSubmatch(strings.TrimSpace(line))
	s.path, s.section = path, filepath.Base(filepath.Dir(path))
	if parts == nil || !strings.HasSuffix(path, ".txt") {
		return s, fmt.Errorf("%s:1: a story is a .txt file, and begins with the ids of its requirements and what it "+
			"tells: # D3 F2: …", path)
	}
	s.ids, s.title = parts[1], parts[2]
	if !strings.Contains(strings.ToLower(s.ids), s.section) {
		return s, fmt.Errorf("%s:1: the story stands in folder %s, and names no requirement of that section", path,
			s.section)
	}
	return s, nil
}

// stories are the files below testdata.
func stories(tb testing.TB) (all []story) {
	tb.Helper()
	require.NoError(tb, filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s, err := readTitle(path)
		all = append(all, s)
		return err
	}))
	return all
}

// Each story reads the same on every store. With -rewrite, what memory tells becomes what is
// expected.
func TestScenarios(t *testing.T) {
	rewrite := flag.Lookup("rewrite").Value
	rewriting := rewrite.String()
	for _, s := range stories(t) {
		t.Run(s.section+"/"+s.name(), func(t *testing.T) {
			for i, p := range places {
				t.Run(p.name, func(t *testing.T) {
					if rewriting == "true" {
						require.NoError(t, rewrite.Set(strconv.FormatBool(i == 0)))
					} else {
						t.Parallel() // they wait for a server most of the time
					}
					stage := newStage(t, p)
					defer stage.close()
					stage.read(t, s.path)
				})
			}
		})
	}
}

// Whoever looks up a requirement finds a story, and several in its section.
func TestEveryRequirementHasAStory(t *testing.T) {
	table, err := os.ReadFile(filepath.FromSlash("../../docs/requirements.md"))
	require.NoError(t, err)
	ids := regexp.MustCompile(`(?m)^## ([A-I][0-9]+)$`).FindAllStringSubmatch(string(table), -1)
	require.NotEmpty(t, ids)
	told, sections := make(map[string]bool), make(map[string]int)
	for _, s := range stories(t) {
		sections[s.section]++
		for _, id := range strings.Fields(s.ids) {
			told[id] = true
		}
	}
	for _, id := range ids {
		require.True(t, told[id[1]], "no story tells of %s", id[1])
	}
	for _, section := range strings.Split("abcdefghi", "") {
		require.GreaterOrEqual(t, sections[section], 3, "stories of section %s", section)
	}
}
