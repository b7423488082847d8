package rehearsal

import (
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
)

// M5: whatever differs from the story, in what happens or in when, is said with both.
func TestM5AStorySaysWhatDiffers(t *testing.T) {
	created := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	broken := errors.New("the log cannot be read")
	events := func(fail error) iter.Seq2[lifecycle.Event, error] {
		return func(yield func(lifecycle.Event, error) bool) {
			for i, name := range []string{"ask", "other", "remind", "remind"} {
				after := time.Duration(i)*time.Hour + 3*time.Millisecond
				if !yield(lifecycle.Event{Type: name, TS: created.Add(after)}, nil) {
					return
				}
			}
			if fail != nil {
				yield(lifecycle.Event{}, fail)
			}
		}
	}
	const told = "the story is\n\t2h0m0s remind\n\t3h0m0s remind\nand should be\n"
	for story, want := range map[string]string{
		"":                               "",
		"0s ask":                         "",
		"\n0s ask\n2h remind\n3h remind": "",
		"2h remind":                      told + "\t2h0m0s remind\n",
		"1h59m59s remind\n3h remind":     told + "\t1h59m59s remind\n\t3h0m0s remind\n",
		"2h remind\n3h1s remind":         told + "\t2h0m0s remind\n\t3h0m1s remind\n",
		"2h remind\n3h remind\n4h end":   told + "\t2h0m0s remind\n\t3h0m0s remind\n\t4h0m0s end\n",
		"0s ask ada":                     `story: "0s ask ada": want a time and the type of an event`,
		"soon ask":                       `story: time: invalid duration "soon"`,
	} {
		if err := checkStory(story, created, 0, events(nil)); want == "" {
			require.NoError(t, err, story)
		} else {
			require.EqualError(t, err, want)
		}
	}
	require.ErrorIs(t, checkStory("0s ask", created, 0, events(broken)), broken)

	late := func(story string) error { return checkStory(story, created, recovery, events(nil)) }
	require.NoError(t, late("1h55m remind\n3h remind"), "after a crash")
	require.Error(t, late("1h54m remind\n3h remind"))
	require.Error(t, late("2h remind\n3h1m remind"), "never too early")
}
