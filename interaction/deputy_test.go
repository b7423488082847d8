package interaction

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var away = time.Unix(100, 0).UTC()

// bobFor returns Bob, a deputy of Ann, who is in finance, and of Sam, as he acts for that person.
func bobFor(person string) Actor {
	return Actor{ID: "bob", Groups: []string{"it"}, For: person, Principals: []Principal{
		{ID: "ann", Groups: []string{"finance"}, From: away, Until: away.Add(time.Hour)}, {ID: "sam"}, {ID: "bob"}}}
}

// N10: a deputy may answer what the principal may, unless the audience excepts either. The deputy's
// own groups do not count, and neither does a deputyship that the directory has not named.
func TestN10WhomADeputyRepresents(t *testing.T) {
	finance := &Audience{Groups: []string{"finance"}}
	for name, tc := range map[string]struct {
		to   *Audience
		who  Actor
		want bool
	}{
		"the principal's name":      {&Audience{Users: []string{"ann"}}, bobFor("ann"), true},
		"the principal's group":     {finance, bobFor("ann"), true},
		"not the deputy's group":    {&Audience{Groups: []string{"it"}}, bobFor("ann"), false},
		"another principal's group": {finance, bobFor("sam"), false},
		"themselves":                {finance, bobFor(""), false},
		"everybody":                 {&Audience{Everybody: true}, bobFor("ann"), true},
		"the principal is excepted": {&Audience{Everybody: true, Except: []string{"ann"}}, bobFor("ann"), false},
		"the deputy is excepted": {&Audience{Users: []string{"ann"}, Except: []string{"bob"}}, bobFor("ann"),
			false},
		"of a stranger":               {&Audience{Everybody: true}, bobFor("eve"), false},
		"no deputy of oneself":        {&Audience{Everybody: true}, bobFor("bob"), false},
		"a principal without a right": {&Audience{Users: []string{"carl"}}, bobFor("ann"), false},
	} {
		require.Equal(t, tc.want, tc.to.Admits(tc.who), name)
	}
	require.True(t, finance.AdmitsAny(bobFor("")))
	require.False(t, (&Audience{Groups: []string{"it"}, Except: []string{"bob"}}).AdmitsAny(bobFor("")))
	fold := func(id string) string { return map[string]string{"Ann": "ann", "Bob": "bob"}[id] }
	who := bobFor("ann")
	who.Fold = fold
	require.True(t, (&Audience{Users: []string{"Ann"}}).Admits(who))
	require.False(t, (&Audience{Everybody: true, Except: []string{"Bob"}}).Admits(who))
}

// N10: only within the dates.
func TestN10ADeputyActsOnlyWithinTheDates(t *testing.T) {
	who := bobFor("ann")
	for at, ok := range map[time.Duration]bool{-1: false, 0: true, time.Hour - 1: true, time.Hour: false} {
		err := who.CheckDeputy(away.Add(at))
		require.Equal(t, ok, err == nil, at)
		q := Question{To: &Audience{Users: []string{"ann"}}}
		_, shown := q.Represents(who, away.Add(at))
		require.Equal(t, ok, shown, at)
		if !ok {
			require.ErrorIs(t, err, ErrNotDeputy)
		}
	}
	who = bobFor("sam")
	require.NoError(t, who.CheckDeputy(time.Time{}))
	who = bobFor("")
	require.NoError(t, who.CheckDeputy(time.Time{}))
}

// N10: an actor acts for themselves where they may, else for the first principal who may.
func TestN10ForWhomAQuestionIsListed(t *testing.T) {
	forAnn := &Audience{Users: []string{"ann"}}
	for name, tc := range map[string]struct {
		q    Question
		want string
		ok   bool
	}{
		"for everybody":         {Question{}, "", true},
		"for both":              {Question{To: &Audience{Users: []string{"ann", "bob"}}}, "", true},
		"for Ann":               {Question{To: &Audience{Users: []string{"ann", "sam"}}}, "ann", true},
		"for Sam":               {Question{To: &Audience{Users: []string{"sam"}}}, "sam", true},
		"for others":            {Question{To: &Audience{Users: []string{"eve"}}}, "", false},
		"Ann has voted":         {Question{To: forAnn, Votes: []Vote{{Actor: "ann"}}}, "", false},
		"another deputy has":    {Question{To: forAnn, Votes: []Vote{{Actor: "eve", For: "ann"}}}, "", false},
		"Bob has voted for Sam": {Question{To: forAnn, Votes: []Vote{{Actor: "bob", For: "sam"}}}, "", false},
		"Ann is somebody's vote": {Question{To: &Audience{Users: []string{"sam"}},
			Votes: []Vote{{Actor: "ann", For: "sam"}}}, "", false},
		"Ann has claimed it": {Question{Claim: &Claim{Actor: "ann", Until: away.Add(1)}}, "ann", true},
		"eve has claimed it": {Question{Claim: &Claim{Actor: "eve", Until: away.Add(1)}}, "", true},
	} {
		got, ok := tc.q.Represents(bobFor("eve"), away)
		require.Equal(t, tc.ok, ok, name)
		if ok {
			require.Equal(t, tc.want, got.For, name)
		}
	}
}

// N10: a right that is not current does not hide the next one.
func TestN10ADeputyWithSeveralPrincipals(t *testing.T) {
	q := Question{To: &Audience{Users: []string{"sam"}}}
	got, ok := q.Represents(bobFor(""), away.Add(2*time.Hour))
	require.True(t, ok)
	require.Equal(t, "sam", got.For)
}

