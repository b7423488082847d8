package plainjson

import "strings"

const (
	// shortText is the length up to which texts share memory, in bytes.
	shortText = 64
	// sharedTexts is how much they share, in bytes: what a short text that outlives the others can hold back.
	sharedTexts = 128
)

// Words are texts that values repeat. A Scanner that knows them takes them from here instead of allocating them again.
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
	if w, ok := s.Known[string(text)]; ok && !escaped {
		return w
	}
	return s.keep(text, escaped)
}

// AText reads a text into memory that it may share with others of its value.
func (s *Scanner) AText() string {
	text, escaped := s.quoted()
	return s.keep(text, escaped)
}

// OwnText reads a text into its own memory.
func (s *Scanner) OwnText() string {
	text, escaped := s.quoted()
	if escaped {
		return strings.Clone(s.keep(text, escaped))
	}
	return string(text)
}

func (s *Scanner) keep(text []byte, escaped bool) string {
	if !escaped && len(text) > shortText {
		return string(text)
	}
	b := s.room(len(text))
	first := b.Len()
	if escaped {
		s.unescape(b, text)
	} else {
		b.Write(text)
	}
	return b.String()[first:]
}

// room is where a text of at most n bytes can be put without moving what stands there.
func (s *Scanner) room(n int) *strings.Builder {
	if n > shortText {
		b := new(strings.Builder)
		b.Grow(n)
		return b
	}
	if s.short.Cap()-s.short.Len() < n {
		s.short = strings.Builder{}
		s.short.Grow(sharedTexts)
	}
	return &s.short
}
