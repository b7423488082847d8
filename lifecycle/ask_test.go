package lifecycle

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/store"
)

// K5: a question is stored with its audience, and no other person's reply settles it, through any
// front end. The log has the policy, the author, and the front end.
func TestK5AQuestionIsForCertainPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "p", Submitter: "carl",
			Ask: &AskPolicy{To: &Audience{Users: []string{"ada"}, Groups: []string{"finance"}}, NotSubmitter: true}})
		require.NoError(t, err)
		synctest.Wait()
		q, err := lc.Pending(t.Context(), "r")
		require.NoError(t, err)
		to := &Audience{Users: []string{"ada"}, Groups: []string{"finance"}, Except: []string{"carl"}}
		require.Equal(t, to, q.To)
		before, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		for _, actor := range []Actor{{}, {ID: "bob"}, {ID: "bob", Groups: []string{"ada", "sales"}},
			{ID: "carl", Groups: []string{"finance"}}} {
			var refused *NotAskedError
			_, err = lc.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Key: "k", Actor: actor})
			require.ErrorIs(t, err, ErrNotAsked)
			require.ErrorAs(t, err, &refused)
			require.Equal(t, *to, refused.To)
			require.ErrorContains(t, err, "it is for ada and the groups finance, but not carl")
		}
		after, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, before, after, "nothing was written")

		dora := lc.As(Actor{ID: "dora", Groups: []string{"finance"}, Via: "mail"})
		_, err = dora.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes", Key: "k"})
		require.NoError(t, err)
		synctest.Wait()
		history, err := lc.History(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, []any{"dora", "mail", to}, []any{history[0].Actor, history[0].Via, history[0].Question.To})
		require.Equal(t, to, history[1].Question.To, "the next question has the policy, too")
		log := strings.Join(wholeLog(t, s, "r"), "\n")
		require.Contains(t, log, `"to":{"except":["carl"],"groups":["finance"],"users":["ada"]}`)
		require.Contains(t, log, `"actor":"dora"`)
		require.Contains(t, log, `"via":"mail"`)
		requireSoundLog(t, s, "r")
		for _, body := range wholeLog(t, s, "r") {
			isNew := strings.Contains(body, `"to":{`) || strings.Contains(body, `"via"`)
			e, err := fcmp.Decode([]byte(body))
			require.NoError(t, err)
			require.Equal(t, isNew, e.ProtocolVersion == "fcmp/1.1", body)
		}
	})
}

// K5: a policy that cannot be kept is refused at submission.
func TestK5PoliciesAreChecked(t *testing.T) {
	long := strings.Repeat("a", 256)
	for value, s := range map[string]Spec{
		"for nobody ": {Ask: &AskPolicy{To: &Audience{Users: []string{"ada"}, Except: []string{"ada"}}}},
		"for nobody":  {Ask: &AskPolicy{To: &Audience{}}},
		"for nobody but the submitter, who is excepted": {Submitter: "ada",
			Ask: &AskPolicy{NotSubmitter: true, To: &Audience{Users: []string{"ada"}}}},
		"with step 1 only for people who are excepted": {Submitter: "ada",
			Ask: &AskPolicy{NotSubmitter: true, Wait: &Wait{Steps: []WaitStep{{Do: Escalate, After: time.Hour,
				To: &Audience{Users: []string{"ada"}}}}}}},
		"256 bytes":         {Submitter: long},
		"with NotSubmitter": {Ask: &AskPolicy{NotSubmitter: true}},
		"33":                {Ask: &AskPolicy{Need: 33}},
		"-1":                {Ask: &AskPolicy{Rejects: -1}},
		"such that an approval needs 2 people, and is for ada, bob, but not bob": {Submitter: "bob",
			Ask: &AskPolicy{NotSubmitter: true, To: &Audience{Users: []string{"ada", "bob"}}, Rejects: 2}},
		"with Except of 100 entries": {Submitter: "ada", Ask: &AskPolicy{NotSubmitter: true,
			To: &Audience{Everybody: true,
				Except: strings.Split(strings.Repeat("a ", 99)+"a", " ")}}},
	} {
		s.Prompt = "p"
		var fault *SpecError
		require.ErrorAs(t, s.Validate(), &fault)
		require.Equal(t, strings.TrimSpace(value), fault.Value)
	}
	wrong := Spec{Prompt: "p", Ask: &AskPolicy{To: &Audience{Users: []string{long}}}}
	require.ErrorContains(t, wrong.Validate(), "Ask is with a name of 256 bytes")
}

// K5, J14: an earlier release, which would ask everybody, refuses the record from its submission
// on. A run for everybody keeps its bytes.
func TestK5EarlierReleasesRefuseRestrictedRuns(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, s := range map[string]Spec{
		"[4,":      {ID: "r", Prompt: "p", Ask: &AskPolicy{To: &Audience{Groups: []string{"finance"}}}},
		"[4,{":     {ID: "r", Prompt: "p", Ask: &AskPolicy{Need: 2}},
		`{"id":"r`: {ID: "r", Prompt: "p", Ask: &AskPolicy{}, Submitter: "ada"},
	} {
		run, body, err := s.record(now)
		require.NoError(t, err)
		run.Version = 1
		encoded, err := store.Encode(run)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(encoded), want), "%s", encoded)
		again, err := store.Decode(encoded)
		require.NoError(t, err)
		require.Equal(t, run, again)
		spec, err := decodeSpec("r", body)
		require.NoError(t, err)
		require.Equal(t, s.Ask, spec.Ask)
		require.Equal(t, s.Submitter, spec.Submitter)
	}
}
