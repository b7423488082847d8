package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// scanner reads what writer writes: members in the order of the fields, without blanks. It reads nothing else: at the first byte that
// it does not expect it gives up, and the caller leaves the whole record to encoding/json. So it need not know what is right, only
// what is usual, and what it accepts it must read as encoding/json would.
type scanner struct {
	body  []byte
	at    int             // the next byte; -1 once it has given up, and then nothing matches any more
	short strings.Builder // the memory that short texts share
}

func (s *scanner) giveUp() { s.at = -1 }

// member says whether the name comes next, with what stands before its value, and steps behind it.
func (s *scanner) member(name string) bool {
	if !has(s.body, s.at, name) {
		return false
	}
	s.at += len(name)
	return true
}

// need is for what is always there: the beginning of an object with its first name, and every end.
func (s *scanner) need(word string) {
	if !s.member(word) {
		s.giveUp()
	}
}

// own reads a text that callers may keep longer than the record.
func (s *scanner) own(name string, into *string) {
	if s.member(name) {
		*into = s.ownText()
	}
}

func (s *scanner) text(name string, into *string) {
	if s.member(name) {
		*into = s.value()
	}
}

// word reads one of the contract's words.
func word[T ~string](s *scanner, name string, into *T) {
	if s.member(name) {
		*into = T(s.word())
	}
}

func words[T ~string](s *scanner, name string, into *[]T) {
	if !s.member(name) {
		return
	}
	var few [4]T
	list := few[:0]
	s.need(`[`)
	for more := s.at >= 0; more; more = s.member(`,`) {
		list = append(list, T(s.word()))
	}
	s.need(`]`)
	*into = slices.Clone(list)
}

func (s *scanner) int(name string, into *int) {
	if s.member(name) {
		*into = s.integer()
	}
}

func (s *scanner) duration(name string, into *time.Duration) {
	if s.member(name) {
		*into = time.Duration(s.signed())
	}
}

func (s *scanner) uint(name string, into *uint64) {
	if s.member(name) {
		*into = s.unsigned()
	}
}

func (s *scanner) integer() int {
	v := s.signed()
	if int64(int(v)) != v {
		s.giveUp() // an int is small on some machines
	}
	return int(v)
}

func (s *scanner) signed() int64 {
	negative := s.member(`-`)
	v := s.unsigned()
	switch {
	case v > math.MaxInt64:
		s.giveUp()
		return 0
	case negative:
		return -int64(v)
	}
	return int64(v)
}

func (s *scanner) unsigned() (v uint64) {
	first := s.at
	for ; s.at >= 0 && s.at < len(s.body) && isDigit(s.body[s.at]); s.at++ {
		if v > math.MaxUint64/10-1 {
			s.giveUp()
			return 0
		}
		v = v*10 + uint64(s.body[s.at]-'0')
	}
	if s.at == first || s.body[first] == '0' && s.at > first+1 {
		s.giveUp()
	}
	return v
}

func (s *scanner) flag(name string, into *bool) {
	if !s.member(name) {
		return
	}
	if *into = s.member(`true`); !*into {
		s.need(`false`)
	}
}

func (s *scanner) time(name string, into *time.Time) {
	if !s.member(name) {
		return
	}
	first := s.at
	if body, _ := s.quoted(); body == nil || into.UnmarshalJSON(s.body[first:s.at]) != nil {
		s.giveUp()
	}
}

func (s *scanner) bytes(name string, into *[]byte) {
	if !s.member(name) || s.member(`null`) {
		return
	}
	text, escaped := s.quoted()
	body := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(body, text)
	if err != nil || escaped {
		s.giveUp()
	}
	*into = body[:n]
}

func (s *scanner) labels(name string, into *map[string]string) {
	if !s.member(name) {
		return
	}
	*into = map[string]string{}
	s.need(`{`)
	for more := s.at >= 0; more; more = s.member(`,`) {
		k := s.value()
		s.need(`:`)
		(*into)[k] = s.value()
	}
	s.need(`}`)
}

func (s *scanner) raw(name string, into *json.RawMessage) {
	if s.member(name) {
		*into = bytes.Clone(s.other())
	}
}

// values leaves to encoding/json what is rare and of unknown shape.
func (s *scanner) values(name string, into *map[string]any) {
	if !s.member(name) {
		return
	}
	var v map[string]any
	if json.Unmarshal(s.other(), &v) != nil {
		s.giveUp()
	}
	*into = v
}

// other steps over a value of any shape.
func (s *scanner) other() []byte {
	first, end := s.at, endOfValue(s.body, s.at, 0)
	s.at = end
	if end < 0 {
		return nil
	}
	return s.body[first:end]
}
