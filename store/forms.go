package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainjson"
)

// A record that uses no later feature has the first form, an object, which every release reads.
//
// A record with a feature of the second development version is the second element of a list, after
// the number of its form. The first version refuses the list as corrupt, so it never drops fields
// that it does not know. These numbers are complete: a later feature has a name, see needs.
const (
	heldForm    = "[2," // postponed turns, and holds
	forkForm    = "[3," // a fork
	typedForm   = "[4," // a form or an approval, and its answer; questions with an audience
	severalForm = "[5," // several questions asked together
	waitForm    = "[6," // a question with its own wait, and its default answer
	peopleForm  = "[7," // an approval by several people, and their votes; a claimed question
	journalForm = "[8," // a run that has a journal, or sleeps
	familyForm  = "[9," // a run that is a child, or has children
	formSuffix  = "]"
)

// need is a feature that a reader of a record must know.
type need struct {
	name string // lower case letters, the same in all releases
	of   func(r *Run) bool
}

// needs has the features after the numbered forms, sorted by name. A record that uses some is the
// second element of a list, after their names, whatever its numbered form:
//
//	[{"needs":["withheld"]},{…}]
//
// A release that does not know a name refuses the record with ErrNewer (a release from before
// names: ErrCorrupt), and does not change the record. The names also cover the specification,
// history and journal.
//
// Add a name for a feature without which a release would treat the run wrongly. Other fields need
// none; earlier releases drop them. A name needs a run in proof/releases and a line in
// docs/upgrade.md.
var needs = []need{
	// A call with changes. An earlier release would omit them and compute a different digest.
	{"changes", func(r *Run) bool {
		return r.anyOpen(func(q *interaction.Question) bool { return q.Subject != nil && len(q.Subject.Changes) > 0 })
	}},
	// A claim, a vote or an answer by a deputy. An earlier release would forget for whom, and let both
	// vote.
	{"deputies", (*Run).usesDeputies},
	// A question with files. An earlier release would show it without them, and with another digest.
	{"files", func(r *Run) bool { return r.anyOpen(func(q *interaction.Question) bool { return q.Files != nil }) }},
	// A run whose turns take their nodes down. An earlier release would execute it next to other
	// turns and forget its losses. The name disappears when a turn has ended.
	{"losses", (*Run).losesNodes},
	// A run with remembered decisions. An earlier release would drop them and ask people.
	{"memory", func(r *Run) bool { return len(r.Remembered) > 0 }},
	// An open question with notes. An earlier release would drop them.
	{"notes", func(r *Run) bool { return r.anyOpen(func(q *interaction.Question) bool { return q.Notes != nil }) }},
	// A question that accepts only its options, or marks the option that means yes. An earlier
	// release would accept any text, and give the engine an answer without its Selection.
	{"only", func(r *Run) bool {
		return r.anyOpen((*interaction.Question).HasSelection) || len(r.Answers) > 0 && r.Answers[0].Selection != nil
	}},
	// An approval that the host's policy may still decide. An earlier release would forget the
	// policy, and ask people.
	{"policy", func(r *Run) bool { return r.anyOpen(func(q *interaction.Question) bool { return q.HiddenFor > 0 }) }},
	// A call with a summary. An earlier release would show it without, and with another digest.
	{"summary", func(r *Run) bool {
		return r.anyOpen(func(q *interaction.Question) bool { return q.Subject != nil && q.Subject.Summary != "" })
	}},
	// A fork that does not inherit all answers of its source. An earlier release would continue
	// without the answer, or with another person's.
	{"withheld", func(r *Run) bool {
		return r.ForkedFrom != nil && (r.ForkedFrom.AsksAgain > 0 || r.ForkedFrom.Withholds)
	}},
}

func (r *Run) anyOpen(has func(*interaction.Question) bool) bool {
	for i := range r.Open {
		if has(&r.Open[i]) {
			return true
		}
	}
	return false
}

const (
	needsPrefix = `[{"needs":`
	needsSuffix = "},"
)

// Needs returns the sorted names of features that a stored record may need. A release without one
// of a record's features refuses it with ErrNewer.
func Needs() []string {
	names := make([]string, len(needs))
	for i := range needs {
		names[i] = needs[i].name
	}
	return names
}

