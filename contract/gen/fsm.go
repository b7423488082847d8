package main

import (
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/contract"
)

func states(s *source, l *contract.Lifecycle) {
	var all []constant
	var terminal []string
	for _, st := range l.States {
		all = append(all, constant{"State" + camel(st.Name), quote(st.Name), documented(st.ID, st.Doc,
			st.Requirements)})
		if st.Terminal {
			terminal = append(terminal, st.Name)
		}
	}
	s.linef("// ContractVersion is the version of the contract that this package was generated from.")
	s.linef("const ContractVersion = %q", l.Version)
	s.linef("")
	s.linef("// Protocol is the version of the protocol that the events in Emission.Type belong to.")
	s.linef("const Protocol = %q", l.Protocol)
	s.linef("")
	s.linef("// State is the state of a run.")
	s.linef("type State string")
	s.constants("State", all)
	s.list("States", "State", "returns every state.", all)
	s.linef("// Terminal reports whether the state absorbs every event.")
	s.linef("func (s State) Terminal() bool {")
	s.linef("switch s {\ncase %s:\nreturn true\n}\nreturn false\n}", joined("State", ", ", terminal, ""))
	s.linef("")
	modes := named("Mode", l.Modes)
	s.linef("// Mode says whether a run may ask a person.")
	s.linef("type Mode string")
	s.constants("Mode", modes)
	s.list("Modes", "Mode", "returns every mode.", modes)
	profiles := named("Profile", l.Profiles)
	s.linef("// Profile says how an engine continues after a wait.")
	s.linef("type Profile string")
	s.constants("Profile", profiles)
	s.list("Profiles", "Profile", "returns every profile.", profiles)
}

func events(s *source, l *contract.Lifecycle) {
	all := named("Event", l.Events)
	s.linef("// Event is a cause of a change of state.")
	s.linef("type Event string")
	s.constants("Event", all)
	s.list("Events", "Event", "returns every event.", all)
	failures := coded("Code", l.Errors)
	s.linef("// Code names an error.")
	s.linef("type Code string")
	s.constants("Code", failures)
	s.list("Codes", "Code", "returns every error code.", failures)
	s.linef("// Source says who uses the code: engine, gate, run or refusal; it is empty for a code that the " +
		"contract does not know.")
	s.linef("func (c Code) Source() string {")
	s.linef("switch c {")
	for _, source := range []string{"engine", "gate", "run", "refusal"} {
		var own []string
		for _, c := range l.Errors {
			if c.Source == source {
				own = append(own, c.Code)
			}
		}
		if len(own) > 0 {
			s.linef("case %s:\nreturn %q", joined("Code", ", ", own, ""), source)
		}
	}
	s.linef("}\nreturn \"\"\n}")
	s.linef("")
	warnings := coded("Warn", l.Warnings)
	s.linef("// Warning names a diagnostic.")
	s.linef("type Warning string")
	s.constants("Warning", warnings)
	s.list("Warnings", "Warning", "returns every warning code.", warnings)
	own := l.OwnWarnings
	s.linef("// The prefix of engines' warning codes, and their maximal length in bytes. %s",
		documented(own.ID, own.Doc, own.Requirements))
	s.linef("const (")
	s.linef("OwnWarningPrefix = %q", own.Prefix)
	s.linef("OwnWarningLongest = %d", own.Longest)
	s.linef(")")
}

func facts(s *source, l *contract.Lifecycle) {
	all := named("Fact", l.Facts)
	if len(all) > 32 {
		panic("more facts than Facts has bits")
	}
	for i := range all {
		all[i].value = fmt.Sprintf("1 << %d", i)
	}
	s.linef("// Facts is a set of named facts.")
	s.linef("type Facts uint32")
	s.constants("Facts", all)
	s.linef("// factNames are the names of the facts by their bit.")
	s.linef("var factNames = [...]string{")
	for _, f := range l.Facts {
		s.linef("%q,", f.Name)
	}
	s.linef("}")
}

