package interaction

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var rememberedAt = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// transfer is a question about a call, and remembered returns the memory of its approval.
func transfer(args string, change ...func(*Question)) *Question {
	q := &Question{ID: 3, Kind: Approval, To: &Audience{Users: []string{"ada"}},
		Subject: &Subject{Tool: "pay", Risk: "money", Arguments: json.RawMessage(args)}}
	for _, c := range change {
		c(q)
	}
	return q
}

func remembered(t *testing.T, args string, r *Remember) *Memory {
	t.Helper()
	r.Until = rememberedAt.Add(time.Hour)
	m, err := NewMemory(r, transfer(args), &Answer{Arguments: json.RawMessage(args), Actor: "ada", Via: "page",
		AcceptedAt: rememberedAt})
	require.NoError(t, err)
	return m
}

// N9: members that differ only in case are not compared, because a decoder may choose by their order.
func TestN9MembersThatDifferInCaseAreNotCompared(t *testing.T) {
	for path, args := range map[string]string{"": `{"to":"a","To":"b"}`, "/p": `{"p":[{"k":"a","K":"b"}]}`,
		"/to": `{"to":"a","TO":"b"}`} {
		r := &Remember{Until: rememberedAt.Add(time.Hour), Equal: []string{path}}
		_, err := NewMemory(r, transfer(args), &Answer{Arguments: json.RawMessage(args)})
		require.ErrorIs(t, err, ErrInvalidReply, path)
	}
}

// N9: the actor of a remembered decision names the decided question.
func TestN9TheActorOfAMemoryNamesItsQuestion(t *testing.T) {
	m := remembered(t, `{}`, &Remember{Any: true})
	require.Equal(t, Actor{ID: "memory:3", Via: "memory"}, m.By())
	for actor, want := range map[string]int{"memory:3": 3, "memory:1": 1, "memory:0": 0, "memory:-1": 0, "memory:x": 0,
		"memory:": 0, "ada": 0, "3": 0} {
		require.Equal(t, want, MemoryOf(actor), actor)
	}
}

// N9: a memory covers a call only if its tool, risk, audience and arguments are the approved ones.
func TestN9AMemoryCoversOnlyWhatWasApproved(t *testing.T) {
	const args = `{"to":"ACME","amount":10}`
	m := remembered(t, args, &Remember{})
	now := rememberedAt.Add(time.Minute)
	require.True(t, m.Covers(transfer(args), now))
	require.True(t, m.Covers(transfer(`{"amount":10,"to":"ACME"}`), now))
	require.True(t, m.Covers(transfer(args, func(q *Question) { q.Subject.Risk = "" }), now))
	for name, change := range map[string]func(*Question){
		"no call":       func(q *Question) { q.Subject = nil },
		"another tool":  func(q *Question) { q.Subject.Tool = "send" },
		"another risk":  func(q *Question) { q.Subject.Risk = "health" },
		"several":       func(q *Question) { q.Need = 2 },
		"a claim":       func(q *Question) { q.Claim = &Claim{Actor: "ada"} },
		"files":         func(q *Question) { q.Files = &Files{} },
		"changes":       func(q *Question) { q.Subject.Changes = []Change{{}} },
		"other people":  func(q *Question) { q.To = &Audience{Users: []string{"bob"}} },
		"other values":  func(q *Question) { q.Subject.Arguments = json.RawMessage(`{"to":"ACME","amount":11}`) },
		"more":          func(q *Question) { q.Subject.Arguments = json.RawMessage(`{"to":"ACME","amount":10,"x":1}`) },
		"not arguments": func(q *Question) { q.Subject.Arguments = json.RawMessage(`{`) },
		"no arguments":  func(q *Question) { q.Subject.Arguments = nil },
	} {
		require.False(t, m.Covers(transfer(args, change), now), name)
	}
	require.False(t, m.Covers(transfer(args), m.Until))
	require.True(t, m.Covers(transfer(args), m.Until.Add(-time.Microsecond)))
	require.True(t, remembered(t, args, &Remember{Any: true}).Covers(transfer(`{`), now))
}

// N9: bounds by equal arguments and by upper limits.
func TestN9AMemoryCoversArgumentsWithinItsBounds(t *testing.T) {
	const args = `{"to":"ACME","amount":10.50,"lines":[{"a/b":1,"~":2}]}`
	m := remembered(t, args, &Remember{Equal: []string{"/to", "/lines/0/a~1b", "/lines/0/~0"},
		Most: []Limit{{"/amount", "99.99"}}})
	for arguments, want := range map[string]bool{
		`{"to":"ACME","amount":99.99,"lines":[{"a/b":1,"~":2}],"x":1}`:  true,
		`{"to":"ACME","amount":0,"lines":[{"a/b":1,"~":2},3]}`:          true,
		`{"to":"ACME","amount":99.991,"lines":[{"a/b":1,"~":2}]}`:       false,
		`{"to":"ACME","amount":-1,"lines":[{"a/b":1,"~":2}]}`:           false,
		`{"to":"ACME","amount":1e1,"lines":[{"a/b":1,"~":2}]}`:          false,
		`{"to":"ACME","amount":"1","lines":[{"a/b":1,"~":2}]}`:          false,
		`{"to":"ACME","lines":[{"a/b":1,"~":2}]}`:                       false,
		`{"to":"acme","amount":1,"lines":[{"a/b":1,"~":2}]}`:            false,
		`{"to":"ACME","amount":1,"lines":[{"a/b":1.0,"~":2}]}`:          false,
		`{"to":"ACME","amount":1,"lines":[]}`:                           false,
		`{"to":"ACME","amount":1,"lines":{"0":{"a/b":1,"~":2}}}`:        true,
		`{"to":"ACME","amount":1,"lines":[{"a/b":1}]}`:                  false,
		`{"to":"ACME","amount":1,"Amount":1,"lines":[{"a/b":1,"~":2}]}`: false,
	} {
		require.Equal(t, want, m.coversArguments(json.RawMessage(arguments)), arguments)
	}
	for path, want := range map[string]bool{"/lines/0": true, "/lines/1": false, "/lines/-1": false, "/lines/00": false,
		"/lines/x": false, "/to/x": false, "/none": false, "": true} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(args), &v))
		_, ok := valueAt(v, path)
		require.Equal(t, want, ok, path)
	}
	for limit, want := range map[string]bool{"10": true, "0": true, "10.": true, ".5": false, "": false, "-1": false,
		"1e3": false, "1.2.3": false, strings.Repeat("9", 64): true, strings.Repeat("9", 65): false} {
		_, ok := decimal(limit)
		require.Equal(t, want, ok, limit)
	}
}

