package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
)

// textReporter writes for people, with the place first so that an editor can go there.
type textReporter struct {
	out *printer
	met map[string]bool // invariants whose promise was shown
}

func (r *textReporter) violation(file string, v audit.Violation, i contract.Invariant) {
	var whose []string
	if v.RunID != "" {
		whose = append(whose, "run "+v.RunID)
	}
	if v.Seq > 0 {
		whose = append(whose, fmt.Sprintf("seq %d", v.Seq))
	}
	where := ""
	if len(whose) > 0 {
		where = " (" + strings.Join(whose, ", ") + ")"
	}
	r.out.linef("%s:%d: %s: %s%s", printable(file), v.Line, v.Invariant, printable(v.Explanation), printable(where))
	if !r.met[v.Invariant] {
		r.met[v.Invariant] = true
		r.out.linef("    %s: %s (%s)", v.Invariant, i.Doc, strings.Join(i.Requirements, ", "))
	}
}

const maxForgivenShown = 12

func (r *textReporter) summary(s *summary) {
	runs := fmt.Sprintf("%d unfinished", s.Unfinished)
	if s.Fragments > 0 {
		runs += fmt.Sprintf(", %d from mid-run on", s.Fragments)
	}
	seen := fmt.Sprintf("%s, %s (%s), %s", count(s.Files, "file"), count(s.Runs, "run"), runs, count(s.Events, "event"))
	if s.Omitted > 0 {
		r.out.linef("… and %d more (-max 0 shows all)", s.Omitted)
	}
	if s.Violations > 0 {
		r.out.linef("")
	}
	for i, f := range s.Forgiven {
		if i == maxForgivenShown {
			r.out.linef("forgiven: … and %d others (-json lists them)", len(s.Forgiven)-i)
			break
		}
		r.out.linef("forgiven: %s, %s", printable(f.text()), times(f.Count))
	}
	if s.Lenient { // otherwise it follows from the violations
		r.skipped(s.Skipped)
	}
	switch {
	case s.Violations > 0:
		ids := slices.Sorted(maps.Keys(s.ByInvariant))
		for _, line := range wrap(counted(s.ByInvariant), width) {
			r.out.linef("%s", line)
		}
		r.out.linef("-explain %s says more%s", ids[0], hint(s))
		r.out.linef("NOT OK: %s in %d of %s", count(s.Violations, "violation"), s.FilesBroken, seen)
	case s.Unreadable > 0:
		r.out.linef("NOT OK: %s could not be read, or not to the end; %s", count(s.Unreadable, "input"), seen)
	default:
		r.out.linef("ok: %s", seen)
	}
}

func (f forgiven) text() string {
	switch {
	case f.How == audit.Early:
		return f.Type + " is " + f.How
	case f.Member == "":
		return "event type " + f.Type + " is " + f.How
	case f.Value != "":
		return fmt.Sprintf("%s %s of %s is %s", f.Member, f.Value, f.Type, f.How)
	}
	return f.Member + of(f.Type) + " is " + f.How
}

// skipped lists which invariants could not be decided everywhere.
func (r *textReporter) skipped(by map[string]int) {
	if len(by) == 0 {
		return
	}
	for i, line := range wrap(counted(by), width-len(skippedHead)) {
		head := skippedHead
		if i > 0 {
			head = strings.Repeat(" ", len(head))
		}
		r.out.linef("%s%s", head, line)
	}
}

const skippedHead = "not checked for lack of data: "

func counted(by map[string]int) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(by)) {
		all = append(all, fmt.Sprintf("%s×%d", id, by[id]))
	}
	return strings.Join(all, " ")
}

// schemaInvariant is the invariant that missing members break.
const schemaInvariant = "IV-01"

func hint(s *summary) string {
	if s.Lenient || s.ByInvariant[schemaInvariant] == 0 {
		return ""
	}
	return "; -lenient forgives what another producer leaves out or adds"
}

func of(typ string) string {
	if typ == "" {
		return " of the envelope"
	}
	return " of " + typ
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

type jsonReporter struct{ out *printer }

func (r *jsonReporter) violation(file string, v audit.Violation, i contract.Invariant) {
	r.out.object(struct {
		Kind         string   `json:"kind"`
		File         string   `json:"file"`
		Line         int      `json:"line"`
		RunID        string   `json:"run_id,omitempty"`
		Seq          uint64   `json:"seq,omitempty"`
		Invariant    string   `json:"invariant"`
		Explanation  string   `json:"explanation"`
		Doc          string   `json:"doc"`
		Requirements []string `json:"requirements"`
	}{"violation", file, v.Line, v.RunID, v.Seq, v.Invariant, v.Explanation, i.Doc, i.Requirements})
}

func (r *jsonReporter) summary(s *summary) {
	r.out.object(struct {
		Kind string `json:"kind"`
		OK   bool   `json:"ok"`
		*summary
	}{"summary", s.Violations == 0 && s.Unreadable == 0, s})
}

type forgivenCounts map[audit.Forgiven]int

func (o forgivenCounts) add(list []audit.Forgiven) {
	for _, f := range list {
		n := f.Count
		f.Count = 0
		o[f] += n
	}
}

func (o forgivenCounts) list() []forgiven {
	var all []forgiven
	for f, n := range o {
		all = append(all, forgiven{f.Type, f.Member, f.How, f.Value, n})
	}
	slices.SortFunc(all, func(a, b forgiven) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Member, b.Member),
			cmp.Compare(a.How, b.How),
			cmp.Compare(a.Value, b.Value))
	})
	return all
}
