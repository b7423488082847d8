package interaction

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/internal/schema"
)

const (
	// MemoryActor is the reserved prefix of the actor ID of a remembered decision. The number of the
	// decided question follows: "memory:3".
	MemoryActor = "memory:"
	// MemoryVia is the Actor.Via of a remembered decision.
	MemoryVia = "memory"
	// MaxMemories limits the remembered decisions of a run.
	MaxMemories = 16
	// MaxBounds limits each list of a Remember, and maxPointer and maxLimit its texts, in bytes.
	MaxBounds  = 16
	maxPointer = 255
	maxLimit   = 64
)

// Remember extends an approval to later calls of the same tool in the same run. The host must allow it.
// A later call is approved unchanged, without asking anyone, if its question has the same audience,
// needs one person, and has no files and no risk except the acknowledged one.
//
// If Equal, Most and Any are zero, all arguments must be equal. Otherwise, arguments without a bound in
// Equal or Most may have any value.
type Remember struct {
	// Until is the end: a future time within the host's limit.
	Until time.Time
	// Equal lists JSON pointers (RFC 6901) to arguments that must equal the approved ones; numbers are
	// compared as written. At most MaxBounds pointers, each once, of at most 255 bytes.
	Equal []string
	// Most lists upper limits of numeric arguments, at most MaxBounds.
	Most []Limit
	// Any approves calls with any arguments. Equal and Most must be empty.
	Any bool
}

// Limit is the upper limit of a numeric argument. It excludes negative numbers and numbers with an
// exponent.
type Limit struct {
	Path string `json:"path"` // a JSON pointer
	// Limit is a decimal number of at most 64 bytes, without a sign or an exponent.
	Limit string `json:"limit"`
}

// SameValue requires an argument to equal the approved one.
type SameValue struct {
	Path string `json:"path"` // a JSON pointer; empty: all arguments
	// Digest is the hexadecimal SHA-256 of the value, encoded as JSON with sorted members.
	Digest string `json:"digest"`
}

// Memory is a remembered decision of a run. Without Equal and Most it covers any arguments.
type Memory struct {
	// ID is the number of the decided question. The actor of later approvals is "memory:ID".
	ID    int         `json:"id"`
	Tool  string      `json:"tool"`
	Risk  string      `json:"risk,omitempty"` // acknowledged
	Equal []SameValue `json:"equal,omitempty"`
	Most  []Limit     `json:"most,omitempty"`
	To    *Audience   `json:"to,omitempty"` // of the question
	Actor string      `json:"actor"`        // the person who decided
	Via   string      `json:"via,omitempty"`
	At    time.Time   `json:"at"`
	Until time.Time   `json:"until"`
}

// By returns the actor of the approvals that the memory gives.
func (m *Memory) By() Actor { return Actor{ID: MemoryActor + strconv.Itoa(m.ID), Via: MemoryVia} }

// MemoryOf returns the question's number from the actor ID of a remembered decision, and 0 for other
// actors.
func MemoryOf(actor string) int {
	if number, ok := strings.CutPrefix(actor, MemoryActor); ok {
		if n, err := strconv.Atoi(number); err == nil {
			return max(n, 0)
		}
	}
	return 0
}

// Lasts reports whether now is before Until.
func (m *Memory) Lasts(now time.Time) bool { return now.Before(m.Until) }

// Covers reports whether the memory approves the open question's call now.
func (m *Memory) Covers(q *Question, now time.Time) bool {
	s := q.Subject
	return m.Lasts(now) && s != nil && s.Tool == m.Tool && (s.Risk == "" || s.Risk == m.Risk) &&
		!q.DecidedBySeveral() && q.Claim == nil && q.Files == nil && len(s.Changes) == 0 && q.To.Equal(m.To) &&
		m.coversArguments(s.Arguments)
}

func (m *Memory) coversArguments(raw json.RawMessage) bool {
	if len(m.Equal) == 0 && len(m.Most) == 0 {
		return true
	}
	arguments, err := decodeArguments(raw)
	if err != nil {
		return false
	}
	for i := range m.Equal {
		if digest, ok := digestAt(arguments, m.Equal[i].Path); !ok || digest != m.Equal[i].Digest {
			return false
		}
	}
	return !slices.ContainsFunc(m.Most, func(l Limit) bool { return !l.admits(arguments) })
}

// NewMemory returns the memory of a valid reply whose answer settles the question.
func NewMemory(r *Remember, q *Question, a *Answer) (*Memory, error) {
	m := &Memory{ID: q.ID, Tool: q.Subject.Tool, Risk: q.Subject.Risk, To: q.To.Clone(), Actor: a.Actor, Via: a.Via,
		At: a.AcceptedAt, Until: r.Until}
	if r.Any {
		return m, nil
	}
	arguments, err := decodeArguments(a.Arguments)
	if err != nil {
		return nil, &FieldError{"Remember", "for arguments that cannot be read", "valid JSON: " + err.Error()}
	}
	equal := r.Equal
	if len(equal) == 0 && len(r.Most) == 0 {
		equal = []string{""}
	}
	for _, path := range equal {
		digest, ok := digestAt(arguments, path)
		if !ok {
			return nil, &FieldError{"Remember.Equal", fmt.Sprintf("%.100q", path), "a pointer to an approved argument"}
		}
		m.Equal = append(m.Equal, SameValue{path, digest})
	}
	for _, l := range r.Most {
		if !l.admits(arguments) {
			return nil, &FieldError{"Remember.Most", fmt.Sprintf("%.100q with the limit %s", l.Path, l.Limit),
				"a pointer to an approved number, from 0 to the limit"}
		}
	}
	m.Most = slices.Clone(r.Most)
	return m, nil
}

