package stories

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// inMemory is a store of one process.
func inMemory(testing.TB) Opener {
	var s *memory.Store
	return func(testing.TB) store.Store {
		if s == nil {
			s = memory.New()
		}
		return s
	}
}

// title precedes the text of a story, whose lines are counted from the one after it.
const title = "# A1: A story.\n"

// playText returns the fault of a story, or empty.
func playText(t *testing.T, open Opener, text string) string {
	t.Helper()
	s, err := readStory("story.txt", title+text)
	require.NoError(t, err)
	if err := play(t, open, s); err != nil {
		return err.Error()
	}
	return ""
}

const served = "node n1\n----\nn1 serves\n\n"

// Whatever is wrong with a story, or reads otherwise, is an error that names its place.
func TestAWrongStoryFails(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an answer that reads otherwise": {
			served + "reply paint 1\nblue\n----\nerror: lifecycle.ErrSettled\n",
			[]string{"story.txt:6:", "expected:\n  error: lifecycle.ErrSettled\n",
				"found:\n  error: lifecycle.ErrNotFound\n"},
		},
		"an event that did not happen": {
			served + "submit paint\ndone\n----\nsubmitted paint: queued\npaint: running attempt=1 slot=yes owner=n1\n",
			[]string{"story.txt:6:", "expected:\n  submitted paint: queued\n  paint: running",
				"found:\n  submitted paint: queued\n  paint: succeeded attempt=1\n    1 conversation.started"},
		},
		"an unknown command": {served + "paint it\n----\nok\n",
			[]string{"story.txt:6: unknown command paint: there are advance, "}},
		"an unknown argument": {served + "cancel paint soon=yes\n----\nok\n",
			[]string{"story.txt:6: unknown argument soon=yes: write cancel RUN [held] [as=]"}},
		"one word too many": {served + "advance 1s 2s\n----\nok\n",
			[]string{"story.txt:6: unknown argument 2s: write advance TIME"}},
		"an argument given twice": {served + "reply paint 1 key=a key=b\nyes\n----\nok\n",
			[]string{"story.txt:6: unknown argument key=b"}},
		"a word that is missing": {served + "reply paint\nyes\n----\nok\n",
			[]string{"story.txt:6: QUESTION is missing: write reply RUN QUESTION"}},
		"a value that cannot be read": {served + "advance soon\n----\nok\n",
			[]string{`story.txt:6: time: invalid duration "soon"`}},
		"no dashes": {served + "advance 1s\n\nadvance 2s\n",
			[]string{"story.txt:6: advance has no dashes, or nothing stands below them"}},
		"nothing expected": {served + "advance 1s\n----\n\nadvance 2s\n----\nok\n",
			[]string{"story.txt:6: advance has no dashes, or nothing stands below them"}},
		"lines that belong to nothing": {
			served + "advance 1s\nand then\n----\nok\n",
			[]string{`story.txt:6: nothing may stand between advance and its dashes, as "and then" does`},
		},
		"a turn that no agent can do": {served + "submit paint\nsing \"La\"\n----\nok\n",
			[]string{`story.txt:6: no agent can "sing"`}},
		"a turn with two ends": {served + "submit paint\ndone; done\n----\nok\n",
			[]string{"story.txt:6: a turn has one end, and nothing after it: done; done"}},
		"two nodes that serve": {served + "node n2\n----\nok\n",
			[]string{"story.txt:6: n1 serves: only one node may, beside those that stand by"}},
		"a node that nobody started": {served + "kill n2\n----\nok\n", []string{"story.txt:6: there is no node n2"}},
		"turns that nobody executed": {
			"node n1 standby\n----\nn1 stands by\n\nsubmit paint\nask \"Which colour?\"\ndone\n----\nsubmitted " +
				"paint: queued\npaint: queued slot=no\n" +
				"  1 conversation.started mode=interactive interactive_require_user_reply=true " +
				"session_timeout_sec=1200\n",
			[]string{"story.txt: the script of paint has 2 lines that nobody executed"},
		},
		"a call that is never let go": {
			"submit paint held\n----\nclient is about to store paint version 1\n", []string{"story.txt: the call of " +
				"client was never released"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := playText(t, inMemory(t), c.text)
			for _, want := range c.want {
				require.Contains(t, said, want)
			}
		})
	}
	require.Empty(t, playText(t, inMemory(t), served+"advance 1s\n----\nok\n"), "a right story passes")
}

