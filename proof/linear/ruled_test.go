package linear_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/store"
)

// asksFor parks a new run on hidden approvals, one for each argument n. All must be decided.
func asksFor(tb testing.TB, numbers ...string) *script {
	tb.Helper()
	s := newScript(tb)
	s.follow(linear.Input{Kind: linear.Submit, Terms: linear.Terms{Interactive: true, Strict: true, Hides: hides}},
		linear.Output{Seen: linear.ViewOf(&s.r)})
	s.claim()
	var asks []interaction.Question
	for _, n := range numbers {
		asks = append(asks, interaction.Question{Kind: interaction.Approval, Subject: &interaction.Subject{Tool: "pay",
			Arguments: json.RawMessage(`{"n":` + n + `}`)}, AskedAt: s.now, HiddenFor: uint16(hides / time.Second)})
	}
	parked := s.park(asks[0], true)
	r := &parked.Change.After
	r.Session = &interaction.SessionHandle{Engine: "agent"}
	for _, q := range asks[1:] {
		r.Interactions++
		q.ID = r.Interactions
		r.Open = append(r.Open, q)
	}
	if len(asks) > 1 {
		r.Together = &store.Together{First: 1, Asked: len(asks)}
		r.Seq += uint64(len(asks)) // more events of questions
	}
	s.follow(parked, linear.Output{})
	s.r = *r
	return s
}

// person makes a call that is accepted, and changes the record as the model does.
func (s *script) person(in linear.Input, change func(*store.Run)) {
	s.Helper()
	s.follow(in, linear.Output{})
	s.r = s.r.Clone()
	s.r.Version++
	s.r.Seq++
	change(&s.r)
}

// rules is the commit that decides a question of several without people.
func (s *script) rules(question int, by string, d interaction.Decision, says linear.Says) linear.Input {
	after := s.r.Clone()
	after.Version++
	after.Seq++
	after.UpdatedAt = s.now
	event := "interaction.recorded"
	if d == "" {
		event = "interaction.changed"
		q := after.OpenQuestion(question)
		shown := *q
		shown.HiddenFor = 0
		after.ReplaceQuestion(shown)
	} else {
		after.CloseQuestion(question)
		together := *after.Together
		together.Replies++
		after.Together = &together
	}
	return linear.Input{Kind: linear.Write, Change: &linear.Change{Event: event, Expect: s.r.Version, After: after,
		Ruled: &linear.Ruled{Question: question, By: by, Decision: d, Says: says}}}
}

var (
	approves1 = linear.Says{Ruling: interaction.Ruling{Decision: interaction.Approve, Rule: "small", Version: "1"}}
	few       = linear.Says{Ruling: interaction.Ruling{Decision: interaction.Approve, Rule: "few", Version: "1"},
		Limit: 1}
)

const (
	bySmall  = "policy:small@1"
	byFew    = "policy:few@1"
	byPeople = "policy:default"
)

// N9: a rule decides only what it says, while the question is hidden, on the record that it read, and
// not more often than its limit.
func TestTheModelDecidesByRules(t *testing.T) {
	s := asksFor(t, "1", "2", "3", "4")
	s.refuse(s.rules(1, bySmall, interaction.Reject, approves1), linear.Output{})
	s.refuse(s.rules(1, byPeople, "", approves1), linear.Output{})
	s.refuse(s.rules(1, bySmall, interaction.Approve, linear.Says{Never: true}), linear.Output{})
	s.refuse(s.rules(1, bySmall, interaction.Approve, linear.Says{Fails: true}), linear.Output{})
	s.refuse(s.rules(1, byFew, interaction.Approve, linear.Says{}), linear.Output{})
	stale := s.rules(2, bySmall, interaction.Approve, approves1)
	first := s.rules(1, byFew, interaction.Approve, few)
	s.follow(first, linear.Output{})
	s.refuse(stale, linear.Output{})
	s.follow(stale, linear.Output{Err: linear.Conflict})
	s.r = first.Change.After
	s.refuse(s.rules(2, byFew, interaction.Approve, few), linear.Output{})
	s.follow(s.rules(2, byPeople, "", few), linear.Output{})
	s.r = s.rules(2, byPeople, "", few).Change.After
	s.refuse(s.rules(2, bySmall, interaction.Approve, approves1), linear.Output{})

	ada := linear.Input{Kind: linear.ClaimQuestion, Reply: interaction.Reply{ID: 3, Actor: linear.Person("ada")}}
	s.person(ada, func(r *store.Run) {
		q := *r.OpenQuestion(3)
		q.Claim, q.HiddenFor = &interaction.Claim{Actor: "ada"}, 0
		r.ReplaceQuestion(q)
	})
	s.refuse(s.rules(3, bySmall, interaction.Approve, approves1), linear.Output{})
	s.follow(s.rules(4, bySmall, interaction.Approve, approves1), linear.Output{})
}

