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

// A record without features that came later has the first form: an object. Every release reads it.
//
// A record that uses a feature of the second development version is the second element of a list,
// after the number of its form. The first version takes the list for a corrupt record. So it refuses
// the run, and never stores it without the fields that it does not know. These numbers are complete:
// a later feature has a name instead, see needs.
const (
	heldForm    = "[2," // turns that were put off, and holds
	forkForm    = "[3," // a fork
	typedForm   = "[4," // a form or an approval, and the answer to one; questions for certain people
	severalForm = "[5," // several questions that were asked together
	waitForm    = "[6," // a question with a wait of its own, and its default answer
	peopleForm  = "[7," // an approval that several people decide, and their votes; a question that is claimed
	journalForm = "[8," // a run that has a journal, or sleeps
	familyForm  = "[9," // a run that is a child, or has children
	formSuffix  = "]"
)

// need is a feature that a reader of a record must know.
type need struct {
	name string // in lower case letters, the same in all releases
	of   func(r *Run) bool
}

// needs has the features that came after the numbered forms, in the order of their names. A record
// that uses some of them is the second element of a list, after their names, whichever numbered form
// it would have otherwise:
//
//	[{"needs":["withheld"]},{…}]
//
// A release that does not know one of the names refuses the record with ErrNewer, and a release
// before these names with ErrCorrupt. Neither changes it. The names also stand for what is stored
// with the record: specification, history, journal.
//
// A later feature adds a name here, if a release that does not know the feature would treat the run
// wrongly. A field without effect on the run needs no name, and earlier releases drop it. A name
// needs a run in proof/releases and a line in docs/upgrade.md.
var needs = []need{
	// A run whose turns take their nodes down. An earlier release would execute it next to other
	// turns again and forget its losses. The name disappears when a turn has ended.
	{"losses", (*Run).losesNodes},
	// A question that accepts only its options, or marks the option that means yes. An earlier release
	// would accept any text, and give the engine an answer without its Selection.
	{"only", func(r *Run) bool {
		return r.Answer != nil && r.Answer.Selection != nil || r.Pending != nil && r.Pending.HasSelection() ||
			slices.ContainsFunc(r.Siblings, func(q interaction.Question) bool { return q.HasSelection() })
	}},
	// A fork that does not inherit all answers of its source. An earlier release would have its
	// engine continue without the answer, or with the answer of another person.
	{"withheld", func(r *Run) bool {
		return r.ForkedFrom != nil && (r.ForkedFrom.AsksAgain > 0 || r.ForkedFrom.Withholds)
	}},
}

const (
	needsPrefix = `[{"needs":`
	needsSuffix = "},"
)

// Needs returns the names of the features that a stored record may need, in their order. Releases
// that do not know one of the names in a record refuse it with ErrNewer.
func Needs() []string {
	names := make([]string, len(needs))
	for i := range needs {
		names[i] = needs[i].name
	}
	return names
}

// beginForm writes the beginning of the list that has the record. It reports whether there is one.
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

// form returns the beginning of the list that has a record without named features; empty for the
// first form.
func (r *Run) form() string {
	switch {
	case r.Family != nil:
		return familyForm
	case r.Journal != nil || r.Block != nil && r.Block.Kind == BlockSleep:
		return journalForm
	case r.hasVotesOrClaims():
		return peopleForm
	case r.Pending != nil && r.Pending.Wait != nil, r.Answer != nil && r.Answer.Resolution == interaction.DefaultAnswer:
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
// The first version would accept one person's decision, treat a vote's key as unused, or accept a
// reply despite a claim.
func (r *Run) hasVotesOrClaims() bool {
	own := func(q *interaction.Question) bool { return q.DecidedBySeveral() || q.Claim != nil }
	return r.Votes > 0 || r.Answer != nil && len(r.Answer.Votes) > 0 ||
		r.Pending != nil && own(r.Pending) ||
		slices.ContainsFunc(r.Siblings, func(q interaction.Question) bool { return own(&q) })
}

// typed reports whether the run's question is a form, an approval or not for everybody, or its
// answer belongs to one. The first version would accept any text from anybody as the reply, ask
// without the policy, or execute a turn without the decision and its tool call.
func (r *Run) typed() bool {
	q, a := r.Pending, r.Answer
	return r.Restricted ||
		q != nil && (len(q.Schema) > 0 || q.Subject != nil || q.AlsoText || q.To != nil || q.Ref != "") ||
		a != nil && (a.Via != "" || a.Ref != "" || len(a.Value) > 0 || a.Decision != "" || a.Digest != "" ||
			len(a.Arguments) > 0)
}

// firstForm returns a record without the list that may have it. The error is ErrNewer if the record
// needs a feature that this release does not know. What has no form of a record is returned as it
// is, and does not decode.
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

// checkNeeds returns ErrNewer, with the names, unless this release knows all of these features.
func checkNeeds(names []string) error {
	unknown := slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(needs, func(n need) bool { return n.name == name })
	})
	if len(unknown) == 0 {
		return nil
	}
	const most = 200 // bytes of the text, as anything may be stored
	return fmt.Errorf("%w: it needs %.*s, which this release does not know: upgrade", ErrNewer, most,
		strings.Join(unknown, ", "))
}
