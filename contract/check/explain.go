package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/explain"
	"github.com/interlude-go/interlude/internal/reqmap"
)

// wordLenient asks what -lenient forgives.
const wordLenient = "lenient"

// width is how wide an explanation is, without its margin.
const width = 90

// index knows the contract that this program was built with, and what the requirements ask for.
func index() *explain.Index {
	var requirements []explain.Requirement
	for _, r := range reqmap.Requirements() {
		requirements = append(requirements, explain.Requirement{ID: r.ID, Text: r.Text})
	}
	return explain.New(contract.Load(), requirements)
}

// explainWord says what an id or a name means; what nobody knows is told with what may have been meant.
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

// list shows other entries, each with its promise.
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
				Type     string `json:"type,omitempty"`
				Member   string `json:"member"`
				Required bool   `json:"required"`
				Instead  string `json:"instead,omitempty"`
			}{a.Type, a.Member, a.Required, a.Instead})
		}
		return
	}
	out.linef("With -lenient these members, which the contract requires but no invariant needs, may be missing or null:")
	out.linef("")
	optional := false
	for _, a := range audit.Allowances() {
		if !a.Required && !optional {
			optional = true
			out.linef("")
			out.linef("These may be missing anyway, and are then also taken for missing when they are null:")
			out.linef("")
		}
		typ := a.Type
		if typ == "" {
			typ = "(envelope)"
		}
		if a.Instead == "" {
			out.linef("  %-31s  %s", typ, a.Member)
		} else {
			out.linef("  %-31s  %-23s  taken: %s", typ, a.Member, a.Instead)
		}
	}
	out.linef("")
	out.linef("Members that the contract does not know are passed over. Whatever is forgiven is counted in the summary.")
}
