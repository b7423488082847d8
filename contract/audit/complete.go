package audit

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/interlude-go/interlude/contract"
)

// completer brings the events of a producer that leaves things out, or adds some, into the form that the contract asks for. What it
// cannot mend it leaves as it is, for the checker to judge.
type completer struct {
	forgiven forgiven
	runs     map[string]*standing // those that have begun and not ended
}

// standing is where a run stands, as far as the envelope of its next event depends on it.
type standing struct {
	engine   string
	attempt  int
	localSeq uint64
}

func newCompleter(f forgiven) *completer {
	return &completer{forgiven: f, runs: map[string]*standing{}}
}

// forget drops a run of which nothing more is judged.
func (c *completer) forget(run string) { delete(c.runs, run) }

// complete returns the line as it would be with everything in it, and the line itself where nothing is missing or can be done.
func (c *completer) complete(line []byte) []byte {
	if e, err := contract.Verify(line); err == nil {
		c.note(e)
		return line
	}
	whole, ok := object(line)
	if !ok {
		return line
	}
	typ, _ := whole["type"].(string)
	payload := schemas()[typ]
	data, ok := whole["data"].(map[string]any)
	if typ == "" || payload == nil || !ok {
		return line
	}
	var marks marks
	marks.prune(schemas()[""], whole, "", "")
	marks.prune(payload, data, typ, "")
	c.fillEnvelope(&marks, whole)
	for _, s := range substitutes {
		if s.typ == typ {
			marks.fill(s, data, whole["ts"])
		}
	}
	full, err := json.Marshal(whole)
	if err != nil {
		return line
	}
	e, err := contract.Verify(full)
	if err != nil {
		return full // its explanation is about what is really wrong
	}
	c.forgiven.add(marks.made)
	c.note(e)
	return full
}

// object reads a line that holds one JSON object.
func object(line []byte) (map[string]any, bool) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var whole map[string]any
	if dec.Decode(&whole) != nil || len(bytes.TrimSpace(line[dec.InputOffset():])) > 0 {
		return nil, false
	}
	return whole, whole != nil
}

// note remembers where the event's run stands after it.
func (c *completer) note(e contract.Event) {
	if e.Terminal() {
		c.forget(e.RunID)
		return
	}
	at := c.runs[e.RunID]
	if at == nil {
		if e.Type != contract.TypeStarted {
			return // no run begins so
		}
		at = new(standing)
		c.runs[e.RunID] = at
	}
	*at = standing{e.Engine, e.Meta.Attempt, e.Meta.LocalSeq}
}

func (c *completer) fillEnvelope(m *marks, whole map[string]any) {
	run, _ := whole["run_id"].(string)
	at := c.runs[run]
	if at == nil {
		at = &standing{engine: unknownEngine}
	}
	if _, ok := whole[memberEngine]; !ok {
		whole[memberEngine] = at.engine
		m.missing("", memberEngine)
	}
	meta, ok := whole["meta"].(map[string]any)
	if !ok {
		return
	}
	number, _ := meta["attempt"].(json.Number)
	attempt, err := number.Int64()
	if _, ok := meta["local_seq"]; ok || err != nil {
		return
	}
	next := uint64(1)
	if int(attempt) == at.attempt {
		next = at.localSeq + 1
	}
	meta["local_seq"] = next
	m.missing("", memberLocalSeq)
}

// marks is what was changed in one event.
type marks struct{ made []mark }

// missing notes a member that was made up for, unless it was null and is noted as that.
func (m *marks) missing(typ, member string) {
	if !slices.Contains(m.made, mark{typ, member, Null}) {
		m.made = append(m.made, mark{typ, member, Missing})
	}
}

// prune takes out of an object what the schema does not know, and what is null and may be missing.
func (m *marks) prune(n *node, value map[string]any, typ, prefix string) {
	if len(n.Properties) == 0 {
		return // any members
	}
	for name, item := range value {
		child, known := n.Properties[name]
		path := prefix + name
		switch {
		case !known:
			delete(value, name)
			m.made = append(m.made, mark{typ, path, Unknown})
			continue
		case item == nil && (!slices.Contains(n.Required, name) || allowed(typ, path)):
			delete(value, name)
			m.made = append(m.made, mark{typ, path, Null})
			continue
		}
		switch item := item.(type) {
		case map[string]any:
			m.prune(child, item, typ, path+".")
		case []any:
			for _, item := range item {
				if inner, ok := item.(map[string]any); ok && child.Items != nil {
					m.prune(child.Items, inner, typ, path+"[].")
				}
			}
		}
	}
}

// allowed reports whether the member is one that is made up for.
func allowed(typ, member string) bool {
	if typ == "" {
		return slices.ContainsFunc(envelopeSubstitutes, func(a Allowance) bool { return a.Member == member })
	}
	return slices.ContainsFunc(substitutes, func(s substitute) bool { return s.typ == typ && s.member == member })
}

// fill makes up for a member that is missing, wherever the object that would hold it is there.
func (m *marks) fill(s substitute, data map[string]any, ts any) {
	path := s.path()
	for _, name := range path[:len(path)-1] {
		inner, ok := data[name].(map[string]any)
		if !ok {
			return
		}
		data = inner
	}
	last := path[len(path)-1]
	if _, ok := data[last]; ok {
		return
	}
	data[last] = s.value
	if (s.value == timeOfEvent{}) {
		data[last] = ts
	}
	m.missing(s.typ, s.member)
}
