package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/explain"
	"github.com/interlude-go/interlude/internal/reqmap"
)

const wordLenient = "lenient"

// width is the width of an explanation without its margin.
const width = 90

func index() *explain.Index {
	var requirements []explain.Requirement
	for _, r := range reqmap.Requirements() {
		requirements = append(requirements, explain.Requirement{ID: r.ID, Text: r.Text})
	}
	return explain.New(contract.Load(), requirements)
}

// explainWord explains an id or a name, or suggests ones similar to an unknown word.
func explainWord(out *printer, stderr io.Writer, word string, asJSON bool) int {
	if strings.EqualFold(word, wordLenient) {
		explainLenient(out, asJSON)
		return exitWell
	}
	x := index()
	found := x.Find(word)
	if len(found) == 0 {
		hint := "; contract/README.md lists them all"
		if near := x.Near(word); len(near) > 0 {
			hint = ": did you mean " + strings.Join(near, ", ") + "?"
		}
		_, _ = fmt.Fprintf(stderr, "check: the contract has no %s%s\n", printable(fmt.Sprintf("%.80q", word)), hint)
		return exitWrong
	}
	for i, e := range found {
		if asJSON {
			out.object(e)
			continue
		}
		if i > 0 {
			out.linef("")
		}
		explainEntry(out, x, e)
	}
	return exitWell
}

func explainEntry(out *printer, x *explain.Index, e explain.Entry) {
	title := e.ID + ", " + e.Kind
	if e.Name != "" {
		title += " " + e.Name
	}
	out.linef("%s", title)
	for _, line := range wrap(e.Doc, width) {
		out.linef("  %s", line)
	}
	label := 0
	for _, f := range append(e.Says, explain.Field{Name: "required by"}) {
		label = max(label, len(f.Name))
	}
	field := func(name, head, text string) {
		for _, line := range wrap(text, width-label-len(head)) {
			out.linef("  %-*s  %s%s", label, name, head, line)
			name, head = "", strings.Repeat(" ", len(head))
		}
	}
	if len(e.Says)+len(e.Requirements)+len(e.UsedBy) > 0 {
		out.linef("")
	}
	for _, f := range e.Says {
		field(f.Name, "", f.Text)
	}
	list(x, "required by", e.Requirements, field)
	list(x, "used by", e.UsedBy, field)
}

func list(x *explain.Index, name string, ids []string, field func(name, head, text string)) {
	for _, id := range ids {
		var docs []string
		for _, e := range x.Find(id) {
			docs = append(docs, e.Doc)
		}
		field(name, id+"  ", strings.Join(docs, " "))
		name = ""
	}
}

func explainLenient(out *printer, asJSON bool) {
	if asJSON {
		for _, a := range audit.Allowances() {
			out.object(struct {
				Type     string   `json:"type,omitempty"`
				Member   string   `json:"member"`
				Required bool     `json:"required"`
				Skipped  []string `json:"not_decided,omitempty"`
			}{a.Type, a.Member, a.Required, a.Skipped})
		}
		return
	}
	for _, line := range strings.Split(strings.TrimSpace(lenientText), "\n") {
		out.linef("%s", line)
	}
	out.linef("")
	out.linef("Demanded of every event, and of each type:")
	out.linef("")
	demanded := audit.Demanded()
	for _, typ := range slices.Sorted(maps.Keys(demanded)) {
		out.linef("  %-31s  %s", typeName(typ), strings.Join(demanded[typ], ", "))
	}
	for _, required := range []bool{true, false} {
		out.linef("")
		if required {
			out.linef("The contract requires these; here they may be missing or null:")
		} else {
			out.linef("These may be missing anyway, and are then also taken for missing when they are null:")
		}
		out.linef("")
		for _, a := range audit.Allowances() {
			if a.Required != required {
				continue
			}
			text := fmt.Sprintf("  %-31s  %-30s", typeName(a.Type), a.Member)
			if len(a.Skipped) > 0 {
				text += "  not decided: " + strings.Join(a.Skipped, ", ")
			}
			out.linef("%s", strings.TrimRight(text, " "))
		}
	}
}

func typeName(typ string) string {
	if typ == "" {
		return "(envelope)"
	}
	return typ
}

const lenientText = `
With -lenient the log of another producer is checked, whose events have what the protocol fixes and
need not have what this contract adds.

Forgiven, and counted:
  - members that are missing, null, unknown or of another form, but for those that are demanded
  - event types that the contract does not have: only their envelope is checked
  - error codes, warning codes and policies that the contract does not have
  - times without a zone, which are taken for UTC
  - a question directly before its change of state instead of directly after it
  - attempts and questions that are not counted from the run's start, as long as they never go back
  - times that differ from their event's, or a deadline from its due time, by less than a day

Taken as it is:
  - a log without conversation.started: mode, strictness and limits are not known then
  - a log that begins in mid-run: what was before is not known, and the run is counted as such

An invariant that needs what the log does not tell is not decided on that event, and that is counted.
All others are: order and pairs of events, the chain of states, transitions, settled questions, the
numbers of events, and what is demanded. JSON that readers understand differently is never forgiven: a
member given twice, half of a character, bytes that are not UTF-8, a byte order mark.
`
