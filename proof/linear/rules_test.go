package linear_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/store"
)

// script plays a history by hand: follow is a call with its correct answer, refuse a call with a
// wrong answer, which changes nothing.
type script struct {
	testing.TB

	spec  linear.Spec
	state any
	r     store.Run
	now   time.Time
}

func newScript(tb testing.TB) *script {
	tb.Helper()
	spec := linear.NewModel(contract.Load()).Spec()
	return &script{TB: tb, spec: spec, state: spec.Init(), now: time.UnixMicro(1).UTC(), r: store.Run{
		State: fsm.StateQueued, Version: 1, Recovery: store.RecoveryNone, Strict: true,
		Seq: uint64(len(contract.Load().Submission.Emits)),
	}}
}

func (s *script) follow(in linear.Input, out linear.Output) {
	s.Helper()
	ok, next := s.spec.Step(s.state, in, out)
	require.True(s, ok, "the model answers: %s", s.spec.Why(s.state, in, out))
	s.state = next
}

func (s *script) refuse(in linear.Input, out linear.Output) {
	s.Helper()
	ok, _ := s.spec.Step(s.state, in, out)
	require.False(s, ok, "the model accepts: %v", out)
}

// claim starts the run on a node.
func (s *script) claim() {
	s.Helper()
	s.r = changed(s.r, s.now, func(r *store.Run) {
		r.State, r.Slot, r.Owner, r.Epoch, r.Attempt, r.Answers = fsm.StateRunning, true, "a", r.Epoch+1, r.Attempt+1,
			s.r.Answers
	}).Run
	claimed := s.r.Clone()
	s.follow(linear.Input{Kind: linear.Claim, Node: "a", After: &claimed}, linear.Output{})
}

// park is the commit that parks the run with this question.
func (s *script) park(q interaction.Question, began bool) linear.Input {
	after := changed(s.r, s.now, func(r *store.Run) {
		r.State, r.Slot, r.Profile, r.Answers = fsm.StateWaitingUser, false, fsm.ProfileResumable, nil
		r.Interactions++
		q.ID = r.Interactions
		r.Open, r.Seq = []interaction.Question{q}, r.Seq+1
	}).Run
	return linear.Input{Kind: linear.Write, Change: &linear.Change{Event: "turn.needs_input", Expect: s.r.Version,
		Fence: &store.Fence{Node: "a", Epoch: s.r.Epoch}, After: after, Began: began}}
}

// answered plays a run whose question is for ada, and which she has answered with the key k.
func answeredByAda(tb testing.TB) (s *script, q interaction.Question, reply linear.Input) {
	tb.Helper()
	s, q = newScript(tb), interaction.Question{To: &interaction.Audience{Users: []string{"ada"}}}
	s.follow(linear.Input{Kind: linear.Submit, Terms: linear.Terms{Interactive: true, Strict: true}},
		linear.Output{Seen: linear.ViewOf(&s.r)})
	s.claim()
	parked := s.park(q, true)
	parked.Change.After.Session = &interaction.SessionHandle{Engine: "agent"}
	s.follow(parked, linear.Output{})
	reply = linear.Input{Kind: linear.Reply, Reply: interaction.Reply{ID: 1, Text: "yes", Key: "k",
		Actor: linear.Person("ada")}}
	s.follow(reply, linear.Output{})
	return s, q, reply
}

// C5: the receipt of a reply to a question with an audience is its author's and the host's.
func TestTheModelGivesAReceiptToItsAuthor(t *testing.T) {
	s, _, reply := answeredByAda(t)
	replayed := linear.Output{Replayed: true}
	s.follow(reply, replayed)
	reply.Reply.Actor = linear.Person("")
	s.follow(reply, replayed)
	reply.Reply.Actor = linear.Person("bob")
	s.refuse(reply, replayed)
	s.follow(reply, linear.Output{Err: linear.SettledAs("user_reply", "queued")})
}

// N11: a fork does not inherit an answer that its author could not have given. It asks the same
// people again before its agent is called.
func TestTheModelHasAForkAskAgain(t *testing.T) {
	source, q, _ := answeredByAda(t)
	again, err := json.Marshal([]any{map[string]any{"asks": []interaction.Question{q}}, nil})
	require.NoError(t, err)
	asks, err := linear.TextOfBeginning(again)
	require.NoError(t, err)
	inherited, err := linear.TextOfBeginning([]byte(`[{"answer":{"id":1}},null]`))
	require.NoError(t, err)
	record := interaction.Settle(q, interaction.Reply{Text: "yes"}.Answer(source.now), "", "")
	record.Question.ID, record.Question.Attempt = 1, 1

	f := &linear.Forking{ID: "f", Question: 1, Begins: asks, Learned: true,
		Terms: linear.Terms{Interactive: true, Strict: true}}
	fork := linear.Input{Kind: linear.Fork, Fork: f}
	source.refuse(fork, linear.Output{Inherited: linear.TextOfRecords([]interaction.Record{record}), Begins: inherited})
	source.follow(fork, linear.Output{Begins: asks})

	s := newScript(t)
	s.r.ForkedFrom = &store.ForkPoint{RunID: "r", Question: 1, AsksAgain: 1}
	s.follow(linear.Input{Kind: linear.StartFork, Source: "r", Fork: f}, linear.Output{Seen: linear.ViewOf(&s.r)})
	s.claim()
	s.refuse(s.park(interaction.Question{}, false), linear.Output{})
	s.refuse(s.park(q, true), linear.Output{})
	s.follow(s.park(q, false), linear.Output{})
}