// beginForm writes the beginning of the record's list, if any.
func (r *Run) beginForm(w *plainjson.Writer) bool {
	before := needsPrefix + "["
	for i := range needs {
		if needs[i].of(r) {
			w.Put(before)
			w.Put(`"`)
			w.Put(needs[i].name)
			w.Put(`"`)
			before = ","
		}
	}
	if before == "," {
		w.Put("]" + needsSuffix)
		return true
	}
	form := r.form()
	w.Put(form)
	return form != ""
}

// form returns the beginning of the list of a record without named features; empty for the first
// form.
func (r *Run) form() string {
	switch {
	case r.Family != nil:
		return familyForm
	case r.Journal != nil || r.Block != nil && r.Block.Kind == BlockSleep:
		return journalForm
	case r.hasVotesOrClaims():
		return peopleForm
	case len(r.Open) > 0 && r.Open[0].Wait != nil,
		len(r.Answers) > 0 && r.Answers[0].Resolution == interaction.DefaultAnswer:
		return waitForm
	case r.Together != nil:
		return severalForm
	case r.typed():
		return typedForm
	case r.ForkedFrom != nil:
		return forkForm
	case r.Block != nil || r.Yielded > 0 || r.OnInterrupt != "" || r.Hold != "" || r.Budget != nil:
		return heldForm
	}
	return ""
}

// hasVotesOrClaims reports whether an open question needs several people, or has votes or a claim.
// The first version would accept one person's decision, treat a vote's key as unused, or ignore a
// claim.
func (r *Run) hasVotesOrClaims() bool {
	for i := range r.Open {
		if q := &r.Open[i]; q.DecidedBySeveral() || q.Claim != nil {
			return true
		}
	}
	return r.Votes > 0 || len(r.Answers) > 0 && len(r.Answers[0].Votes) > 0
}

// usesDeputies reports whether a deputy has claimed an open question, voted on it, or given the
// answer.
func (r *Run) usesDeputies() bool {
	deputies := func(votes []interaction.Vote) bool {
		return slices.ContainsFunc(votes, func(v interaction.Vote) bool { return v.For != "" })
	}
	for i := range r.Open {
		if q := &r.Open[i]; q.Claim != nil && q.Claim.For != "" || deputies(q.Votes) {
			return true
		}
	}
	return len(r.Answers) > 0 && (r.Answers[0].For != "" || deputies(r.Answers[0].Votes))
}

// typed reports whether the run's question, or the question of its answer, is a form or an
// approval, or has an audience. The first version would accept any text from anyone, ask without
// the policy, or execute a turn without the decision and its tool call.
func (r *Run) typed() bool {
	q, a := r.FirstOpen(), r.givenAnswer()
	return r.Restricted ||
		q != nil && (len(q.Schema) > 0 || q.Subject != nil || q.AlsoText || q.To != nil || q.Ref != "") ||
		a != nil && (a.Via != "" || a.Ref != "" || len(a.Value) > 0 || a.Decision != "" || a.Digest != "" ||
			len(a.Arguments) > 0)
}

// firstForm returns a record without its list, or ErrNewer if it needs an unknown feature. A body
// without the form of a record is returned unchanged, and does not decode.
func firstForm(body []byte) ([]byte, error) {
	list, ok := bytes.CutSuffix(body, []byte(formSuffix))
	if !ok {
		return body, nil
	}
	if named, ok := bytes.CutPrefix(list, []byte(needsPrefix)); ok {
		names, inner, _ := bytes.Cut(named, []byte(needsSuffix))
		var needed []string
		if json.Unmarshal(names, &needed) != nil || len(needed) == 0 {
			return body, nil
		}
		return inner, checkNeeds(needed)
	}
	for _, form := range []string{heldForm, forkForm, typedForm, severalForm, waitForm, peopleForm, journalForm,
		familyForm} {
		if inner, ok := bytes.CutPrefix(list, []byte(form)); ok {
			return inner, nil
		}
	}
	return body, nil
}

// checkNeeds returns ErrNewer with the unknown names, if any.
func checkNeeds(names []string) error {
	unknown := slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(needs, func(n need) bool { return n.name == name })
	})
	if len(unknown) == 0 {
		return nil
	}
	const most = 200 // bytes of the text: the names are untrusted
	return fmt.Errorf("%w: it needs %.*s, which this release does not know: upgrade", ErrNewer, most,
		strings.Join(unknown, ", "))
}
