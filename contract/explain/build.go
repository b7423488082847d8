package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/contract"
)

// thing is the kind and the name with which one part of the contract refers to another.
type thing struct{ kind, name string }

type builder struct {
	entries []Entry
	used    map[thing][]string
}

// add adds one entry of the contract. Source is its Go value, which is searched for references.
func (b *builder) add(kind, name, id, doc string, says []Field, requirements []string, source any) {
	b.entries = append(b.entries, Entry{ID: id, Kind: kind, Name: name, Doc: doc, Says: says,
		Requirements: requirements})
	for _, r := range requirements {
		b.use(thing{"requirement", r}, id)
	}
	raw, err := json.Marshal(source)
	if err != nil {
		panic(fmt.Errorf("explain: %s: %w", id, err)) // it was read as JSON
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(fmt.Errorf("explain: %s: %w", id, err))
	}
	b.walk(id, "", tree)
}

func (b *builder) use(t thing, by string) { b.used[t] = append(b.used[t], by) }

// names has the contract's keys that hold names, with their kinds.
var names = map[string]string{
	"from": "state", "to": "state", "state": "state", "states": "state",
	"event": "event", "events": "event", "trigger": "event", "triggers": "event", "outcome": "event",
	"all": "fact", "none": "fact",
	"error": "error code", "also": "error code", "warnings": "warning code",
	"profile": "profile", "mode": "mode",
	"type": "event type", "types": "event type", "past": "event type",
}

func (b *builder) walk(id, key string, tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, item := range tree {
			b.walk(id, key, item)
		}
	case []any:
		for _, item := range tree {
			b.walk(id, key, item)
		}
	case string:
		own := key == "type" && strings.HasPrefix(id, "PL-")
		if kind, ok := names[key]; ok && !own {
			b.use(thing{kind, tree}, id)
		}
	}
}

func (b *builder) lists(l *contract.Lifecycle) {
	for _, s := range l.States {
		b.add("state", s.Name, s.ID, s.Doc, fields("terminal", yes(s.Terminal)), s.Requirements, s)
	}
	for _, group := range []struct {
		kind string
		list []contract.Name
	}{{"event", l.Events}, {"mode", l.Modes}, {"profile", l.Profiles}, {"fact", l.Facts}} {
		for _, n := range group.list {
			b.add(group.kind, n.Name, n.ID, n.Doc, nil, n.Requirements, n)
		}
	}
	s := l.Submission
	b.add("submission", "", s.ID, s.Doc, fields("to", s.To, "slot", s.Slot, "emits", emits(s.Emits)), s.Requirements, s)
	for _, t := range l.Transitions {
		b.add("transition", "", t.ID, t.Doc, fields("from", t.From, "event", t.Event, "to", t.To, "when", when(t.Guard),
			"slot", t.Slot,
			"emits", emits(t.Emits), "error", strings.Join(append([]string{t.Error}, t.Also...), " or ")),
			t.Requirements, t)
	}
	for _, r := range l.Rejections {
		b.add("rejection", "", r.ID, r.Doc, fields("in states", strings.Join(r.States, ", "), "events",
			strings.Join(r.Events, ", "), "error", r.Error), r.Requirements, r)
	}
	for _, r := range l.Gate {
		b.add("gate rule", "", r.ID, r.Doc, fields("when", when(r.Guard), "outcome", r.Outcome, "error", r.Error,
			"warnings", strings.Join(r.Warnings, ", ")), r.Requirements, r)
	}
	for _, w := range l.Waiting {
		b.add("waiting rule", "", w.ID, w.Doc, fields("profile", w.Profile, "strict", yes(w.Strict), "slot", w.Slot,
			"at the deadline", w.OnDeadline), w.Requirements, w)
	}
	b.messages(l)
	for _, v := range l.Invariants {
		b.add("invariant", "", v.ID, v.Doc, fields("decided by", v.Kind, "with", string(v.Params)), v.Requirements, v)
	}
}

func (b *builder) messages(l *contract.Lifecycle) {
	for _, c := range l.Errors {
		b.add("error code", c.Code, c.ID, c.Doc, fields("source", c.Source), c.Requirements, nil)
	}
	for _, c := range l.Warnings {
		b.add("warning code", c.Code, c.ID, c.Doc, nil, c.Requirements, nil)
	}
	o := l.OwnWarnings
	b.add("warning codes of engines", "", o.ID, o.Doc, fields("prefix", o.Prefix, "longest", strconv.Itoa(o.Longest)+
		" bytes"), o.Requirements, o)
	for _, p := range l.Payloads {
		b.add("event type", p.Type, p.ID, p.Doc, fields("schema", "contract/"+p.Schema), p.Requirements, p)
	}
	for _, e := range l.Extensions {
		b.add("protocol version", "", e.ID, e.Doc, fields("version", e.Protocol, "event types", strings.Join(e.Types,
			", "), "triggers",
			strings.Join(e.Triggers, ", "), "members", strings.Join(e.Members, ", ")), e.Requirements, e)
	}
}

// fields pairs names with texts, without the empty texts.
func fields(pairs ...string) []Field {
	var out []Field
	for pair := range slices.Chunk(pairs, 2) {
		if name, text := pair[0], pair[1]; text != "" {
			out = append(out, Field{name, text})
		}
	}
	return out
}

func when(g contract.Guard) string {
	parts := append([]string(nil), g.All...)
	for _, name := range g.None {
		parts = append(parts, "not "+name)
	}
	return strings.Join(parts, ", ")
}

func emits(emissions []contract.Emission) string {
	var parts []string
	for _, e := range emissions {
		parts = append(parts, e.Type+e.CountNote())
	}
	return strings.Join(parts, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
