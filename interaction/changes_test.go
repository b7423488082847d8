package interaction_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

func writing(changes ...interaction.Change) interaction.Question {
	return interaction.Question{Kind: interaction.Approval, Prompt: "Write?",
		Subject: &interaction.Subject{Tool: "write", Changes: changes}}
}

// N6: an invalid change makes the question invalid, and the error names the change.
func TestN6AChangeIsValidOrRefused(t *testing.T) {
	long := strings.Repeat("x", interaction.MaxChangesText)
	for _, c := range []interaction.Change{
		{Path: "a", Kind: interaction.ChangeCreate},
		{Path: "a", Kind: interaction.ChangeDelete},
		{Path: "a", Kind: interaction.ChangeEdit, After: "b"},
		{Path: "a", Kind: interaction.ChangeCreate, After: long[1:]},
	} {
		q, odd := interaction.Normalize(writing(c))
		require.Empty(t, odd)
		require.Equal(t, []interaction.Change{c}, q.Subject.Changes)
		require.NoError(t, q.Validate())
	}
	for fault, c := range map[string]interaction.Change{
		"has the path":         {Kind: interaction.ChangeCreate},
		"want a text of":       {Path: long[:interaction.MaxChangePath+1], Kind: interaction.ChangeCreate},
		"has the kind":         {Path: "a", Kind: "move"},
		"a text before":        {Path: "a", Kind: interaction.ChangeCreate, Before: "x"},
		"a text after":         {Path: "a", Kind: interaction.ChangeDelete, After: "x"},
		"leaves the text":      {Path: "a", Kind: interaction.ChangeEdit, Before: "x", After: "x"},
		"not in UTF-8":         {Path: "a", Kind: interaction.ChangeCreate, After: "\xff"},
		"it has NUL":           {Path: "a", Kind: interaction.ChangeCreate, After: "\x00"},
		"65537 bytes, at most": {Path: "a", Kind: interaction.ChangeCreate, After: long},
	} {
		require.ErrorContains(t, writing(c).Validate(), fault)
		q, odd := interaction.Normalize(writing(c))
		require.Nil(t, q.Subject, "nobody approves a call whose change is not shown")
		require.NotEmpty(t, odd)
	}
	many := make([]interaction.Change, interaction.MaxChanges+1)
	require.ErrorContains(t, writing(many...).Validate(), "33 changes, at most 32")
}

// N6: the digest covers each part of a change; an empty list does not affect it.
func TestN6TheDigestBindsChanges(t *testing.T) {
	plain := writing().Digest()
	q := writing(interaction.Change{Path: "a", Kind: interaction.ChangeEdit, Before: "b", After: "c"})
	seen := map[string]bool{plain: true, q.Digest(): true}
	for _, c := range []interaction.Change{
		{Path: "x", Kind: interaction.ChangeEdit, Before: "b", After: "c"},
		{Path: "a", Kind: interaction.ChangeEdit, Before: "x", After: "c"},
		{Path: "a", Kind: interaction.ChangeEdit, Before: "b", After: "x"},
		{Path: "a", Kind: interaction.ChangeCreate, After: "c"},
	} {
		seen[writing(c).Digest()] = true
	}
	require.Len(t, seen, 6)
	reply := interaction.Reply{ID: q.ID, Decision: interaction.Approve, Seen: plain}
	require.ErrorIs(t, reply.ValidateFor(q), interaction.ErrQuestionChanged)
	q.Subject.Changes = []interaction.Change{}
	require.Equal(t, plain, q.Digest())
}

// N6: a change reports its numbers of removed and added lines.
func TestN6LinesOfAChange(t *testing.T) {
	for _, tc := range []struct {
		before, after  string
		removed, added int
	}{
		{"", "", 0, 0}, {"", "a\nb", 0, 2}, {"a\nb\n", "", 2, 0}, {"a\nb\nc\n", "a\nx\ny\nc\n", 1, 2},
		{"a", "a\n", 1, 1}, {"b\nc\n", "b\nc\nb\nc\n", 0, 2}, {"a\n\n", "a\n", 1, 0},
	} {
		c := interaction.Change{Before: tc.before, After: tc.after}
		removed, added := c.Lines()
		require.Equal(t, []int{tc.removed, tc.added}, []int{removed, added}, "%q %q", tc.before, tc.after)
	}
}

// N6: a path cannot add lines to the text about a change.
func TestN6APathIsOnOneLine(t *testing.T) {
	c := interaction.Change{Path: "a\n- x\t\u202e", Kind: interaction.ChangeCreate, After: "y\u200b"}
	require.Equal(t, `create a\n- x\t\u{202E} (-0 +1 lines)`+"\n"+`+ y\u{200B} (no line break at the end)`, c.Text())
}

// N6: a remembered decision compares only arguments, so it covers no call with changes.
func TestN6AMemoryCoversNoChange(t *testing.T) {
	q := writing(interaction.Change{Path: "a", Kind: interaction.ChangeCreate})
	m := interaction.Memory{ID: 1, Tool: "write", Actor: "ada", At: q.AskedAt, Until: q.AskedAt.AddDate(1, 0, 0)}
	require.False(t, m.Covers(&q, q.AskedAt))
	q.Subject.Changes = nil
	require.True(t, m.Covers(&q, q.AskedAt))
}

// N6: an agent's text sets no changes.
func TestN6TextSetsNoChanges(t *testing.T) {
	r := interaction.Read("<ASK_USER_YAML>\nprompt: x\nsubject: {tool: a, changes: [{path: a, kind: create}]}\n"+
		"</ASK_USER_YAML>", nil)
	require.NotNil(t, r.Question)
	require.Nil(t, r.Question.Subject)
}
