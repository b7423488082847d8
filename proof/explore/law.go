package explore

import (
	"slices"

	"github.com/interlude-go/interlude/contract"
)

// law is the contract as the explorer asks it: each question once, of contract's interpreter, and
// the answer remembered.
type law struct {
	l       *contract.Lifecycle
	rulings map[question]ruling
	// those that a cell's guards mention; the others change nothing there
	cells [len(placeNamesArray)][happenings]facts
	gate  map[facts][]verdict
}

// question is a cell and the facts.
type question struct {
	from  place
	event happening
	holds facts
}

// ruling is what the contract says: an arrow, or a refusal.
type ruling struct {
	arrow int8 // index into Transitions; -1 for a refusal
	to    place
	slot  slotEffect
	rule  string // what decided
	code  string // of the refusal
}

func (r ruling) taken() bool { return r.arrow >= 0 }

// slotEffect is what an arrow does to the run's slot.
type slotEffect uint8

const (
	keeps slotEffect = iota
	acquires
	releases
)

// verdict is one way in which the gate can decide a turn: rules that agree in outcome and code are
// one.
type verdict struct {
	outcome happening
	code    string
	rules   []string
}

func newLaw(l *contract.Lifecycle) *law {
	w := &law{l: l, rulings: map[question]ruling{}, gate: map[facts][]verdict{}}
	for _, t := range l.Transitions {
		from, event := slices.Index(placeNames, t.From), slices.Index(happeningNames[:], t.Event)
		for _, name := range contract.Mentioned(t.Guard) {
			w.cells[from][event] |= 1 << slices.Index(factNames, name)
		}
	}
	return w
}

// named are the facts as the interpreter takes them.
func named(holds facts) contract.Facts {
	out := make(contract.Facts, len(factNames))
	for i, name := range factNames {
		if holds>>i&1 == 1 {
			out[name] = true
		}
	}
	return out
}

func (w *law) next(from place, event happening, holds facts) ruling {
	holds &= w.cells[from][event]
	q := question{from, event, holds}
	if r, ok := w.rulings[q]; ok {
		return r
	}
	v := w.l.Next(from.String(), event.String(), named(holds))
	r := ruling{arrow: -1, rule: v.Rule, code: v.Code}
	if t := v.Transition; t != nil {
		r.arrow = int8(slices.IndexFunc(w.l.Transitions, func(o contract.Transition) bool { return o.ID == t.ID }))
		r.to = place(slices.Index(placeNames, t.To))
		r.slot = map[string]slotEffect{"acquire": acquires, "release": releases}[t.Slot]
	}
	w.rulings[q] = r
	return r
}

// evidence are the facts that a turn itself brings; the others stand in the record.
const evidence = processOK | doneMarker | notDoneSaid | questionAsked | schemaDeclared | outputValid |
	schemaPermissive | handlePresent

// verdicts are the ways in which a turn can end when the record says what it says: every evidence
// is put before the gate.
func (w *law) verdicts(record facts) []verdict {
	if all, ok := w.gate[record]; ok {
		return all
	}
	var all []verdict
	for seen := facts(0); ; seen = (seen - evidence) & evidence { // every subset of the evidence
		holds := record | seen
		if possible(holds) {
			if rule, ok := w.l.Decide(named(holds)); ok {
				all = among(all, rule)
			}
		}
		if seen == evidence {
			break
		}
	}
	w.gate[record] = all
	return all
}

// possible: without a declared schema no output passes one.
func possible(holds facts) bool {
	return holds&schemaDeclared != 0 || holds&(outputValid|schemaPermissive) == 0
}

func among(all []verdict, rule contract.GateRule) []verdict {
	outcome := happening(slices.Index(happeningNames[:], rule.Outcome))
	i := slices.IndexFunc(all, func(v verdict) bool { return v.outcome == outcome && v.code == rule.Error })
	if i < 0 {
		return append(all, verdict{outcome, rule.Error, []string{rule.ID}})
	}
	if !slices.Contains(all[i].rules, rule.ID) {
		all[i].rules = append(all[i].rules, rule.ID)
	}
	return all
}

// wait is the waiting policy's row.
func (w *law) wait(isSticky, isStrict bool) contract.WaitRule {
	profile := "resumable"
	if isSticky {
		profile = "sticky_process"
	}
	row, _ := w.l.Wait(profile, isStrict)
	return row
}

func (p place) terminal(l *contract.Lifecycle) bool { return l.Terminal(p.String()) }
