package linear_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/store"
)

// E1 E6: each time that the node goes which parked the run, the model refuses a commit that was
// made from an earlier view of it: also when the run was recovered before.
func TestEachDepartureIsHeeded(t *testing.T) {
	spec := linear.NewModel(contract.Load()).Spec()
	state := spec.Init()
	follow := func(in linear.Input, out linear.Output) {
		t.Helper()
		ok, next := spec.Step(state, in, out)
		require.True(t, ok, "the model answers: %s", spec.Why(state, in, out))
		state = next
	}
	now := time.UnixMicro(1).UTC()
	later := func() time.Time { now = now.Add(time.Second); return now }
	r := store.Run{State: fsm.StateQueued, Version: 1, Recovery: store.RecoveryNone, Strict: true,
		Seq: uint64(len(contract.Load().Submission.Emits))}
	terms := linear.Terms{Interactive: true, Strict: true}
	follow(linear.Input{Kind: linear.Submit, Terms: terms}, linear.Output{Seen: linear.ViewOf(&r)})

	// write is a commit of the record, changed so.
	write := func(event string, fence *store.Fence, change func(*store.Run)) linear.Input {
		after, settles := changed(r, later(), change).Run, 0
		if len(after.Answers) > 0 {
			settles = after.Answers[0].ID
		}
		return linear.Input{Kind: linear.Write, Change: &linear.Change{Event: event, Expect: r.Version, Fence: fence,
			Settles: settles, After: after}}
	}
	for _, node := range []string{"a", "b"} {
		r = changed(r, later(), func(r *store.Run) {
			r.State, r.Slot, r.Owner, r.Epoch, r.Attempt = fsm.StateRunning, true, node, r.Epoch+1, r.Attempt+1
		}).Run
		claimed := r.Clone()
		follow(linear.Input{Kind: linear.Claim, Node: node, After: &claimed}, linear.Output{})

		park := write("turn.needs_input", &store.Fence{Node: node, Epoch: r.Epoch}, func(r *store.Run) {
			r.Session = &interaction.SessionHandle{Engine: "agent"}
			r.State, r.Slot, r.Profile, r.Answers = fsm.StateWaitingUser, false, fsm.ProfileResumable, nil
			r.Interactions++
			r.Open, r.Seq = []interaction.Question{{ID: r.Interactions}}, r.Seq+1
		})
		follow(park, linear.Output{})
		r = park.Change.After

		answer := interaction.Reply{ID: r.Open[0].ID, Text: "yes"}.Answer(now)
		accept := func(r *store.Run) {
			r.State, r.Owner, r.Open, r.Answers = fsm.StateQueued, "", nil, []interaction.Answer{answer}
			r.Seq++
		}
		early := write("interaction.reply.accepted", nil, accept)
		departed := later()
		follow(linear.Input{Kind: linear.Leave, Node: node}, linear.Output{})
		follow(linear.Input{Kind: linear.Depart, Node: node, Departed: departed.UnixMicro()}, linear.Output{})
		accepted, _ := spec.Step(state, early, linear.Output{})
		require.False(t, accepted, "a commit from the view in which node %s was there is accepted", node)
		follow(early, linear.Output{Err: linear.Conflict})

		r.ShowDeparture(departed)
		reply := write("interaction.reply.accepted", nil, accept)
		follow(reply, linear.Output{})
		r = reply.Change.After
	}
}