// validateRemember checks Remember without the question.
func (r Reply) validateRemember() error {
	m := r.Remember
	if m == nil {
		return nil
	}
	wrong := func(field, value, want string) error { return &FieldError{"Remember" + field, value, want} }
	switch {
	case r.Decision != Approve && r.Decision != Edit:
		return wrong("", "set", fmt.Sprintf("none with the decision %.40q: only an approval is remembered", r.Decision))
	case m.Until.IsZero():
		return wrong(".Until", "missing", "a time after now")
	case len(m.Equal) > MaxBounds || len(m.Most) > MaxBounds:
		return wrong("", fmt.Sprintf("with %d and %d bounds", len(m.Equal), len(m.Most)),
			fmt.Sprintf("at most %d each", MaxBounds))
	case m.Any && len(m.Equal)+len(m.Most) > 0:
		return wrong(".Any", "true", "false with Equal or Most")
	}
	for i, path := range m.Equal {
		if err := validatePointer(path); err != nil {
			return wrong(".Equal", fmt.Sprintf("%.40q", path), err.Error())
		}
		if slices.Contains(m.Equal[:i], path) {
			return wrong(".Equal", fmt.Sprintf("%.40q twice", path), "each argument once")
		}
	}
	for i, l := range m.Most {
		if err := validatePointer(l.Path); err != nil || l.Path == "" {
			return wrong(".Most", fmt.Sprintf("%.40q", l.Path), errPointer.Error())
		}
		if _, ok := decimal(l.Limit); !ok {
			return wrong(".Most", fmt.Sprintf("%.40q", l.Limit), "a decimal number without sign and exponent")
		}
		if slices.ContainsFunc(m.Most[:i], func(b Limit) bool { return b.Path == l.Path }) {
			return wrong(".Most", fmt.Sprintf("%.40q twice", l.Path), "one limit for each argument")
		}
	}
	return nil
}

// validateRememberFor checks that the question and the actor permit Remember.
func (r Reply) validateRememberFor(q *Question) error {
	switch {
	case r.Remember == nil:
		return nil
	case q.Subject == nil || q.DecidedBySeveral() || q.Files != nil || len(q.Subject.Changes) > 0:
		return &FieldError{"Remember", "set", "none, unless one person approves a call without files and changes"}
	case r.Actor.ID == "" || r.Actor.For != "":
		return &FieldError{"Remember", "set by " + r.Actor.String(), "none, unless a person decides for themselves"}
	}
	return nil
}

// bound returns the part of Remember in the reply's digest. It omits Until, because a caller may
// compute the end for each try.
func (m *Remember) bound() string {
	if m == nil {
		return ""
	}
	body, _ := json.Marshal([]any{m.Equal, m.Most, m.Any})
	return "\x00remember" + string(body)
}

var errPointer = errors.New("a JSON pointer of at most 255 bytes of UTF-8, such as /amount")

func validatePointer(path string) error {
	if path != "" && path[0] != '/' || len(path) > maxPointer || !utf8.ValidString(path) ||
		strings.Contains(path, "\x00") || strings.Contains(withoutEscapes.Replace(path), "~") {
		return errPointer
	}
	return nil
}

func decodeArguments(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // no arguments
	}
	return schema.Decode(raw)
}

// withoutEscapes removes the two escapes of a JSON pointer.
var withoutEscapes = strings.NewReplacer("~0", "", "~1", "")

var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// valueAt returns the value at a JSON pointer.
func valueAt(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		name = unescaped.Replace(name)
		switch in := v.(type) {
		case map[string]any:
			inner, ok := in[name]
			if !ok || ambiguous(in, name) {
				return nil, false
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) || strconv.Itoa(i) != name {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// ambiguous reports whether another member's name differs only in case. Many decoders, such as Go's,
// ignore case, so the tool could use the other member.
func ambiguous(in map[string]any, name string) bool {
	for other := range in {
		if other != name && strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

// unambiguous reports whether no object in v has members that differ only in case. A decoder could
// choose between them by their order, which the digest does not cover.
func unambiguous(v any) bool {
	switch in := v.(type) {
	case map[string]any:
		names := make(map[string]bool, len(in))
		for name, inner := range in {
			name = strings.ToLower(strings.ToUpper(name))
			if names[name] || !unambiguous(inner) {
				return false
			}
			names[name] = true
		}
	case []any:
		return !slices.ContainsFunc(in, func(v any) bool { return !unambiguous(v) })
	}
	return true
}

func digestAt(arguments any, path string) (string, bool) {
	v, ok := valueAt(arguments, path)
	if !ok || !unambiguous(v) {
		return "", false
	}
	body, err := encodeCanonical(v)
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), true
}

// admits reports whether the argument is a number from 0 to the limit. Numbers are compared exactly.
func (l Limit) admits(arguments any) bool {
	v, _ := valueAt(arguments, l.Path)
	number, ok := v.(json.Number)
	if !ok {
		return false
	}
	have, plain := decimal(number.String())
	most, ok := decimal(l.Limit)
	return plain && ok && have.Cmp(most) <= 0
}

// decimal parses a short number. It rejects exponents, because a huge number would use much memory.
func decimal(s string) (*big.Rat, bool) {
	if s == "" || len(s) > maxLimit || strings.Trim(s, "0123456789.") != "" || strings.HasPrefix(s, ".") {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
