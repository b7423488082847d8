package plainjson

import "strings"

const (
	// shortText is the length in bytes up to which texts share memory.
	shortText = 64
	// sharedTexts is the size in bytes of the shared memory: the most that one long-lived short text
	// keeps alive.
	sharedTexts = 128
)

// Words are texts that occur in many values. A Scanner that knows them does not allocate for them.
type Words map[string]string

// Learn adds words of one kind.
func Learn[T ~string](into Words, words ...T) {
	for _, w := range words {
		into[string(w)] = string(w)
	}
}

// AWord reads a text that is probably in Words.
func (s *Scanner) AWord() string {
	text, escaped := s.quoted()
	if w, ok := s.Words[string(text)]; ok && !escaped {
		return w
	}
	return s.sharedText(text, escaped)
}

// AText reads a text into memory that it may share with other texts of Body.
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

// long returns the text without its escapes, in separate memory.
func (s *Scanner) long(text []byte) string {
	var b strings.Builder
	b.Grow(len(text))
	s.unescape(&b, text)
	return b.String()
}

// short returns the text without its escapes, in shared memory. It starts a new piece rather than
// moving earlier texts.
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
