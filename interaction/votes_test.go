package interaction

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func payment(need, rejects int8) Question {
	return Question{ID: 1, Kind: Approval, Prompt: "Pay?", Subject: &Subject{Tool: "pay"}, Need: need, Rejects: rejects}
}

func ballot(actor string, d Decision) Reply {
	return Reply{ID: 1, Decision: d, Actor: Actor{ID: actor}}
}

// K5: an approval is settled with the vote that completes the number of approvals or rejections, in
// any order, and each person counts once.
func TestK5VotesAreCountedByPerson(t *testing.T) {
	for need := range int8(4) {
		for rejects := range int8(4) {
			q := payment(need, rejects)
			require.Equal(t, need > 1 || rejects > 1, q.DecidedBySeveral())
			if !q.DecidedBySeveral() {
				continue
			}
			approved, rejected := 0, 0
			for i := 0; ; i++ {
				d := Approve
				if i%2 == 1 {
					d, rejected = Reject, rejected+1
				} else {
					approved++
				}
				reply := ballot(fmt.Sprint(i), d)
				require.NoError(t, reply.ValidateFor(q))
				done := approved >= max(int(need), 1) || rejected >= max(int(rejects), 1)
				require.Equal(t, done, q.Decides(d), "%d of %d, %d of %d", approved, need, rejected, rejects)
				before := len(q.Votes)
				voted := q.WithVote(reply, time.Unix(1, 0))
				require.Len(t, q.Votes, before, "the question before is as it was")
				q = voted
				var again *VotedError
				require.ErrorAs(t, ballot(fmt.Sprint(i), Reject).ValidateFor(q), &again)
				require.ErrorIs(t, again, ErrVoted)
				require.Equal(t, d, again.Vote.Decision)
				if done {
					break
				}
			}
			require.Equal(t, []int{approved, rejected}, []int{q.Count(Approve), q.Count(Reject)})
		}
	}
}

// K5: several people only approve or reject, by name and with few words; one person decides as
// always.
func TestK5WhatAVoteCanBe(t *testing.T) {
	long := strings.Repeat("a", MaxVoteText+1)
	for want, r := range map[string]Reply{
		"Actor.ID":   ballot("", Approve),
		"Decision":   ballot("ada", Edit),
		"Decision ":  ballot("ada", Respond),
		"Decision  ": {ID: 1, Text: "yes", Actor: Actor{ID: "ada"}},
		"Value":      {ID: 1, Decision: Approve, Value: []byte(`{}`), Actor: Actor{ID: "ada"}},
		"Text":       {ID: 1, Decision: Reject, Text: long, Actor: Actor{ID: "ada"}},
	} {
		var fault *FieldError
		require.ErrorAs(t, r.ValidateFor(payment(2, 0)), &fault)
		require.Equal(t, strings.TrimSpace(want), fault.Field)
	}
	require.NoError(t, ballot("", Approve).ValidateFor(payment(1, 1)))
	require.NoError(t, Reply{ID: 1, Decision: Edit, Value: []byte(`{}`)}.ValidateFor(payment(0, 0)))
}

// K5, N10: a vote is the voter's and the principal's; by its key it is found again.
func TestK5WhoseVoteItIs(t *testing.T) {
	q := payment(2, 0)
	q.Votes = []Vote{{Actor: "eve"}, {Actor: "bob", For: "ann", Key: "k"}}
	for _, c := range []struct {
		who  Actor
		want *Vote
	}{
		{Actor{ID: "eve"}, &q.Votes[0]}, {Actor{ID: "bob"}, &q.Votes[1]}, {Actor{ID: "ann"}, &q.Votes[1]},
		{Actor{ID: "carl", For: "ann"}, &q.Votes[1]}, {Actor{ID: "carl", For: "eve"}, &q.Votes[0]},
		{Actor{ID: "carl", For: "sam"}, nil}, {Actor{ID: "sam"}, nil},
	} {
		require.Same(t, c.want, q.VoteOf(c.who), "%s", c.who)
	}
	require.Same(t, &q.Votes[1], q.VoteWithKey("k"))
	require.Nil(t, q.VoteWithKey("other"))
	require.Nil(t, q.VoteWithKey(""), "no key finds a vote without a key")
}

// K5, C5: the same words of another person are another vote; to any other question they are the
// same reply.
func TestK5TheDigestOfAVoteHasItsActor(t *testing.T) {
	ada, bob := ballot("ada", Approve), ballot("bob", Approve)
	several, one := payment(2, 0), payment(0, 0)
	require.NotEqual(t, ada.DigestFor(&several), bob.DigestFor(&several))
	require.Equal(t, ada.DigestFor(&several), ballot("ada", Approve).DigestFor(&several))
	require.Equal(t, ada.DigestFor(&one), bob.DigestFor(&one))
	require.Equal(t, ada.Digest(), ada.DigestFor(&one))
	require.Equal(t, ada.Digest(), ada.DigestFor(nil))
}

// K5: the answer, also from the history, names the voters.
func TestK5AnAnswerSaysWhoHasVoted(t *testing.T) {
	now := time.Unix(9, 0)
	q := payment(2, 0).WithVote(ballot("ada", Approve), now).WithVote(ballot("bob", Approve), now)
	a := ballot("bob", Approve).AnswerTo(&q, now)
	require.Equal(t, q.Votes, a.Votes)
	again := Settle(q, a, "", "").Answer()
	require.Equal(t, a, again)
}

