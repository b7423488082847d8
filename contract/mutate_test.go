package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
)

// mutant is a contract that says one thing differently.
type mutant struct {
	name string
	l    func() *contract.Lifecycle // a new one each time
}

// copyOf is a deep copy.
func copyOf(t testing.TB, l *contract.Lifecycle) *contract.Lifecycle {
	t.Helper()
	raw, err := json.Marshal(l)
	require.NoError(t, err)
	out := new(contract.Lifecycle)
	require.NoError(t, json.Unmarshal(raw, out))
	return out
}

// mutants changes one thing at a time.
type mutants struct {
	t    testing.TB
	base *contract.Lifecycle
	all  []mutant
}

func (m *mutants) add(name string, change func(l *contract.Lifecycle)) {
	m.all = append(m.all, mutant{name, func() *contract.Lifecycle {
		l := copyOf(m.t, m.base)
		change(l)
		return l
	}})
}

// others are the names in the list but one.
func others(list []string, but string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == but })
}

// otherCodes are no code, a code that may end a turn, and a code that may end a wait.
func (m *mutants) otherCodes(but string) []string {
	return others([]string{"", "ENGINE_FAILED", "OUTPUT_INVALID", "INTERACTION_PROCESS_LOST", "RUN_TERMINAL"}, but)
}

func (m *mutants) transitions() {
	l := m.base
	for i, t := range l.Transitions {
		at := func(change func(t *contract.Transition)) func(l *contract.Lifecycle) {
			return func(l *contract.Lifecycle) { change(&l.Transitions[i]) }
		}
		m.add(t.ID+" dropped", func(l *contract.Lifecycle) { l.Transitions = slices.Delete(l.Transitions, i, i+1) })
		for _, s := range others(l.StateNames(), t.To) {
			m.add(t.ID+" to "+s, at(func(t *contract.Transition) { t.To = s }))
		}
		for _, s := range others(l.StateNames(), t.From) {
			m.add(t.ID+" from "+s, at(func(t *contract.Transition) { t.From = s }))
		}
		for _, e := range others(contract.Names(l.Events), t.Event) {
			m.add(t.ID+" by "+e, at(func(t *contract.Transition) { t.Event = e }))
		}
		for _, slot := range others([]string{"acquire", "keep", "release"}, t.Slot) {
			m.add(t.ID+" slot "+slot, at(func(t *contract.Transition) { t.Slot = slot }))
		}
		for _, code := range m.otherCodes(t.Error) {
			m.add(t.ID+" error "+code, at(func(t *contract.Transition) { t.Error = code }))
		}
		for j, code := range t.Also {
			m.add(t.ID+" not also "+code, at(func(t *contract.Transition) { t.Also = slices.Delete(t.Also, j, j+1) }))
		}
		m.add(t.ID+" also ENGINE_FAILED", at(func(t *contract.Transition) { t.Also = append(t.Also, "ENGINE_FAILED") }))
		m.guard(t.ID, t.Guard, func(l *contract.Lifecycle) *contract.Guard { return &l.Transitions[i].Guard })
		m.emissions(t.ID, t.Emits, func(l *contract.Lifecycle) *[]contract.Emission { return &l.Transitions[i].Emits })
	}
	m.add("submission to running", func(l *contract.Lifecycle) { l.Submission.To = "running" })
	m.add("submission with a slot", func(l *contract.Lifecycle) { l.Submission.Slot = "acquire" })
	m.emissions("submission", l.Submission.Emits, func(l *contract.Lifecycle) *[]contract.Emission {
		return &l.Submission.Emits
	})
}

// guard weakens, turns round and strengthens every condition.
func (m *mutants) guard(id string, g contract.Guard, of func(l *contract.Lifecycle) *contract.Guard) {
	for i, name := range g.All {
		m.add(id+" without "+name, func(l *contract.Lifecycle) { g := of(l); g.All = slices.Delete(g.All, i, i+1) })
		m.add(id+" against "+name, func(l *contract.Lifecycle) {
			g := of(l)
			g.All = slices.Delete(g.All, i, i+1)
			g.None = append(g.None, name)
		})
	}
	for i, name := range g.None {
		m.add(id+" in spite of "+name, func(l *contract.Lifecycle) {
			g := of(l)
			g.None = slices.Delete(g.None, i, i+1)
		})
		m.add(id+" only with "+name, func(l *contract.Lifecycle) {
			g := of(l)
			g.None = slices.Delete(g.None, i, i+1)
			g.All = append(g.All, name)
		})
	}
	for _, f := range contract.Names(m.base.Facts) {
		if slices.Contains(contract.Mentioned(g), f) {
			continue
		}
		m.add(id+" also needs "+f, func(l *contract.Lifecycle) { g := of(l); g.All = append(g.All, f) })
		m.add(id+" also bars "+f, func(l *contract.Lifecycle) { g := of(l); g.None = append(g.None, f) })
	}
}

