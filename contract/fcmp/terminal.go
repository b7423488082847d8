package fcmp

import (
	"bytes"
	"sync"
)

// Terminal reports whether the event is the last one of its run: a change to a terminal state. It is
// false if the event's data cannot be decoded.
func (e Event) Terminal() bool {
	if e.Type != TypeStateChanged {
		return false
	}
	// Most changes lead to a non-terminal state, which is cheap to detect. Only a run's last change
	// is decoded in full.
	if to := member(e.Data, "to"); to != nil && !terminalState(string(to)) {
		return false
	}
	var change StateChanged
	return e.Decode(&change) == nil && terminalState(change.To)
}

func terminalState(name string) bool {
	for i := range declared().States {
		if s := &declared().States[i]; s.Name == name {
			return s.Terminal
		}
	}
	return false
}

// ChangeIn returns the state that the run has left with the event in body, and the trigger; both
// are empty for a submission. It returns false for other events, and for a body that Encode has not
// written. It is cheaper than Decode, for callers that need only this of every commit.
func ChangeIn(body []byte) (from, trigger string, ok bool) {
	if typ := typeOf(body); typ != TypeStarted && typ != TypeStateChanged {
		return "", "", false // before the data of a question is read, which may be long
	}
	w, ok := readWritten(body)
	if !ok || string(w.typ) == TypeStarted {
		return "", "", ok
	}
	left, why := member(w.data, "from"), member(w.data, "trigger")
	return declaredName(left), declaredName(why), left != nil && why != nil
}

// typeOf returns the event's type; empty for an unknown type, or a form that Encode does not write.
func typeOf(body []byte) string {
	var w written
	c := cursor{rest: body}
	c.readHead(&w)
	if c.lost {
		return ""
	}
	return knownType(w.typ)
}

var declaredNames = sync.OnceValue(func() map[string]string {
	names := make(map[string]string)
	for i := range declared().States {
		name := declared().States[i].Name
		names[name] = name
	}
	for i := range declared().Events {
		name := declared().Events[i].Name
		names[name] = name
	}
	return names
})

// declaredName returns the text as a string, without allocating for a state or a trigger.
func declaredName(text []byte) string {
	if name, ok := declaredNames()[string(text)]; ok {
		return name
	}
	return string(text)
}

// member returns the text of a member of data that Encode wrote: sorted by name, none twice. For
// other data it mostly returns nil; it does not find every fault.
//
// A decoder also takes "TO" or "tO" for the member "to", and the last of several counts; sorted,
// that is "to".
func member(data []byte, wanted string) (text []byte) {
	c := cursor{rest: data}
	c.skip("{")
	var last []byte
	for {
		c.skip(`"`)
		name := c.text()
		c.skip(":")
		if c.lost || bytes.Compare(name, last) <= 0 {
			return nil
		}
		last = name
		if string(name) == wanted {
			c.skip(`"`)
			text = c.text()
		} else {
			c.value()
		}
		if at(c.rest, 0) != ',' {
			break
		}
		c.skip(",")
	}
	c.skip("}")
	if c.lost {
		return nil
	}
	return text
}
