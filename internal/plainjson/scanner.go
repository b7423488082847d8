package plainjson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// Scanner reads Writer's form: members in the order of the fields, without white space. At the
// first unexpected byte it gives up, and the caller uses encoding/json. It reads whatever it
// accepts as encoding/json would. A method with the parameter name does nothing if that member is
// missing. Results share no memory with Body.
type Scanner struct {
	Body []byte
	// Words are texts that AWord need not allocate; nil for none.
	Words Words

	at     int             // the next byte; -1 after giving up, after which nothing matches
	shared strings.Builder // the memory that short texts share
}

// GiveUp reports that Body is not in Writer's form.
func (s *Scanner) GiveUp() { s.at = -1 }

// Going reports whether the Scanner has not given up.
func (s *Scanner) Going() bool { return s.at >= 0 }

// Done reports whether everything was read and is in Writer's form. Only then are the values valid.
func (s *Scanner) Done() bool { return s.at == len(s.Body) }

// Member reports whether the name, with the characters before its value, comes next, and skips it.
func (s *Scanner) Member(name string) bool {
	if !has(s.Body, s.at, name) {
		return false
	}
	s.at += len(name)
	return true
}

// Need skips a word that must come next: an object's beginning with its first name, or an end.
func (s *Scanner) Need(word string) {
	if !s.Member(word) {
		s.GiveUp()
	}
}

// Own reads a text into separate memory, for callers that keep it longer than the other values.
func (s *Scanner) Own(name string, into *string) {
	if s.Member(name) {
		*into = s.OwnText()
	}
}

// Text reads a text into memory that it may share with other texts of Body.
func (s *Scanner) Text(name string, into *string) {
	if s.Member(name) {
		*into = s.AText()
	}
}

// Word reads a text that is probably in Words.
func Word[T ~string](s *Scanner, name string, into *T) {
	if s.Member(name) {
		*into = T(s.AWord())
	}
}

// FewElements is the capacity that a list has before it grows.
const FewElements = 4

// ReadWords reads a list of texts that are probably in Words.
func ReadWords[T ~string](s *Scanner, name string, into *[]T) {
	if !s.Member(name) {
		return
	}
	var few [FewElements]T
	list := few[:0]
	s.Need(`[`)
	for more := s.Going(); more; more = s.Member(`,`) {
		list = append(list, T(s.AWord()))
	}
	s.Need(`]`)
	*into = slices.Clone(list)
}

func (s *Scanner) Int(name string, into *int) {
	if s.Member(name) {
		*into = s.AnInt()
	}
}

func (s *Scanner) Int8(name string, into *int8) {
	if !s.Member(name) {
		return
	}
	v := s.signed()
	if int64(int8(v)) != v {
		s.GiveUp()
	}
	*into = int8(v)
}

func (s *Scanner) Uint16(name string, into *uint16) {
	if !s.Member(name) {
		return
	}
	v := s.signed()
	if int64(uint16(v)) != v {
		s.GiveUp()
	}
	*into = uint16(v)
}

func (s *Scanner) Int64(name string, into *int64) {
	if s.Member(name) {
		*into = s.signed()
	}
}

// Duration reads nanoseconds.
func (s *Scanner) Duration(name string, into *time.Duration) {
	if s.Member(name) {
		*into = time.Duration(s.signed())
	}
}

func (s *Scanner) Uint(name string, into *uint64) {
	if s.Member(name) {
		*into = s.unsigned()
	}
}

// AnInt reads a number without a name.
func (s *Scanner) AnInt() int {
	v := s.signed()
	if int64(int(v)) != v {
		s.GiveUp() // the number may not fit into an int on every machine
	}
	return int(v)
}

func (s *Scanner) signed() int64 {
	negative := s.Member(`-`)
	v := s.unsigned()
	switch {
	case v > math.MaxInt64:
		s.GiveUp()
		return 0
	case negative:
		return -int64(v)
	}
	return int64(v)
}

func (s *Scanner) unsigned() (v uint64) {
	first := s.at
	for ; s.at >= 0 && s.at < len(s.Body) && isDigit(s.Body[s.at]); s.at++ {
		if v > math.MaxUint64/10-1 {
			s.GiveUp()
			return 0
		}
		v = v*10 + uint64(s.Body[s.at]-'0')
	}
	if s.at == first || s.Body[first] == '0' && s.at > first+1 {
		s.GiveUp()
	}
	return v
}

// Flag reads true or false.
func (s *Scanner) Flag(name string, into *bool) {
	if !s.Member(name) {
		return
	}
	if *into = s.Member(`true`); !*into {
		s.Need(`false`)
	}
}

func (s *Scanner) Time(name string, into *time.Time) {
	if !s.Member(name) {
		return
	}
	first := s.at
	if body, _ := s.quoted(); body == nil || into.UnmarshalJSON(s.Body[first:s.at]) != nil {
		s.GiveUp()
	}
}

// Bytes reads base64, or null.
func (s *Scanner) Bytes(name string, into *[]byte) {
	if !s.Member(name) || s.Member(`null`) {
		return
	}
	text, escaped := s.quoted()
	body := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(body, text)
	if err != nil || escaped {
		s.GiveUp()
	}
	*into = body[:n]
}

// Labels reads an object of texts. It must not be empty.
func (s *Scanner) Labels(name string, into *map[string]string) {
	if !s.Member(name) {
		return
	}
	*into = map[string]string{}
	s.Need(`{`)
	for more := s.Going(); more; more = s.Member(`,`) {
		k := s.AText()
		s.Need(`:`)
		(*into)[k] = s.AText()
	}
	s.Need(`}`)
}

// Raw reads JSON of any shape, in the form that encoding/json writes.
func (s *Scanner) Raw(name string, into *json.RawMessage) {
	if s.Member(name) {
		*into = bytes.Clone(s.any())
	}
}

// Exact reads JSON of any shape in any form.
func (s *Scanner) Exact(name string, into *json.RawMessage) {
	if !s.Member(name) {
		return
	}
	first := s.at
	body := s.any()
	if body == nil {
		end := endOfAny(s.Body, first)
		if end < 0 || !json.Valid(s.Body[first:end]) {
			return // the call of any has given up
		}
		s.at, body = end, s.Body[first:end]
	}
	*into = bytes.Clone(body)
}

// Values reads an object of any shape with encoding/json, since it is rare.
func (s *Scanner) Values(name string, into *map[string]any) {
	if !s.Member(name) {
		return
	}
	var v map[string]any
	if json.Unmarshal(s.any(), &v) != nil {
		s.GiveUp()
	}
	*into = v
}

// any skips a value of any shape.
func (s *Scanner) any() []byte {
	first, end := s.at, endOfValue(s.Body, s.at, 0)
	s.at = end
	if end < 0 {
		return nil
	}
	return s.Body[first:end]
}