func TestAStoryHasATitle(t *testing.T) {
	for _, text := range []string{"# The deadline passes.\n", "node n1\n", "", "# D1\n", "# D1: \n"} {
		_, err := readStory("waiting/story.txt", text)
		require.ErrorContains(t, err, "waiting/story.txt:1: a story begins with the ids of its requirements", text)
	}
}

// A story that is read and written again is the same.
func TestAStoryIsWrittenAsItWasRead(t *testing.T) {
	all, err := readStories(texts)
	require.NoError(t, err)
	for _, s := range all {
		text, err := texts.ReadFile(s.path)
		require.NoError(t, err)
		require.Equal(t, string(text), s.text(), s.path)
	}
}

// Each requirement has a story, and each subject several.
func TestEveryRequirementHasAStory(t *testing.T) {
	table, err := os.ReadFile("../../docs/internals/requirements.md")
	require.NoError(t, err)
	ids := regexp.MustCompile(`(?m)^## ([A-I][0-9]+)$`).FindAllStringSubmatch(string(table), -1)
	require.NotEmpty(t, ids)
	all, err := readStories(texts)
	require.NoError(t, err)
	proven, subjects := make(map[string]bool), make(map[string]int)
	for _, s := range all {
		subjects[path.Dir(s.path)]++
		for _, id := range strings.Fields(s.ids) {
			proven[id] = true
		}
	}
	for _, id := range ids {
		require.True(t, proven[id[1]], "no story proves %s", id[1])
	}
	for subject, n := range subjects {
		require.GreaterOrEqual(t, n, 3, "stories of %s", subject)
	}
}

// forgedStore changes the cause of an event, and counts a slot that is not held.
type forgedStore struct{ store.Store }

func (f forgedStore) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	all, err := f.Store.Events(ctx, id, after, limit)
	for i := range all {
		all[i].Body = bytes.ReplaceAll(all[i].Body, []byte(`"turn.succeeded"`), []byte(`"turn.failed"`))
	}
	return all, err
}

func (f forgedStore) Pools(ctx context.Context) ([]store.PoolUse, error) {
	pools, err := f.Store.Pools(ctx)
	for i := range pools {
		pools[i].Held++
	}
	return pools, err
}

// G4, D1: every log that a story leaves is checked against the contract, and slots are counted.
func TestWhatAStoryLeavesIsChecked(t *testing.T) {
	open := inMemory(t)
	liar := func(tb testing.TB) store.Store { return forgedStore{open(tb)} }
	const story = served + `submit paint
done
----
submitted paint: queued
paint: succeeded attempt=1
  1 conversation.started mode=interactive interactive_require_user_reply=true session_timeout_sec=1200
  2 conversation.state.changed queued -> running, turn.started
  (n1 executes attempt 1: the prompt)
  3 conversation.state.changed running -> succeeded, turn.failed
`
	said := playText(t, liar, story)
	require.Contains(t, said, "story.txt: run paint: its log breaks the contract: ")
	require.Contains(t, said, "1 slots of pool default are held, and 0 by runs")
}

// row is a command's row in README.md.
func (c command) row(name string) string {
	text := "| `" + c.usage(name) + "` | " + c.doc
	if c.body != "" {
		text += "; below it " + c.body
	}
	return text + " |\n"
}

// README.md lists every command as it is written, every step of an agent, and nothing else.
func TestTheReadmeListsEveryCommand(t *testing.T) {
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