// N7: a note leaves an approval hidden. Repeated by its author, it gets its receipt again.
func TestTheModelKeepsNotes(t *testing.T) {
	s := asksFor(t, "1", "2")
	note := func(who, whom, text, key string) linear.Input {
		actor := linear.Person(who)
		actor.For = whom
		return linear.Input{Kind: linear.Note, Reply: interaction.Reply{ID: 1, Text: text, Key: key, Actor: actor}}
	}
	s.follow(note("ada", "", "a", ""), linear.Output{Note: 1})
	s.follow(note("ada", "", "a", "k"), linear.Output{Note: 2})
	repeated := linear.Output{Note: 2, Replayed: true}
	s.follow(note("ada", "", "a", "k"), repeated)
	for _, other := range []linear.Input{note("", "", "a", "k"), note("ada", "boss", "a", "k"),
		note("ada", "", "b", "k")} {
		s.refuse(other, repeated)
		s.follow(other, linear.Output{Err: linear.KeyConflict})
	}
	s.r.Version, s.r.Seq = s.r.Version+2, s.r.Seq+2
	s.r.Open[0].Notes = &interaction.Notes{List: make([]interaction.Note, 2)}
	rule := s.rules(1, bySmall, interaction.Approve, approves1)
	s.follow(rule, linear.Output{})
	s.follow(note("ada", "", "a", "k"), repeated)
}

// N9: a remembered decision decides a hidden question that it covers, until it is revoked, if the
// policy leaves the question to people.
func TestTheModelRemembersDecisions(t *testing.T) {
	s := asksFor(t, "1", "1", "2", "1", "1")
	approved := linear.Input{Kind: linear.Reply, Reply: interaction.Reply{ID: 1, Decision: interaction.Approve,
		Actor: linear.Person("ada"), Remember: &interaction.Remember{Equal: []string{"/n"}}}}
	memory, err := interaction.NewMemory(approved.Reply.Remember, &s.r.Open[0], &interaction.Answer{Actor: "ada",
		Arguments: s.r.Open[0].Subject.Arguments})
	require.NoError(t, err)
	s.refuse(s.rules(2, "memory:1", interaction.Approve, linear.Says{}), linear.Output{})
	s.person(approved, func(r *store.Run) {
		r.CloseQuestion(1)
		r.Together = &store.Together{First: 1, Asked: 5, Replies: 1}
		r.Remembered = []interaction.Memory{*memory}
	})
	s.refuse(s.rules(2, "memory:1", interaction.Approve, approves1), linear.Output{})
	s.refuse(s.rules(2, "memory:1", interaction.Approve, linear.Says{Fails: true}), linear.Output{})
	s.refuse(s.rules(2, byPeople, "", linear.Says{}), linear.Output{})
	s.refuse(s.rules(3, "memory:1", interaction.Approve, linear.Says{}), linear.Output{})
	s.now = s.now.Add(hides)
	s.refuse(s.rules(2, "memory:1", interaction.Approve, linear.Says{}), linear.Output{})
	s.now = s.now.Add(-time.Microsecond)
	used := s.rules(2, "memory:1", interaction.Approve, linear.Says{})
	s.follow(used, linear.Output{})
	s.r = used.Change.After
	late := s.rules(4, "memory:1", interaction.Approve, linear.Says{})

	revoked := linear.Input{Kind: linear.Forget, Reply: interaction.Reply{ID: 1}}
	s.refuse(revoked, linear.Output{Err: linear.NotFound})
	s.person(revoked, func(r *store.Run) { r.Remembered = nil })
	s.refuse(revoked, linear.Output{})
	s.refuse(late, linear.Output{})
	s.refuse(s.rules(4, "memory:1", interaction.Approve, linear.Says{}), linear.Output{})
	s.follow(s.rules(4, byPeople, "", linear.Says{}), linear.Output{})
}