func (m *mutants) emissions(id string, list []contract.Emission, of func(l *contract.Lifecycle) *[]contract.Emission) {
	for i, e := range list {
		m.add(id+" does not tell "+e.Type, func(l *contract.Lifecycle) {
			list := of(l)
			*list = slices.Delete(*list, i, i+1)
		})
		for _, count := range others([]string{"one", "optional", "many", "some"}, e.Count) {
			m.add(id+" tells "+count+" "+e.Type, func(l *contract.Lifecycle) { (*of(l))[i].Count = count })
		}
		if i > 0 {
			m.add(id+" tells "+e.Type+" earlier", func(l *contract.Lifecycle) {
				list := *of(l)
				list[i-1], list[i] = list[i], list[i-1]
			})
		}
	}
	for _, typ := range m.base.PayloadTypes() {
		m.add(id+" also tells "+typ, func(l *contract.Lifecycle) {
			list := of(l)
			*list = append(*list, contract.Emission{Type: typ, Count: "one"})
		})
	}
}

func (m *mutants) rejections() {
	for i, r := range m.base.Rejections {
		m.add(r.ID+" dropped", func(l *contract.Lifecycle) { l.Rejections = slices.Delete(l.Rejections, i, i+1) })
		for j := range r.Events {
			m.add(r.ID+" without "+r.Events[j], func(l *contract.Lifecycle) {
				r := &l.Rejections[i]
				r.Events = slices.Delete(r.Events, j, j+1)
			})
		}
		for j := range r.States {
			m.add(r.ID+" without "+r.States[j], func(l *contract.Lifecycle) {
				r := &l.Rejections[i]
				r.States = slices.Delete(r.States, j, j+1)
			})
		}
		for _, code := range m.otherCodes(r.Error) {
			m.add(r.ID+" with "+code, func(l *contract.Lifecycle) { l.Rejections[i].Error = code })
		}
	}
}

func (m *mutants) gate() {
	for i, r := range m.base.Gate {
		at := func(change func(r *contract.GateRule)) func(l *contract.Lifecycle) {
			return func(l *contract.Lifecycle) { change(&l.Gate[i]) }
		}
		m.add(r.ID+" dropped", func(l *contract.Lifecycle) { l.Gate = slices.Delete(l.Gate, i, i+1) })
		if i > 0 {
			m.add(r.ID+" earlier", func(l *contract.Lifecycle) { l.Gate[i-1], l.Gate[i] = l.Gate[i], l.Gate[i-1] })
		}
		for _, e := range others(contract.Names(m.base.Events), r.Outcome) {
			m.add(r.ID+" decides "+e, at(func(r *contract.GateRule) { r.Outcome = e }))
		}
		for _, code := range m.otherCodes(r.Error) {
			m.add(r.ID+" error "+code, at(func(r *contract.GateRule) { r.Error = code }))
		}
		for j, w := range r.Warnings {
			m.add(r.ID+" without "+w, at(func(r *contract.GateRule) { r.Warnings = slices.Delete(r.Warnings, j, j+1) }))
		}
		m.add(r.ID+" warns", at(func(r *contract.GateRule) { r.Warnings = append(r.Warnings, "ENGINE_DIAGNOSTIC") }))
		m.guard(r.ID, r.Guard, func(l *contract.Lifecycle) *contract.Guard { return &l.Gate[i].Guard })
	}
}

func (m *mutants) policy() {
	for i, w := range m.base.Waiting {
		m.add(w.ID+" dropped", func(l *contract.Lifecycle) { l.Waiting = slices.Delete(l.Waiting, i, i+1) })
		m.add(w.ID+" strictness", func(l *contract.Lifecycle) { l.Waiting[i].Strict = !l.Waiting[i].Strict })
		for _, p := range others(contract.Names(m.base.Profiles), w.Profile) {
			m.add(w.ID+" for "+p, func(l *contract.Lifecycle) { l.Waiting[i].Profile = p })
		}
		for _, slot := range others([]string{"keep", "release"}, w.Slot) {
			m.add(w.ID+" slot "+slot, func(l *contract.Lifecycle) { l.Waiting[i].Slot = slot })
		}
		for _, action := range others([]string{"keep_waiting", "auto_decide", "fail"}, w.OnDeadline) {
			m.add(w.ID+" does "+action, func(l *contract.Lifecycle) { l.Waiting[i].OnDeadline = action })
		}
	}
}

