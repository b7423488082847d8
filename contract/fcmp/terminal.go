package fcmp

import "bytes"

// Terminal reports whether the event tells of the run's end: whether it is a change of state whose
// data can be read, to a terminal state. After it nothing more comes (F9).
func (e Event) Terminal() bool {
	if e.Type != TypeStateChanged {
		return false
	}
	// Nearly all changes are none, and that is cheap to see. The last is read in full.
	if to := newState(e.Data); to != nil && !terminalState(string(to)) {
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

// newState returns the member "to" of data that is written as Encode does: members sorted by name,
// none of them twice. For other data it returns nil. It need not find all that is wrong with the
// data: data that cannot be read tells of no end either.
//
// A decoder also takes "TO" or "tO" for the member, and the last of several counts; sorted, that is
// "to".
func newState(data []byte) (to []byte) {
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
		if string(name) == "to" {
			c.skip(`"`)
			to = c.text()
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
	return to
}
