package stories

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/store"
)

//go:embed */*.txt
var texts embed.FS

// Opener opens one more connection to a story's store, as another process would. It is called in
// the story's bubble (testing/synctest). A store in memory returns itself each time.
type Opener func(tb testing.TB) store.Store

// atOnce limits the stories played concurrently: they mostly wait for their store.
const atOnce = 8

// Run plays every story as a sub-test. Prepare makes a new, empty store for each, outside of any
// bubble.
func Run(t *testing.T, prepare func(testing.TB) Opener) {
	t.Helper()
	all, err := readStories(texts)
	require.NoError(t, err)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, s := range all {
		group.Go(func() error {
			t.Run(s.name(), func(t *testing.T) {
				if err := play(t, prepare(t), s); err != nil {
					t.Error(err)
				}
			})
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// Rewrite plays every story, and writes the answers into its file below dir as the new expectation.
func Rewrite(t *testing.T, prepare func(testing.TB) Opener, dir string) {
	t.Helper()
	all, err := readStories(texts)
	require.NoError(t, err)
	for _, s := range all {
		t.Run(s.name(), func(t *testing.T) {
			s.rewrite = true
			require.NoError(t, play(t, prepare(t), s))
			require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(s.path)), []byte(s.text()), 0o600))
		})
	}
}

// story is a file: its title, and its commands with the answers that it expects.
type story struct {
	path       string // subject/file.txt
	ids, title string
	steps      []*step
	tail       string // the lines after the last answer
	rewrite    bool   // answers are written down, and not compared
}

type step struct {
	line     int
	lead     string // the empty lines and comments before the command
	command  string
	body     string // the lines between the command and its dashes
	dashes   bool
	expected string
}

// name is the name of the story's sub-test: waiting/D3_F2_a_resident_process_ends_at_the_deadline.
func (s *story) name() string {
	file := strings.TrimSuffix(path.Base(s.path), ".txt")
	return path.Join(path.Dir(s.path), strings.ReplaceAll(s.ids, " ", "_")+"_"+file)
}

func readStories(from fs.FS) (all []*story, _ error) {
	names, err := fs.Glob(from, "*/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		s, err := readStory(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

var titled = regexp.MustCompile(`^# ([A-R][0-9]{1,2}(?: [A-R][0-9]{1,2})*): (.+)\n`)

// readStory reads a file: a title, and then commands. A command is a line, the lines that belong to
// it, four dashes, and the answer up to an empty line.
func readStory(name, text string) (*story, error) {
	title := titled.FindStringSubmatch(text)
	if title == nil {
		return nil, fmt.Errorf("%s:1: a story begins with the ids of its requirements and its subject: # D3 F2: …",
			name)
	}
	s := &story{path: name, ids: title[1], title: title[2]}
	var now *step // that the line belongs to; nil between two commands
	number := 0
	for line := range strings.Lines(text) {
		number++
		blank := strings.TrimSpace(line) == ""
		switch {
		case now == nil && (blank || strings.HasPrefix(line, "#")):
			s.tail += line
		case now == nil:
			now = &step{line: number, lead: s.tail, command: strings.TrimSpace(line)}
			s.tail, s.steps = "", append(s.steps, now)
		case !now.dashes && strings.TrimSpace(line) == "----":
			now.dashes = true
		case !now.dashes:
			now.body += line
		case blank:
			s.tail, now = line, nil
		default:
			now.expected += line
		}
	}
	return s, nil
}

// text is the story as a file.
func (s *story) text() string {
	var text strings.Builder
	for _, st := range s.steps {
		text.WriteString(st.lead + st.command + "\n" + st.body + "----\n" + st.expected)
	}
	return text.String() + s.tail
}
