package front

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// Message is the function Message for a question in Asks. It begins with the absent person for whom
// the caller answers, if any.
func (v *View) Message(q *lifecycle.Question) string {
	if absent := v.Absent[q.ID]; absent != "" {
		return "You answer for " + interaction.Visible(absent) + ".\n\n" + Message(q)
	}
	return Message(q)
}

// Message returns the question as text: prompt, context, the call to approve with its summary,
// arguments, changes and risk, and the names of its files. Nothing in it is hidden: see
// interaction.Visible. The options are in the form.
func Message(q *lifecycle.Question) string {
	var b strings.Builder
	b.WriteString(interaction.VisibleProse(q.Prompt))
	if s := q.Subject; s != nil {
		b.WriteString("\n\nTool: " + interaction.Visible(s.Tool))
		if s.Title != "" {
			b.WriteString("\n" + interaction.VisibleProse(s.Title))
		}
		if s.Summary != "" {
			b.WriteString("\n" + interaction.Visible(s.Summary))
		}
		if len(s.Arguments) > 0 {
			b.WriteString("\nArguments: " + interaction.VisibleJSON(s.Arguments, "  "))
		}
		for i := range s.Changes {
			b.WriteString("\n" + s.Changes[i].Text())
		}
		if s.Risk != "" {
			b.WriteString("\nRisk: " + interaction.VisibleProse(s.Risk))
		}
	}
	if q.DecidedBySeveral() {
		fmt.Fprintf(&b, "\n\nDecided by several people: %d of %d have approved, %d rejected.",
			q.Count(lifecycle.Approve), max(int(q.Need), 1), q.Count(lifecycle.Reject))
	}
	if q.Context != "" {
		b.WriteString("\n\n" + interaction.VisibleProse(q.Context))
	}
	for _, f := range q.Files.All() {
		fmt.Fprintf(&b, "\nFile: %s (%s, %d bytes)", interaction.Visible(f.Name), interaction.Visible(f.MediaType),
			f.Size)
	}
	return b.String()
}