// K5: an engine's numbers are kept if an approval can have them. If it needs more people than
// possible, no one may answer.
func TestK5WhatAnEngineNeeds(t *testing.T) {
	q, diagnostics := Normalize(payment(2, 3))
	require.Empty(t, diagnostics)
	require.Equal(t, []int8{2, 3}, []int8{q.Need, q.Rejects})
	q, diagnostics = Normalize(Question{Prompt: "?", Need: 2, Votes: []Vote{{Actor: "ada"}}})
	require.Len(t, diagnostics, 1)
	require.Equal(t, []int{0, 0}, []int{int(q.Need), len(q.Votes)})
	for _, wrong := range []Question{payment(MaxNeed+1, 0), payment(0, -1)} {
		q, diagnostics = Normalize(wrong)
		require.Len(t, diagnostics, 1)
		require.False(t, q.To.Admits(Actor{ID: "ada"}))
		require.True(t, q.DecidedBySeveral(), "others who are asked instead are several, too")
		require.Error(t, ValidateVoters(q.PutTo(Audience{Users: []string{"ada", "bob"}})))
	}
}

// K5: the audience must include enough people to decide, immediately or after an escalation.
func TestK5EnoughPeople(t *testing.T) {
	users := func(names ...string) *Audience { return &Audience{Users: names} }
	escalates := func(to *Audience, join bool) *Wait {
		return &Wait{Steps: []WaitStep{{Do: Escalate, After: time.Hour, To: to, Join: join}}}
	}
	for name, tc := range map[string]struct {
		to     *Audience
		wait   *Wait
		enough bool
	}{
		"everybody":                    {nil, nil, true},
		"everybody but one":            {&Audience{Everybody: true, Except: []string{"ada"}}, nil, true},
		"a group":                      {&Audience{Groups: []string{"finance"}}, nil, true},
		"two":                          {users("ada", "bob"), nil, true},
		"one":                          {users("ada"), nil, false},
		"one, twice":                   {users("ada", "ada"), nil, false},
		"two, but not one of them":     {&Audience{Users: []string{"ada", "bob"}, Except: []string{"bob"}}, nil, false},
		"nobody":                       {&Audience{}, nil, false},
		"one, then another":            {users("ada"), escalates(users("bob"), true), true},
		"one, then the same":           {users("ada"), escalates(users("ada"), false), false},
		"one, then a group":            {users("ada"), escalates(&Audience{Groups: []string{"finance"}}, false), true},
		"one, who is only reminded of": {users("ada"), &Wait{Steps: []WaitStep{{Do: Remind, After: time.Hour}}}, false},
	} {
		q := payment(2, 0)
		q.To, q.Wait = tc.to, tc.wait
		require.Equal(t, tc.enough, ValidateVoters(q) == nil, name)
	}
	require.NoError(t, ValidateVoters(payment(0, 0)))
}

// K5: after a reassignment, earlier voters are done, and executed steps of the wait ask no one.
// Approval and rejection must both stay possible.
func TestK5EnoughPeopleAfterVotes(t *testing.T) {
	users := func(names ...string) Audience { return Audience{Users: names} }
	board := &Wait{Steps: []WaitStep{{Do: Escalate, After: time.Hour, To: &Audience{Groups: []string{"board"}}}}}
	yes, no := []Reply{ballot("ada", Approve)}, ballot("bob", Reject)
	deputy := []Reply{{Decision: Approve, Actor: Actor{ID: "ada", For: "ann"}}}
	for name, tc := range map[string]struct {
		need, rejects int8
		votes         []Reply
		to            Audience
		wait          *Wait
		fired         int8
		fault         string
	}{
		"who is missing":         {2, 0, yes, users("bob"), nil, 0, ""},
		"who has voted, too":     {2, 0, yes, users("ada", "bob"), nil, 0, ""},
		"not who has voted":      {2, 0, yes, Audience{Users: []string{"bob"}, Except: []string{"ada"}}, nil, 0, ""},
		"only who has voted":     {2, 0, yes, users("ada"), nil, 0, "needs 1 more people, and is for ada"},
		"a voter's principal":    {2, 0, deputy, users("ann"), nil, 0, "needs 1 more people, and is for ann"},
		"one who cannot reject":  {2, 2, yes, users("bob"), nil, 0, "needs 2 more people, and is for bob"},
		"two who may":            {2, 2, yes, users("bob", "eve"), nil, 0, ""},
		"a tie":                  {2, 2, append(yes, no), users("bob"), nil, 0, "needs 1 more people, and is for bob"},
		"one, then the board":    {2, 0, nil, users("ada"), board, 0, ""},
		"one, after the board":   {2, 0, nil, users("ada"), board, 1, "needs 2 people, and is for ada"},
		"two, without the board": {2, 0, nil, users("ada", "bob"), board, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := payment(tc.need, tc.rejects)
			for _, v := range tc.votes {
				q = q.WithVote(v, time.Unix(1, 0))
			}
			q.Wait, q.Fired = tc.wait, tc.fired
			err := ValidateVoters(q.PutTo(tc.to))
			if tc.fault == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.fault)
		})
	}
}

// K5, K7: no step asks only people who are excepted.
func TestK5StepsAskSomebody(t *testing.T) {
	w := &Wait{Steps: []WaitStep{{Do: Remind, After: time.Minute},
		{Do: Escalate, After: time.Hour, To: &Audience{Users: []string{"eve"}}}}}
	require.NoError(t, w.ValidateSteps(nil))
	excepted := &Audience{Everybody: true, Except: []string{"eve"}}
	const fault = "step 2 only for people who are excepted"
	require.EqualError(t, w.ValidateSteps(excepted), fault)
	require.EqualError(t, w.ValidateFor(Question{To: excepted}), fault)
	w.Steps[1].Join = true
	require.NoError(t, w.ValidateSteps(excepted))
}
