package interaction

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// K5: a claim excludes everyone else until its time, and no one from then on. Only the commit's
// time counts.
func TestK5AClaimExcludesOthersUntilItsTime(t *testing.T) {
	now := time.Unix(100, 0)
	q := Question{ID: 7}.ClaimedBy(Actor{ID: "ada", Via: "web"}, now)
	require.Equal(t, Claim{Actor: "ada", Via: "web", Until: now}, *q.Claim)
	for _, tc := range []struct {
		who   string
		at    time.Time
		claim bool
	}{
		{"ada", now.Add(-time.Microsecond), false}, {"bob", now.Add(-time.Microsecond), true},
		{"", now.Add(-time.Microsecond), true}, {"bob", now, false}, {"", now.Add(time.Hour), false},
	} {
		err := q.CheckClaim(Actor{ID: tc.who}, tc.at)
		if !tc.claim {
			require.NoError(t, err, tc)
			continue
		}
		var claimed *ClaimedError
		require.ErrorAs(t, err, &claimed)
		require.ErrorIs(t, err, ErrClaimed)
		require.Equal(t, ClaimedError{7, *q.Claim}, *claimed)
	}
	require.NoError(t, (&Question{}).CheckClaim(Actor{}, now))
	require.False(t, (*Claim)(nil).Lasts(now))
}

// K5: while a person's claim lasts, that person acts under the name in the claim.
func TestK5AClaimantKeepsTheirName(t *testing.T) {
	now := time.Unix(100, 0)
	q := Question{}.ClaimedBy(Actor{ID: "Ada"}, now)
	for _, c := range []struct {
		who, want string
		at        time.Time
	}{{"ada", "Ada", now.Add(-1)}, {"ada", "ada", now}, {"bob", "bob", now.Add(-1)}, {"bob", "bob", now}} {
		require.Equal(t, c.want, q.Claimant(Actor{ID: c.who, Fold: strings.ToLower}, c.at).ID, c)
	}
}

// K5: a claim that cannot be stored is refused.
func TestK5ClaimsThatCannotBe(t *testing.T) {
	until := time.Unix(100, 0)
	require.NoError(t, (*Claim)(nil).Validate())
	require.NoError(t, (&Claim{Actor: "ada", Until: until}).Validate())
	for _, wrong := range []Claim{{Until: until}, {Actor: "ada"}, {Actor: "\xff", Until: until},
		{Actor: "a\x00", Until: until}, {Actor: strings.Repeat("a", MaxActor+1), Until: until}} {
		require.Error(t, wrong.Validate(), wrong)
	}
}

// K5: a reassignment or an escalation keeps excepted users excepted, and ends a claim.
func TestK5OthersAreAsked(t *testing.T) {
	q := Question{To: &Audience{Everybody: true, Except: []string{"eve"}}}.ClaimedBy(Actor{ID: "ada"}, time.Unix(9, 0))
	next := q.PutTo(Audience{Users: []string{"bob", "eve"}, Except: []string{"carl"}})
	require.Equal(t, &Audience{Users: []string{"bob", "eve"}, Except: []string{"carl", "eve"}}, next.To)
	require.Nil(t, next.Claim)
	require.NotNil(t, q.Claim, "the question before is as it was")
	require.Equal(t, &Audience{Everybody: true}, Question{}.PutTo(Audience{Everybody: true}).To)

	q.Wait = &Wait{Steps: []WaitStep{{Do: Remind, After: time.Minute},
		{Do: Escalate, After: time.Hour, To: &Audience{Users: []string{"bob"}}}}}
	q = q.Fire()
	require.NotNil(t, q.Claim, "a reminder leaves it")
	require.Nil(t, q.Fire().Claim)
}

// K5: the caller's view is compared word for word.
func TestK5AudiencesAreCompared(t *testing.T) {
	ada := &Audience{Users: []string{"ada"}}
	require.True(t, ada.Equal(ada.Clone()))
	require.True(t, (*Audience)(nil).Equal(nil))
	for _, other := range []*Audience{nil, {}, {Everybody: true, Users: []string{"ada"}}, {Users: []string{"bob"}},
		{Users: []string{"ada"}, Groups: []string{"g"}}, {Users: []string{"ada"}, Except: []string{"bob"}}} {
		require.False(t, ada.Equal(other))
		require.False(t, other.Equal(ada))
	}
}
