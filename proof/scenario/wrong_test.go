package scenario_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

// witness is told of a story's faults in the place of a test.
type witness struct {
	testing.TB

	said   []string
	failed bool
}

func (w *witness) Helper()                           {}
func (w *witness) Failed() bool                      { return w.failed }
func (w *witness) Logf(string, ...any)               {}
func (w *witness) Fatal(args ...any)                 { w.Fatalf("%s", fmt.Sprint(args...)) }
func (w *witness) Fatalf(format string, args ...any) { w.Errorf(format, args...); runtime.Goexit() }
func (w *witness) FailNow()                          { w.failed = true; runtime.Goexit() }

func (w *witness) Errorf(format string, args ...any) {
	w.failed = true
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

// faults are what is wrong with a story on the store.
func faults(t *testing.T, p place, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "story.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s := newStage(t, p)
	defer s.close()
	w := &witness{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.read(w, path)
	}()
	<-ended
	require.Equal(t, len(w.said) > 0, w.failed)
	return strings.ReplaceAll(strings.Join(w.said, "\n"), path, "story.txt")
}

const served = "node n1\n----\nn1 serves\n\n"

// A story can fail: whatever is wrong with it, or reads otherwise, is told with its place.
func TestAStoryThatIsWrongIsToldWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an answer that reads otherwise": {
			served + "reply paint 1\nblue\n----\nerror: lifecycle.ErrSettled\n",
			[]string{"story.txt:5:", "expected:\n  error: lifecycle.ErrSettled\n",
				"found:\n  error: lifecycle.ErrNotFound\n"},
		},
		"an event that did not happen": {
			served + "submit paint\ndone\n----\nsubmitted paint: queued\npaint: running attempt=1 slot=yes owner=n1\n",
			[]string{"story.txt:5:", "expected:\n  submitted paint: queued\n  paint: running",
				"found:\n  submitted paint: queued\n  paint: succeeded attempt=1\n    1 conversation.started"},
		},
		"an unknown command": {served + "paint it\n----\nok\n",
			[]string{"story.txt:5: unknown command paint: there are advance, "}},
		"an unknown argument": {served + "cancel paint soon=yes\n----\nok\n",
			[]string{"story.txt:5: unknown argument soon=yes: write cancel RUN [held] [as=]"}},
		"one word too many": {served + "advance 1s 2s\n----\nok\n",
			[]string{"story.txt:5: unknown argument 2s: write advance TIME"}},
		"an argument given twice": {served + "reply paint 1 key=a key=b\nyes\n----\nok\n",
			[]string{"story.txt:5: unknown argument key=b"}},
		"a word that is missing": {served + "reply paint\nyes\n----\nok\n",
			[]string{"story.txt:5: QUESTION is missing: write reply RUN QUESTION"}},
		"a value that cannot be read": {served + "advance soon\n----\nok\n",
			[]string{`story.txt:5: time: invalid duration "soon"`}},
		"no dashes": {served + "advance 1s\n\nadvance 2s\n",
			[]string{"story.txt:5: advance has no dashes, or nothing stands below them"}},
		"nothing expected": {served + "advance 1s\n----\n\nadvance 2s\n----\nok\n",
			[]string{"story.txt:5: advance has no dashes, or nothing stands below them"}},
		"lines that belong to nothing": {
			served + "advance 1s\nand then\n----\nok\n",
			[]string{`story.txt:5: nothing may stand between advance and its dashes, as "and then" does`},
		},
		"a turn that no agent can do": {served + "submit paint\nsing \"La\"\n----\nok\n",
			[]string{`story.txt:5: no agent can "sing"`}},
		"a turn with two ends": {served + "submit paint\ndone; done\n----\nok\n",
			[]string{"story.txt:5: a turn has one end, and nothing after it: done; done"}},
		"two nodes that serve": {served + "node n2\n----\nok\n",
			[]string{"story.txt:5: n1 serves: only one node may, beside those that stand by"}},
		"a node that nobody started": {served + "kill n2\n----\nok\n", []string{"story.txt:5: there is no node n2"}},
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
			said := faults(t, places[0], c.text)
			for _, want := range c.want {
				require.Contains(t, said, want)
			}
		})
	}
	require.Empty(t, faults(t, places[0], served+"advance 1s\n----\nok\n"), "and one that is right is not")
}

// A story names its requirements, at least one of them of the section in whose folder it stands.
func TestAStoryHasATitle(t *testing.T) {
	for name, c := range map[string]struct{ path, text, want string }{
		"no ids": {"d/story.txt", "# The deadline passes.\n", ":1: a story is a .txt file, and begins " +
			"with the ids"},
		"no title": {"d/story.txt", "node n1\n", ":1: a story is a .txt file, and begins with the ids"},
		"of another section": {"d/story.txt", "# A1: A run.\n", ":1: the story stands in folder d, and names no " +
			"requirement of that section"},
		"another kind of file": {"d/story.md", "# D1: A run.\n", ":1: a story is a .txt file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), filepath.FromSlash(c.path))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			_, err := readTitle(path)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// forged is a store that tells another cause than it was told, and counts wrongly.
type forged struct{ store.Store }

func (f forged) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	all, err := f.Store.Events(ctx, id, after, limit)
	for i := range all {
		all[i].Body = bytes.ReplaceAll(all[i].Body, []byte(`"turn.succeeded"`), []byte(`"turn.failed"`))
	}
	return all, err
}

// Pools count a slot that nobody has.
func (f forged) Pools(ctx context.Context) ([]store.PoolUse, error) {
	pools, err := f.Store.Pools(ctx)
	for i := range pools {
		pools[i].Held++
	}
	return pools, err
}

// G4, D1: the contract's checker looks at every log that a story leaves, and slots are counted.
func TestWhatAStoryLeavesIsChecked(t *testing.T) {
	liar := place{"a liar", func(tb testing.TB) opener {
		tb.Helper()
		open := places[0].make(tb)
		return func(tb testing.TB) store.Store {
			tb.Helper()
			return forged{open(tb)}
		}
	}}
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
	said := faults(t, liar, story)
	require.Contains(t, said, "story.txt: run paint: its log breaks the contract: ")
	require.Contains(t, said, "1 slots of pool default are held, and 0 by runs")
}