func transitions(s *source, l *contract.Lifecycle) {
	s.linef("import \"github.com/qmuntal/stateless\"")
	s.linef("")
	sub := l.Submission
	s.linef("// submission is how a run begins: %s", documented(sub.ID, sub.Doc, sub.Requirements))
	s.linef("var submission = Submission{ID: %q, To: State%s, Slot: Slot%s, Emits: %s}", sub.ID, camel(sub.To),
		camel(sub.Slot), emissions(sub.Emits))
	s.linef("")
	s.linef("// transitions is every arrow. Callers are given copies.")
	s.linef("var transitions = [...]Transition{")
	for _, t := range l.Transitions {
		s.linef("// %s", documented(t.ID, t.Doc, t.Requirements))
		s.linef("{ID: %q, From: State%s, Event: Event%s, To: State%s,", t.ID, camel(t.From), camel(t.Event),
			camel(t.To))
		s.linef("All: %s, None: %s, Slot: Slot%s, Error: %s, Also: %s,", factSet(t.All), factSet(t.None), camel(t.Slot),
			code(t.Error), slice("Code", "Code", t.Also))
		s.linef("Emits: %s},", emissions(t.Emits))
	}
	s.linef("}")
	s.linef("")
	s.linef("// configure adds every arrow to the machines. A transition to the same state is internal.")
	s.linef("func configure(machine *stateless.StateMachine) {")
	for i, st := range l.States {
		if i > 0 {
			s.linef("")
		}
		s.configure(l, st)
	}
	s.linef("}")
	s.linef("")
	rejections(s, l)
}

func (s *source) configure(l *contract.Lifecycle, st contract.State) {
	chain := fmt.Sprintf("machine.Configure(State%s)", camel(st.Name))
	for _, t := range l.Transitions {
		switch {
		case t.From != st.Name:
		case t.From == t.To:
			chain += fmt.Sprintf(".\n\tInternalTransition(Event%s, nothing, when(%q))", camel(t.Event), t.ID)
		default:
			chain += fmt.Sprintf(".\n\tPermit(Event%s, State%s, when(%q))", camel(t.Event), camel(t.To), t.ID)
		}
	}
	s.linef("%s", chain)
}

func rejections(s *source, l *contract.Lifecycle) {
	s.linef("// rejections is every cell without an arrow.")
	s.linef("var rejections = [...]rejection{")
	for _, r := range l.Rejections {
		s.linef("// %s", documented(r.ID, r.Doc, r.Requirements))
		s.linef("{id: %q, code: %s,\nstates: %s,\nevents: %s},", r.ID, code(r.Error), slice("State", "State", r.States),
			slice("Event", "Event", r.Events))
	}
	s.linef("}")
}

func emissions(list []contract.Emission) string {
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprintf("{%q, Count%s}", e.Type, camel(e.Count)))
	}
	if len(out) == 0 {
		return "nil"
	}
	return "[]Emission{" + strings.Join(out, ", ") + "}"
}

func gate(s *source, l *contract.Lifecycle) {
	s.linef("// gate is the completion gate: the first rule that holds decides. Callers are given copies.")
	s.linef("var gate = [...]GateRule{")
	for _, r := range l.Gate {
		s.linef("// %s", documented(r.ID, r.Doc, r.Requirements))
		s.linef("{ID: %q, All: %s, None: %s, Outcome: Event%s, Error: %s, Warnings: %s},",
			r.ID, factSet(r.All), factSet(r.None), camel(r.Outcome), code(r.Error), slice("Warning", "Warn",
				r.Warnings))
	}
	s.linef("}")
}

func policy(s *source, l *contract.Lifecycle) {
	s.linef("// waiting is the waiting policy.")
	s.linef("var waiting = [...]WaitRule{")
	for _, w := range l.Waiting {
		s.linef("// %s", documented(w.ID, w.Doc, w.Requirements))
		s.linef("{ID: %q, Profile: Profile%s, Strict: %t, Slot: Slot%s, OnDeadline: Deadline%s},", w.ID,
			camel(w.Profile), w.Strict, camel(w.Slot), camel(w.OnDeadline))
	}
	s.linef("}")
}