// lists drops each name that is defined.
func (m *mutants) lists() {
	for i, s := range m.base.States {
		m.add(s.ID+" dropped", func(l *contract.Lifecycle) { l.States = slices.Delete(l.States, i, i+1) })
		m.add(s.ID+" terminal or not", func(l *contract.Lifecycle) { l.States[i].Terminal = !l.States[i].Terminal })
	}
	type list struct {
		name string
		of   func(*contract.Lifecycle) *[]contract.Name
	}
	for _, names := range []list{
		{"mode", func(l *contract.Lifecycle) *[]contract.Name { return &l.Modes }},
		{"profile", func(l *contract.Lifecycle) *[]contract.Name { return &l.Profiles }},
		{"event", func(l *contract.Lifecycle) *[]contract.Name { return &l.Events }},
		{"fact", func(l *contract.Lifecycle) *[]contract.Name { return &l.Facts }},
	} {
		of := names.of
		for i, n := range *of(m.base) {
			m.add(names.name+" "+n.Name+" dropped", func(l *contract.Lifecycle) {
				list := of(l)
				*list = slices.Delete(*list, i, i+1)
			})
		}
	}
	for i, c := range m.base.Errors {
		m.add(c.ID+" dropped", func(l *contract.Lifecycle) { l.Errors = slices.Delete(l.Errors, i, i+1) })
	}
	for i, p := range m.base.Payloads {
		m.add(p.ID+" dropped", func(l *contract.Lifecycle) { l.Payloads = slices.Delete(l.Payloads, i, i+1) })
		m.add(p.ID+" elsewhere", func(l *contract.Lifecycle) { l.Payloads[i].Schema = "events/other.schema.json" })
	}
}

func (m *mutants) invariants() {
	for i, v := range m.base.Invariants {
		m.add(v.ID+" dropped", func(l *contract.Lifecycle) { l.Invariants = slices.Delete(l.Invariants, i, i+1) })
		if len(v.Params) == 0 {
			continue
		}
		var params any
		require.NoError(m.t, json.Unmarshal(v.Params, &params))
		altered := m.altered(params)
		for _, name := range slices.Sorted(maps.Keys(altered)) { // a sample must be reproducible
			raw, err := json.Marshal(altered[name])
			require.NoError(m.t, err)
			m.add(v.ID+name, func(l *contract.Lifecycle) { l.Invariants[i].Params = raw })
		}
	}
}

// parameters are the lists from which an invariant's parameters take their names, in addition to
// the contract's.
var parameters = [][]string{
	{"keep_waiting", "auto_decide", "fail"},
	{"seq", "meta.local_seq", "meta.attempt", "data.interaction_id"},
	{"protocol_version", "engine", "to", "terminal.status"},
	{"ts", "meta.incarnation"},
	{"pending_interaction_id", "terminal", "wait_deadline_at"},
}

// altered returns the value with one thing inside changed: a member or item left out, a bool
// turned, a name replaced by its neighbour in the list that it is from.
func (m *mutants) altered(v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case bool:
		out[" turned"] = !v
	case string:
		l := m.base
		lists := [][]string{contract.Names(l.Modes), contract.Names(l.Profiles), l.StateNames(),
			contract.Names(l.Events), l.PayloadTypes()}
		for _, list := range append(lists, parameters...) {
			if i := slices.Index(list, v); i >= 0 {
				next := list[(i+1)%len(list)]
				out[" says "+next] = next
			}
		}
	case []any:
		for i, item := range v {
			out[fmt.Sprintf(" without %v", item)] = slices.Delete(slices.Clone(v), i, i+1)
			for name, changed := range m.altered(item) {
				list := slices.Clone(v)
				list[i] = changed
				out[fmt.Sprintf("[%d]%s", i, name)] = list
			}
		}
	case map[string]any:
		for key, item := range v {
			object := maps.Clone(v)
			delete(object, key)
			out[" without "+key] = object
			for name, changed := range m.altered(item) {
				object := maps.Clone(v)
				object[key] = changed
				out["."+key+name] = object
			}
		}
	}
	return out
}
