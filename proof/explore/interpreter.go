package explore

import (
	"slices"

	"github.com/interlude-go/interlude/contract"
)

// interpreter queries contract's own interpreter of the rules, and caches the answers, so that each
// query is made once.
type interpreter struct {
	l       *contract.Lifecycle
	rulings map[query]ruling
	cells   cells
	gate    map[facts][]verdict
}

// cells has, for each state and event, the facts that the guards there mention. All other facts
// have no effect there.
type cells [len(runStateNamesArray)][eventKinds]facts

// query is an event in a state, with the facts that hold.
type query struct {
	from  runState
	event eventKind
	holds facts
}

// ruling is the contract's answer to a query: a transition, or a refusal.
type ruling struct {
	transition int8 // index into Transitions; -1 for a refusal
	then       int8 // the transition that the same commit makes after it; -1 for none
	to         runState
	slot       slotEffect
	rule       string // the id of the deciding rule
	code       string // the code of the refusal
}

func (r ruling) allowed() bool { return r.transition >= 0 }

// slotEffect is a transition's effect on the run's slot.
type slotEffect uint8

const (
	keeps slotEffect = iota
	acquires
	releases
)

// verdict is one way in which the completion gate can decide a turn. Rules with the same outcome
// and code are one verdict.
type verdict struct {
	outcome eventKind
	code    string
	rules   []string
}

func newInterpreter(l *contract.Lifecycle) *interpreter {
	w := &interpreter{l: l, rulings: map[query]ruling{}, gate: map[facts][]verdict{}}
	for _, t := range l.Transitions {
		from, event := slices.Index(runStateNames, t.From), slices.Index(eventNames[:], t.Event)
		for _, name := range contract.Mentioned(t.Guard) {
			w.cells[from][event] |= 1 << slices.Index(factNames, name)
		}
	}
	return w
}

// namedFacts returns the facts by name, as package contract needs them.
func namedFacts(holds facts) contract.Facts {
	out := make(contract.Facts, len(factNames))
	for i, name := range factNames {
		if holds>>i&1 == 1 {
			out[name] = true
		}
	}
	return out
}

func (w *interpreter) next(from runState, event eventKind, holds facts) ruling {
	holds &= w.cells[from][event]
	q := query{from, event, holds}
	if r, ok := w.rulings[q]; ok {
		return r
	}
	v := w.l.Next(from.String(), event.String(), namedFacts(holds))
	r := ruling{transition: -1, then: -1, rule: v.Rule, code: v.Code}
	if t := v.Transition; t != nil {
		r.transition = int8(slices.IndexFunc(w.l.Transitions, func(o contract.Transition) bool { return o.ID == t.ID }))
		r.to = runState(slices.Index(runStateNames, t.To))
		r.slot = map[string]slotEffect{"acquire": acquires, "release": releases}[t.Slot]
	}
	w.rulings[q] = r
	return r
}

// evidence are the facts from a turn's outcome, in addition to the record's.
const evidence = processOK | doneMarker | notDoneSaid | questionAsked | schemaDeclared | outputValid |
	schemaPermissive | handlePresent

// verdicts returns the ways in which a turn of the record can end. It queries the gate for every
// possible combination of evidence.
func (w *interpreter) verdicts(record facts) []verdict {
	if all, ok := w.gate[record]; ok {
		return all
	}
	var all []verdict
	for seen := facts(0); ; seen = (seen - evidence) & evidence { // every subset of the evidence
		holds := record | seen
		if possible(holds) {
			if rule, ok := w.l.Decide(namedFacts(holds)); ok {
				all = addVerdict(all, rule)
			}
		}
		if seen == evidence {
			break
		}
	}
	w.gate[record] = all
	return all
}

// possible reports whether the facts can hold together: no output is valid without a declared
// schema.
func possible(holds facts) bool {
	return holds&schemaDeclared != 0 || holds&(outputValid|schemaPermissive) == 0
}

func addVerdict(all []verdict, rule contract.GateRule) []verdict {
	outcome := eventKind(slices.Index(eventNames[:], rule.Outcome))
	i := slices.IndexFunc(all, func(v verdict) bool { return v.outcome == outcome && v.code == rule.Error })
	if i < 0 {
		return append(all, verdict{outcome, rule.Error, []string{rule.ID}})
	}
	if !slices.Contains(all[i].rules, rule.ID) {
		all[i].rules = append(all[i].rules, rule.ID)
	}
	return all
}

// wait returns the row of the waiting policy.
func (w *interpreter) wait(isSticky, isStrict bool) contract.WaitRule {
	profile := "resumable"
	if isSticky {
		profile = "sticky_process"
	}
	row, _ := w.l.Wait(profile, isStrict)
	return row
}

func (p runState) terminal(l *contract.Lifecycle) bool { return l.Terminal(p.String()) }
