package redact

// chunk is how many bytes of a stream are read or fed at a time.
const chunk = 32 << 10

// stream redacts input in pieces. Positions count from the stream's beginning.
type stream struct {
	r     *Redactor
	state int32
	held  []byte // fed and not released yet: the bytes from base to pos
	base  int64
	pos   int64
	found []span // secrets in held bytes: in order, disjoint; the first may have begun before base
}

type span struct{ from, to int64 }

// feed adds p to the stream and appends to out what can be released. It keeps no reference to p.
func (s *stream) feed(out, p []byte) []byte {
	s.held = append(s.held, p...)
	for i := 0; i < len(p); i++ {
		if s.state == 0 {
			for i < len(p) && s.r.first[p[i]] == 0 {
				i++
			}
			if i == len(p) {
				break
			}
		}
		s.state = s.r.next(s.state, p[i])
		if n := s.r.nodes[s.state].match; n > 0 {
			end := s.pos + int64(i) + 1
			s.find(span{end - int64(n), end})
		}
	}
	s.pos += int64(len(p))
	return s.release(out, s.pos-int64(s.r.nodes[s.state].depth))
}

// find adds a secret that ends at the current position and merges it with overlapping ones.
func (s *stream) find(secret span) {
	for n := len(s.found); n > 0 && s.found[n-1].to > secret.from; n-- {
		secret.from = min(secret.from, s.found[n-1].from)
		s.found = s.found[:n-1]
	}
	s.found = append(s.found, secret)
}

// release appends to out what lies before safe: no secret that is still to be found begins there.
func (s *stream) release(out []byte, safe int64) []byte {
	released := 0 // bytes of held
	for s.base < safe {
		upTo := safe
		switch {
		case len(s.found) == 0:
			out = append(out, s.held[released:released+int(upTo-s.base)]...)
		case s.found[0].from > s.base:
			upTo = min(safe, s.found[0].from)
			out = append(out, s.held[released:released+int(upTo-s.base)]...)
		case s.found[0].to <= safe:
			upTo = s.found[0].to
			out = append(out, Mask...)
			s.found = s.found[1:]
		default: // another secret may overlap it: its bytes can go, its mask comes later
		}
		released += int(upTo - s.base)
		s.base = upTo
	}
	s.held = append(s.held[:0], s.held[released:]...)
	return out
}

// finish appends the rest to out, and resets the search.
func (s *stream) finish(out []byte) []byte {
	out = s.release(out, s.pos)
	s.state = 0
	return out
}

// discard discards the held bytes. If a secret began there, the rest of it is replaced.
func (s *stream) discard() {
	s.base, s.held, s.found = s.pos, s.held[:0], nil
}
