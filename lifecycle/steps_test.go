package lifecycle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// K7: a wait of the host that could not be carried out is refused at submission, with its fault.
func TestK7TheHostsWaitIsCheckedAtSubmission(t *testing.T) {
	lc, err := New(Config{Store: newStore(t), Engine: agent{}})
	require.NoError(t, err)
	defer lc.Close()
	spec := Spec{ID: "r", Prompt: "Do it.", Ask: &AskPolicy{Wait: &Wait{End: time.Hour}}}
	_, err = lc.Submit(t.Context(), spec)
	var wrong *SpecError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, []string{"Ask.Wait", "with an End and no Then"}, []string{wrong.Field, wrong.Value})

	spec.Ask.Wait.Then = interaction.ThenFail
	run, err := lc.Submit(t.Context(), spec)
	require.NoError(t, err)
	require.True(t, run.Restricted, "an earlier release, which would pass over the wait, refuses the run")
}

// K7: each step is executed once, at its time, with a separate event.
func TestK7EachStepHasItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		q := engine.Question{Kind: engine.OpenText, Prompt: "Which?"}
		q.Wait = &interaction.Wait{Steps: []interaction.WaitStep{
			{Do: interaction.Remind, After: time.Minute},
			{Do: interaction.Escalate, After: 2 * time.Minute, To: &Audience{Users: []string{"bob"}}},
		}}
		lc, stop := serve(t, Config{Store: s, Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (
			engine.Outcome, error) {
			return engine.Ask(q), nil
		})})
		defer stop()
		submit(t, lc, "r")
		pass(30 * time.Second)
		for _, next := range []string{fcmp.TypeReminder, fcmp.TypeEscalated} {
			asked := len(wholeLog(t, s, "r"))
			pass(time.Minute)
			steps := wholeLog(t, s, "r")[asked:]
			require.Len(t, steps, 1)
			event, err := fcmp.Decode([]byte(steps[0]))
			require.NoError(t, err)
			require.Equal(t, next, event.Type)
		}
		pass(10 * time.Minute)
		require.EqualValues(t, 2, in(t, lc.Client, "r", fsm.StateWaitingUser).Open[0].Fired)
		requireSoundLog(t, s, "r")
	})
}

// beaten is a store with a concurrent change of a run before each of the first commits that execute
// a step of its question's wait.
type beaten struct {
	*memory.Store

	times int
	first func()
}

func (s *beaten) Commit(ctx context.Context, batch []store.Commit) []error {
	if q := batch[0].Run.FirstOpen(); q != nil && q.Fired > 0 && s.times > 0 {
		s.times--
		s.first()
	}
	return s.Store.Commit(ctx, batch)
}

// K7: a step whose commit loses to a claim is carried out in the same moment, and not a poll later;
// if it loses again, the next poll carries it out.
func TestK7AStepThatLosesToAClaimIsCarriedOutAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		times int
		late  time.Duration
	}{
		"once":  {1, 0},
		"twice": {2, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &beaten{Store: newStore(t), times: c.times}
				q := engine.Question{Kind: engine.OpenText, Prompt: "Which?", Wait: &interaction.Wait{
					Steps: []interaction.WaitStep{{Do: interaction.Remind, After: time.Hour}}}}
				lc, stop := serve(t, Config{Store: s, Poll: 10 * time.Minute,
					Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
						return engine.Ask(q), nil
					})})
				defer stop()
				elsewhere := clientOf(t, s.Store) // not of this node, which hears nothing of it
				s.first = func() {
					until := time.Now().Add(2 * time.Hour).Add(-time.Duration(s.times) * time.Minute)
					require.NoError(t, elsewhere.As(Actor{ID: "ada"}).Claim(t.Context(), "r", 1, until))
				}
				submit(t, lc, "r")
				synctest.Wait()
				asked := in(t, lc.Client, "r", fsm.StateWaitingUser).Open[0].AskedAt
				pass(time.Hour + c.late)
				run := in(t, lc.Client, "r", fsm.StateWaitingUser)
				require.EqualValues(t, 1, run.Open[0].Fired)
				require.NotNil(t, run.Open[0].Claim)
				require.Zero(t, s.times)
				require.Equal(t, asked.Add(time.Hour+c.late), run.UpdatedAt)
				requireSoundLog(t, s, "r")
			})
		})
	}
}

// oneRun is a store that answers with a run, and whose commits conflict with nothing.
type oneRun struct {
	store.Store

	run     Run
	commits []store.Commit
}

func (s *oneRun) Run(context.Context, string) (Run, error) { return s.run, nil }

func (s *oneRun) Commit(_ context.Context, commits []store.Commit) []error {
	s.commits = append(s.commits, commits...)
	return make([]error, len(commits))
}

// K7: an end is moved to a time after its event's, also on a node whose clock is behind the node
// that changed the run last.
func TestExtendOnANodeWhoseClockIsBehind(t *testing.T) {
	ahead := node.CommitTime(SystemClock{}).Add(time.Hour)
	s := &oneRun{Store: newStore(t), run: Run{ID: "r", Engine: "e", State: StateWaitingUser, Version: 4, Epoch: 1,
		Attempt: 1, CreatedAt: noon, UpdatedAt: ahead, Open: []interaction.Question{{ID: 1, Kind: OpenText, Prompt: "?",
			AskedAt: noon, Wait: &interaction.Wait{Then: interaction.ThenFail, End: time.Hour},
			EndsAt: ahead.Add(-time.Minute)}}}}
	c := clientOf(t, s)
	var refused *ArgumentError
	require.ErrorAs(t, c.Extend(t.Context(), "r", 1, ahead), &refused)
	require.Equal(t, "until", refused.Argument)
	require.Empty(t, s.commits)
	require.NoError(t, c.Extend(t.Context(), "r", 1, ahead.Add(time.Microsecond)))
	require.Len(t, s.commits, 1)
	require.Equal(t, ahead, s.commits[0].Run.UpdatedAt)
	for until, ok := range map[time.Time]bool{ahead.Add(MaxExtension): true, ahead.Add(MaxExtension + 1000): false,
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): false} {
		err := c.Extend(t.Context(), "r", 1, until)
		require.Equal(t, ok, err == nil, until)
		require.Equal(t, !ok, errors.As(err, &refused) && refused.Want == "at most 8784h0m0s from now", until)
	}
}
