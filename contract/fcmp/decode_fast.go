package fcmp

import (
	"bytes"
	"cmp"
	"math"
	"strings"
)

// decodeFast reads an event in exactly the form that Encode writes, with decodeSlow's result. It
// rejects any other form.
func decodeFast(body []byte) (Event, bool) {
	e, _, ok := scanEvent(body)
	return e, ok
}

// scanEvent is decodeFast, and also returns the time as written.
func scanEvent(body []byte) (e Event, ts []byte, ok bool) {
	w, ok := readWritten(body)
	typ, protocol := knownType(w.typ), knownProtocol(w.protocol)
	if !ok || typ == "" || protocol == "" || at(w.data, 0) != '{' || w.attempt > math.MaxInt {
		return Event{}, nil, false
	}
	e = Event{
		ProtocolVersion: protocol, RunID: string(w.run), Seq: w.seq, Engine: string(w.engine), Type: typ,
		Data: bytes.Clone(w.data), Meta: Meta{int(w.attempt), w.localSeq, w.incarnation},
	}
	if e.TS.UnmarshalText(w.ts) != nil || e.header().check() != nil {
		return Event{}, nil, false
	}
	return e, w.ts, true
}

// written is an event as written in its body. The slices share the body's memory.
type written struct {
	protocol, run, ts, engine, typ, data []byte
	seq, attempt, localSeq, incarnation  uint64
}

// readWritten splits an event in exactly the form that Encode writes; it returns false for any
// other form. It does not check the members' values.
func readWritten(body []byte) (w written, ok bool) {
	c := cursor{rest: body}
	c.readHead(&w)
	c.skip(`,"data":`)
	w.data = c.value()
	c.skip(`,"meta":{"attempt":`)
	w.attempt = c.number()
	c.skip(`,"local_seq":`)
	w.localSeq = c.number()
	if bytes.HasPrefix(c.rest, []byte(incarnationKey)) {
		c.skip(incarnationKey)
		w.incarnation = c.number()
		c.lost = c.lost || w.incarnation == 0
	}
	c.skip(`}}`)
	return w, !c.lost && len(c.rest) == 0
}

// readHead reads the part before the data.
func (c *cursor) readHead(w *written) {
	c.skip(`{"protocol_version":"`)
	w.protocol = c.text()
	c.skip(`,"run_id":"`)
	w.run = c.text()
	c.skip(`,"seq":`)
	w.seq = c.number()
	c.skip(`,"ts":"`)
	w.ts = c.text()
	c.skip(`,"engine":"`)
	w.engine = c.text()
	c.skip(`,"type":"`)
	w.typ = c.text()
}

// knownProtocol returns the version without allocating, empty for an unknown one.
func knownProtocol(version []byte) string {
	for _, known := range protocols {
		if string(version) == known {
			return known
		}
	}
	return ""
}

// laterProtocol returns the later of two versions. Their parts are numbers, so fcmp/1.10 is later than
// fcmp/1.9.
func laterProtocol(a, b string) string {
	majorA, minorA, _ := strings.Cut(a, ".")
	majorB, minorB, _ := strings.Cut(b, ".")
	// Of two numbers without leading zeros, the one with more digits is larger.
	if cmp.Or(cmp.Compare(len(majorA), len(majorB)), cmp.Compare(majorA, majorB),
		cmp.Compare(len(minorA), len(minorB)), cmp.Compare(minorA, minorB)) < 0 {
		return b
	}
	return a
}

// cursor reads from the front of the remaining text. After an unexpected token it and its results
// are invalid.
type cursor struct {
	rest []byte
	lost bool
}

func (c *cursor) skip(literal string) {
	if len(c.rest) < len(literal) || string(c.rest[:len(literal)]) != literal {
		c.lost = true
		return
	}
	c.rest = c.rest[len(literal):]
}

// text reads ASCII without escapes up to a quote, and the quote.
func (c *cursor) text() []byte {
	for i, b := range c.rest {
		if b == '"' {
			t := c.rest[:i]
			c.rest = c.rest[i+1:]
			return t
		}
		if !verbatim[b] {
			break
		}
	}
	c.lost = true
	return nil
}

// number reads a count of up to 18 digits.
func (c *cursor) number() uint64 {
	n, i := uint64(0), 0
	for i < len(c.rest) && isDigit(c.rest[i]) && i <= 18 {
		n = n*10 + uint64(c.rest[i]-'0')
		i++
	}
	if i == 0 || i > 18 || i > 1 && c.rest[0] == '0' {
		c.lost = true
		return 0
	}
	c.rest = c.rest[i:]
	return n
}

func (c *cursor) value() []byte {
	end := -1
	if !c.lost {
		end = valueEnd(c.rest, 0, 0)
	}
	if end < 0 {
		c.lost = true
		return nil
	}
	value := c.rest[:end]
	c.rest = c.rest[end:]
	return value
}