// N9: what cannot be remembered is refused, and the error names the field.
func TestN9AWrongRememberIsRefused(t *testing.T) {
	until := rememberedAt
	many := make([]string, MaxBounds+1)
	limits := make([]Limit, MaxBounds+1)
	for i := range many {
		many[i], limits[i] = "/"+string(rune('a'+i)), Limit{"/" + string(rune('a'+i)), "1"}
	}
	long := "/" + strings.Repeat("x", maxPointer)
	for name, r := range map[string]struct {
		remember Remember
		want     string
	}{
		"no end":         {Remember{}, "Remember.Until"},
		"many equal":     {Remember{Until: until, Equal: many}, "Remember"},
		"many limits":    {Remember{Until: until, Most: limits}, "Remember"},
		"any and equal":  {Remember{Until: until, Any: true, Equal: []string{"/a"}}, "Remember.Any"},
		"any and most":   {Remember{Until: until, Any: true, Most: limits[:1]}, "Remember.Any"},
		"no pointer":     {Remember{Until: until, Equal: []string{"a"}}, "Remember.Equal"},
		"long":           {Remember{Until: until, Equal: []string{long}}, "Remember.Equal"},
		"not text":       {Remember{Until: until, Equal: []string{"/\xff"}}, "Remember.Equal"},
		"NUL":            {Remember{Until: until, Equal: []string{"/\x00"}}, "Remember.Equal"},
		"escape":         {Remember{Until: until, Equal: []string{"/~2"}}, "Remember.Equal"},
		"equal twice":    {Remember{Until: until, Equal: []string{"/a", "/b", "/a"}}, "Remember.Equal"},
		"no pointer too": {Remember{Until: until, Most: []Limit{{"a", "1"}}}, "Remember.Most"},
		"whole":          {Remember{Until: until, Most: []Limit{{"", "1"}}}, "Remember.Most"},
		"no number":      {Remember{Until: until, Most: []Limit{{"/a", "x"}}}, "Remember.Most"},
		"limit twice": {Remember{Until: until, Most: []Limit{{"/a", "1"}, {"/b", "1"}, {"/a", "2"}}},
			"Remember.Most"},
	} {
		var fault *FieldError
		require.ErrorAs(t, Reply{Decision: Approve, Remember: &r.remember}.validateRemember(), &fault, name)
		require.Equal(t, r.want, fault.Field, name)
	}
	right := &Remember{Until: until, Equal: append(many[:MaxBounds-1:MaxBounds-1], long[:maxPointer]),
		Most: limits[:MaxBounds]}
	for decision, want := range map[Decision]bool{Approve: true, Edit: true, Reject: false, "": false} {
		require.Equal(t, want, Reply{Decision: decision, Remember: right}.validateRemember() == nil, decision)
	}
	require.NoError(t, Reply{Decision: Approve, Remember: &Remember{Until: until, Any: true}}.validateRemember())
	require.NoError(t, Reply{Decision: Reject}.validateRemember())
	tooMany := Reply{Decision: Approve, Remember: &Remember{Until: until, Equal: many}}
	require.ErrorContains(t, tooMany.validateRemember(), "with 17 and 0 bounds")

	ada := Reply{Decision: Approve, Remember: right, Actor: Actor{ID: "ada"}}
	require.NoError(t, ada.validateRememberFor(transfer(`{}`)))
	for name, change := range map[string]func(*Question){
		"no call": func(q *Question) { q.Subject = nil },
		"several": func(q *Question) { q.Need = 2 },
		"files":   func(q *Question) { q.Files = &Files{} },
		"changes": func(q *Question) { q.Subject.Changes = []Change{{}} },
	} {
		require.Error(t, ada.validateRememberFor(transfer(`{}`, change)), name)
		require.NoError(t, Reply{}.validateRememberFor(transfer(`{}`, change)), name)
	}
	for _, actor := range []Actor{{}, {ID: "bob", For: "ada"}} {
		require.Error(t, Reply{Remember: right, Actor: actor}.validateRememberFor(transfer(`{}`)))
	}
	for _, wrong := range []Remember{{Equal: []string{"/none"}}, {Most: []Limit{{"/to", "1"}}},
		{Most: []Limit{{"/amount", "9"}}}} {
		_, err := NewMemory(&wrong, transfer(`{}`), &Answer{Arguments: json.RawMessage(`{"to":"a","amount":10}`)})
		require.ErrorIs(t, err, ErrInvalidReply)
	}
	_, err := NewMemory(&Remember{}, transfer(`{}`), &Answer{Arguments: json.RawMessage(`{`)})
	require.ErrorIs(t, err, ErrInvalidReply)
	require.Empty(t, (*Remember)(nil).bound())
	require.NotEqual(t, (&Remember{Any: true}).bound(), (&Remember{}).bound())
}
