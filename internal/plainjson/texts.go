package plainjson

import "strings"

const (
	// shortText is the length up to which texts share memory, in bytes.
	shortText = 64
	// sharedTexts is how much they share, in bytes: what a short text that outlives the others can
	// hold back.
	sharedTexts = 128
)

// Words are texts that values repeat. A Scanner that knows them takes them from here instead of
// allocating them again.
type Words map[string]string

// Learn adds words of one kind.
func Learn[T ~string](into Words, words ...T) {
	for _, w := range words {
		into[string(w)] = string(w)
	}
}

// AWord reads a text that is probably known.
func (s *Scanner) AWord() string {
	text, escaped := s.quoted()
	if w, ok := s.Words[string(text)]; ok && !escaped {
		return w
	}
	return s.sharedText(text, escaped)
}

// AText reads a text into memory that it may share with others of its value.
func (s *Scanner) AText() string {
	text, escaped := s.quoted()
	return s.sharedText(text, escaped)
}

// OwnText reads a text into its own memory.
func (s *Scanner) OwnText() string {
	text, escaped := s.quoted()
	switch {
	case !escaped:
		return string(text)
	case len(text) > shortText:
		return s.long(text)
	}
	return strings.Clone(s.short(text, escaped))
}

func (s *Scanner) sharedText(text []byte, escaped bool) string {
	switch {
	case len(text) <= shortText:
		return s.short(text, escaped)
	case escaped:
		return s.long(text)
	}
	return string(text)
}

// long undoes the escapes of a text that shares its memory with no other.
func (s *Scanner) long(text []byte) string {
	var b strings.Builder
	b.Grow(len(text))
	s.unescape(&b, text)
	return b.String()
}

// short puts a text where there is room for it without moving what stands there.
func (s *Scanner) short(text []byte, escaped bool) string {
	if s.shared.Cap()-s.shared.Len() < len(text) {
		s.shared = strings.Builder{}
		s.shared.Grow(sharedTexts)
	}
	first := s.shared.Len()
	if escaped {
		s.unescape(&s.shared, text)
	} else {
		s.shared.Write(text)
	}
	return s.shared.String()[first:]
}