// N10: whether a stored name is the principal's is decided by the folded spelling.
func TestN10ForWhomADeputyActs(t *testing.T) {
	for _, c := range []struct {
		who    Actor
		stored string
		want   bool
	}{
		{Actor{ID: "bob", For: "ann"}, "ann", true}, {Actor{ID: "bob", For: "ann"}, "Ann", false},
		{Actor{ID: "bob", For: "ann", Fold: strings.ToLower}, "Ann", true},
		{Actor{ID: "bob", For: "ann", Fold: strings.ToLower}, "Sam", false},
		{Actor{ID: "bob", Fold: strings.ToLower}, "", false},
	} {
		require.Equal(t, c.want, c.who.ActsFor(c.stored), "%s, %q", c.who, c.stored)
	}
}

// N10: history names the principal of a deputy's answer, with or without a claim, and of the vote
// that decides. A person's own answer names no principal.
func TestN10HistorySaysForWhom(t *testing.T) {
	answer := func(who Actor) Answer { return Reply{ID: 1, Text: "yes", Actor: who}.Answer(away) }
	claimed := Question{ID: 1}.ClaimedBy(bobFor("ann"), away)
	several := payment(2, 0)
	several = several.WithVote(Reply{Decision: Approve, Actor: bobFor("ann")}, away)
	late := answer(bobFor(""))
	late.Resolution = AutoDecideTimeout
	for name, c := range map[string]struct {
		q    Question
		a    Answer
		want string
	}{
		"a deputy":                         {Question{ID: 1}, answer(bobFor("ann")), "ann"},
		"a person":                         {Question{ID: 1}, answer(bobFor("")), ""},
		"a deputy who has claimed it":      {claimed, answer(bobFor("ann")), "ann"},
		"who has claimed it for another":   {claimed, answer(bobFor("")), ""},
		"another than the claimant":        {claimed, answer(Actor{ID: "ann"}), ""},
		"the time, despite a claim":        {Question{ID: 1}.ClaimedBy(bobFor("ann"), away), late, ""},
		"a deputy's vote":                  {several, answer(bobFor("")), "ann"},
		"a vote after a deputy's":          {several, answer(Actor{ID: "eve"}), ""},
		"the time, after a deputy's vote":  {several, late, ""},
		"a vote without votes in the past": {payment(2, 0), answer(bobFor("")), ""},
	} {
		r := Settle(c.q, c.a, "", "")
		require.Equal(t, c.want, r.For(), name)
	}
	own := Settle(claimed, answer(bobFor("")), "", "")
	require.Equal(t, Claim{Actor: "bob", Until: away}, *own.Question.Claim)
	ann := Settle(claimed, answer(Actor{ID: "ann"}), "", "")
	require.Equal(t, claimed.Claim, ann.Question.Claim, "the claim of another stays as it was")
	mine := Question{ID: 1}.ClaimedBy(Actor{ID: "bob", Via: "web"}, away.Add(1))
	require.Equal(t, mine.Claim, Settle(mine, answer(bobFor("")), "", "").Question.Claim)
}

// N10 K5: a claim excludes all but the claimant, a deputy for the claimant, and the person for whom
// a deputy has claimed.
func TestN10ClaimsAndDeputies(t *testing.T) {
	q := Question{ID: 1}.ClaimedBy(Actor{ID: "ann"}, away)
	now := away.Add(-1)
	require.NoError(t, q.CheckClaim(bobFor("ann"), now))
	require.Error(t, q.CheckClaim(bobFor(""), now))
	require.Error(t, q.CheckClaim(bobFor("sam"), now))
	q = Question{ID: 1}.ClaimedBy(bobFor("ann"), away)
	require.Equal(t, Claim{Actor: "bob", For: "ann", Until: away}, *q.Claim)
	require.NoError(t, q.CheckClaim(bobFor(""), now))
	require.NoError(t, q.CheckClaim(Actor{ID: "ann"}, now))
	require.Error(t, q.CheckClaim(Actor{ID: "carl", For: "ann", Principals: []Principal{{ID: "ann"}}}, now))
	require.Error(t, q.CheckClaim(Actor{ID: "sam"}, now))
}

// N10 C5: for whom a deputy replies is part of the reply's body; an actor's own reply has the digest
// of earlier releases.
func TestN10TheDigestSaysForWhom(t *testing.T) {
	reply := func(who Actor) Reply { return Reply{ID: 1, Text: "yes", Decision: Approve, Actor: who} }
	several := &Question{Need: 2}
	for _, q := range []*Question{nil, {}, several} {
		seen := map[string]bool{}
		for _, person := range []string{"", "ann", "sam"} {
			seen[reply(bobFor(person)).DigestFor(q)] = true
		}
		require.Len(t, seen, 3)
	}
	carl := Actor{ID: "carl", For: "ann"}
	require.NotEqual(t, reply(bobFor("ann")).DigestFor(several), reply(carl).DigestFor(several))
	require.Equal(t, reply(bobFor("")).Digest(), reply(bobFor("")).DigestFor(nil))
	for _, wrong := range []Actor{{For: "ann"}, {ID: "ann", For: "ann"}, {ID: "bob", For: "\x00"}} {
		require.ErrorIs(t, wrong.Validate(), ErrInvalidReply)
	}
}