// N9: a refusal by a rule revokes the decisions about its tool.
func TestTheModelForgetsWhatARuleRefuses(t *testing.T) {
	s := asksFor(t, "1", "2", "3")
	approved := linear.Input{Kind: linear.Reply, Reply: interaction.Reply{ID: 1, Decision: interaction.Approve,
		Actor: linear.Person("ada"), Remember: &interaction.Remember{Any: true}}}
	s.person(approved, func(r *store.Run) {
		r.CloseQuestion(1)
		r.Together = &store.Together{First: 1, Asked: 3, Replies: 1}
		r.Remembered = []interaction.Memory{{ID: 1, Tool: "pay"}}
	})
	says := linear.Says{Ruling: interaction.Ruling{Decision: interaction.Reject, Rule: "small", Version: "1"}}
	refusal := s.rules(2, bySmall, interaction.Reject, says)
	s.refuse(refusal, linear.Output{})
	refusal.Change.After.Remembered = nil
	s.follow(refusal, linear.Output{})
}

// N10: a deputy decides only with a right during the call, and for a person who is asked; one vote is
// both persons' vote.
func TestTheModelHasDeputies(t *testing.T) {
	reply := func(who, whom string, right linear.Right) linear.Input {
		actor := linear.Person(who)
		actor.For = whom
		return linear.Input{Kind: linear.Reply, Right: right,
			Reply: interaction.Reply{ID: 1, Text: "yes", Actor: actor}}
	}
	asks := func(q interaction.Question) *script {
		s := newScript(t)
		s.follow(linear.Input{Kind: linear.Submit, Terms: linear.Terms{Interactive: true, Strict: true}},
			linear.Output{Seen: linear.ViewOf(&s.r)})
		s.claim()
		parked := s.park(q, true)
		parked.Change.After.Session = &interaction.SessionHandle{Engine: "agent"}
		s.follow(parked, linear.Output{})
		return s
	}
	refused := linear.Output{Err: linear.NotDeputy}
	for _, c := range []struct {
		right         linear.Right
		may, mayNotDo bool
	}{{linear.Throughout, true, false}, {linear.Without, false, true}, {linear.PartOfIt, true, true}} {
		s := asks(interaction.Question{To: &interaction.Audience{Users: []string{"ada"}}})
		in := reply("bob", "ada", c.right)
		for out, want := range map[linear.Output]bool{refused: c.mayNotDo, {}: c.may} {
			ok, _ := s.spec.Step(s.state, in, out)
			require.Equal(t, want, ok, "%q: %s", c.right, out)
		}
		s.refuse(reply("bob", "boss", linear.Throughout), linear.Output{})
		s.refuse(reply("bob", "", linear.Throughout), linear.Output{})
		s.follow(reply("ada", "", linear.Throughout), linear.Output{})
		s.follow(in, linear.Output{Err: linear.SettledAs("user_reply", "queued")})
		s.refuse(in, refused)
	}
	s := asks(interaction.Question{Subject: &interaction.Subject{Tool: "pay"}, Need: 2})
	vote := func(who, whom string) linear.Input {
		in := reply(who, whom, linear.Throughout)
		in.Reply.Decision = interaction.Approve
		return in
	}
	s.follow(vote("bob", "ada"), linear.Output{})
	for _, again := range []linear.Input{vote("ada", ""), vote("bob", ""), vote("boss", "bob"), vote("boss", "ada")} {
		s.refuse(again, linear.Output{})
		s.follow(again, linear.Output{Err: linear.Voted("approve")})
	}
	s.follow(vote("boss", ""), linear.Output{})
}
