package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

// K9: whatever a caller gives as the place where a page begins is refused, or is a place that is
// written as it was read. None panics, and each place of a page is read again.
func FuzzInboxPlace(f *testing.F) {
	after := store.Cursor{At: noon, ID: "r-1"}.String()
	for _, text := range []string{
		"", after, after + ".3.r.2", ".1.r", after + ".", after + ".0.r", after + ".+1.r", after + ".01.r", "..",
		"x.1.r",
		after + ".9223372036854775808.r", after + ".1.", after + "." + after,
	} {
		f.Add(text, 1, "r")
	}
	f.Fuzz(func(t *testing.T, text string, question int, id string) {
		if p, err := readInboxPlace(text); err == nil {
			again, err := readInboxPlace(p.String())
			require.NoError(t, err)
			require.Equal(t, p, again)
			require.Equal(t, p.runID != "", p.question > 0, "a question is one of a run")
			if p.runID == "" {
				require.Equal(t, text, p.String())
			}
		}
		if question < 1 || !idPattern.matches(id) {
			return
		}
		for _, p := range []inboxPlace{{after: after}, {after: after, runID: id, question: question},
			{runID: id, question: question}} {
			read, err := readInboxPlace(p.String())
			require.NoError(t, err)
			require.Equal(t, p, read)
		}
	})
}
