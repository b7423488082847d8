package contract

import "slices"

const (
	started      = "conversation.started"
	stateChanged = "conversation.state.changed"
)

// waiting: each profile × strictness has exactly one row, and a run parks accordingly.
func (c *soundness) waiting() {
	for _, p := range c.l.Profiles {
		for _, strict := range []bool{false, true} {
			n := 0
			for _, w := range c.l.Waiting {
				if w.Profile == p.Name && w.Strict == strict {
					n++
				}
			}
			if n != 1 {
				c.faultf("waiting: profile %s, strict %t has %d rows, exactly one is needed", p.Name, strict, n)
			}
		}
	}
	for _, t := range c.l.Transitions {
		if t.To != "waiting_user" || t.From == t.To {
			continue
		}
		for _, w := range c.l.Waiting {
			sticky := w.Profile == "sticky_process"
			concerned := sticky && slices.Contains(t.All, "sticky") || !sticky && slices.Contains(t.None, "sticky")
			if concerned && w.Slot != t.Slot {
				c.faultf("%s: slot %q, but %s says %q", t.ID, t.Slot, w.ID, w.Slot)
			}
		}
	}
}

// endings: a run that fails or is canceled has a code, no other has; a terminal state holds no
// slot, and without a change of state the slot stays as it is; exactly one event reports a change of
// state, and nothing else.
func (c *soundness) endings() {
	for _, t := range c.l.Transitions {
		fails := c.l.Terminal(t.To) && t.To != "succeeded"
		if fails != (t.Error != "") {
			c.faultf("%s: ends in %s, so its error code is %q", t.ID, t.To, t.Error)
		}
		if t.Error == "" && len(t.Also) > 0 || slices.Contains(t.Also, t.Error) {
			c.faultf("%s: also names codes without need", t.ID)
		}
		if c.l.Terminal(t.To) && t.Slot != "release" {
			c.faultf("%s: a terminal run keeps its slot", t.ID)
		}
		if t.From == t.To && t.Slot != "keep" {
			c.faultf("%s: its slot changes, and its state does not", t.ID)
		}
		reported := 0
		for _, e := range t.Emits {
			if e.Type == stateChanged && e.Count == "one" {
				reported++
			}
		}
		if changes := t.From != t.To; changes && reported != 1 || !changes && reported > 0 {
			c.faultf("%s: %d events report its change of state", t.ID, reported)
		}
	}
	if l := c.l; len(l.Submission.Emits) != 1 || l.Submission.Emits[0] != (Emission{Type: started, Count: "one"}) {
		c.faultf("%s: a run begins with %s only", l.Submission.ID, started)
	}
}

// payloads: each type has its schema, and no schema is left over.
func (c *soundness) payloads() {
	if spoken := envelopeProtocols(); !slices.Equal(c.l.Protocols(), spoken) {
		c.faultf("protocols are %q, the schema of the envelope allows %q", c.l.Protocols(), spoken)
	}
	for _, e := range c.l.Extensions {
		for _, typ := range e.Types {
			if !c.l.HasPayload(typ) {
				c.faultf("%s: there is no event type %q", e.ID, typ)
			}
		}
		for _, trigger := range e.Triggers {
			if !slices.Contains(Names(c.l.Events), trigger) {
				c.faultf("%s: there is no event %q", e.ID, trigger)
			}
		}
		for _, m := range e.Members {
			if !isOptionalMember(m) {
				c.faultf("%s: there is no optional member %q", e.ID, m)
			}
		}
	}
	for _, p := range c.l.Payloads {
		if p.Schema != "events/"+p.Type+schemaSuffix {
			c.faultf("%s: the schema of %s is %s, not in its place", p.ID, p.Type, p.Schema)
		}
		if _, ok := EventSchema(p.Type); !ok {
			c.faultf("%s: there is no schema %s", p.ID, p.Schema)
		}
	}
	if n := countPayloadSchemas(); n != len(c.l.Payloads) {
		c.faultf("payloads: %d types for %d schemas", len(c.l.Payloads), n)
	}
}
