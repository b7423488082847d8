package interaction

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// N7: a note has a text and may have a key, both within bounds.
func TestN7ANoteHasATextWithinBounds(t *testing.T) {
	long, key := strings.Repeat("x", MaxNote), strings.Repeat("k", MaxKey)
	require.NoError(t, ValidateNote(long, key))
	require.NoError(t, ValidateNote("x", ""))
	for _, wrong := range []struct{ text, key, field, value string }{
		{"", "", "Text", "blank"}, {" \n", "", "Text", "blank"}, {long + "x", "", "Text", "4097 bytes"},
		{"\xff", "", "Text", "not text"}, {"a\x00", "", "Text", "not text"}, {"\x00", "", "Text", "not text"},
		{"x", key + "k", "Key", "256 bytes"}, {"x", "\xff", "Key", "1 bytes"}, {"x", "\x00", "Key", "1 bytes"},
	} {
		var fault *FieldError
		require.ErrorAs(t, ValidateNote(wrong.text, wrong.key), &fault)
		require.Equal(t, []string{wrong.field, wrong.value}, []string{fault.Field, fault.Value})
	}
}

// N7: a question has one note with a key, and keeps the order and the total size of its notes.
func TestN7NotesAreKeptInOrder(t *testing.T) {
	var none *Notes
	require.Empty(t, none.All())
	require.Nil(t, none.Keyed("k"))
	require.Nil(t, none.Clone())
	one := none.With(Note{Text: "one", Key: "k", NotedAt: time.Now()})
	two := one.With(Note{Text: "three"})
	require.Len(t, one.All(), 1)
	require.Equal(t, []int{3, 8}, []int{one.Bytes, two.Bytes})
	require.Equal(t, []string{"one", "three"}, []string{two.List[0].Text, two.List[1].Text})
	require.Same(t, &two.List[0], two.Keyed("k"))
	require.Nil(t, two.Keyed("other"))
	require.Nil(t, two.Keyed(""), "a note without a key is found by none")
	full := none
	for range MaxNotes {
		full = full.With(Note{Text: strings.Repeat("x", MaxNote)})
	}
	require.Equal(t, MaxNotesTogether, full.Bytes)
	copied := two.Clone()
	require.Equal(t, two, copied)
	copied.List[0].Text = "changed"
	require.Equal(t, "one", two.List[0].Text)
}

// N7: a note is its author's, in the same deputyship.
func TestN7ANoteIsItsAuthors(t *testing.T) {
	fold := strings.ToLower
	for _, c := range []struct {
		note  Note
		actor Actor
		want  bool
	}{
		{Note{Actor: "ada"}, Actor{ID: "ada"}, true},
		{Note{Actor: "ada"}, Actor{ID: "bob"}, false},
		{Note{Actor: "ADA"}, Actor{ID: "ada", Fold: fold}, true},
		{Note{}, Actor{}, true},
		{Note{Actor: "ada", For: "eve"}, Actor{ID: "ada"}, false},
		{Note{Actor: "ada", For: "eve"}, Actor{ID: "ada", For: "eve"}, true},
		{Note{Actor: "ada", For: "eve"}, Actor{ID: "bob", For: "eve"}, false},
		{Note{Actor: "ada"}, Actor{ID: "ada", For: "eve"}, false},
	} {
		require.Equal(t, c.want, c.note.By(c.actor), "%v by %v", c.note, c.actor)
	}
}
