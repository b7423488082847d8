package linear

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// ErrInjected is the error of a recorded store for a write whose outcome it hides.
var ErrInjected = errors.New("linear: the acknowledgement was lost, or the request never arrived")

// Fault decides the fate of one commit.
type Fault int

// The faults: with Lost the commit is stored, with Dropped it is not, and in both cases the caller
// gets ErrInjected.
const (
	None Fault = iota
	Lost
	Dropped
)

// Recorded is a node's store that records in the log whatever the node writes. Reads are not
// recorded.
type Recorded struct {
	store.Store
	Log    *Log
	Client int
	// Evidence returns the evidence of a turn that has ended; nil if it is unknown.
	Evidence func(run string, attempt int) *Evidence
	// Began reports whether an agent has begun the turn.
	Began func(run string, attempt int) bool
	// Says returns the answer of the hosts' policy to a question of the run; nil without a policy.
	Says func(run string, q *interaction.Question) Says
	// Fault decides the fate of each write; nil for no faults.
	Fault func() Fault
}

// Watch implements store.Watcher, if the store below does.
func (s *Recorded) Watch(fn func(store.Hint)) (stop func()) {
	if w, ok := s.Store.(store.Watcher); ok {
		return w.Watch(fn)
	}
	return func() {}
}

// Commit implements store.Writer. In the history, a lost or dropped commit has an unknown outcome.
func (s *Recorded) Commit(ctx context.Context, batch []store.Commit) []error {
	fault := None
	if s.Fault != nil {
		fault = s.Fault()
	}
	calls := make([]Call, len(batch))
	for i := range batch {
		calls[i] = s.Log.Call(s.Client, Input{Kind: Write, Run: batch[i].Run.ID, Change: s.change(&batch[i])})
	}
	errs := make([]error, len(batch))
	if fault != Dropped {
		errs = s.Store.Commit(ctx, batch)
	}
	for i := range batch {
		if fault != None {
			errs[i] = ErrInjected
			continue
		}
		calls[i].Return(Answer(errs[i]))
	}
	return errs
}

func (s *Recorded) change(c *store.Commit) *Change {
	ch := &Change{Event: EventOf(c), Expect: c.Expect, After: c.Run.Clone()}
	if c.Usage != nil {
		used := *c.Usage
		ch.Usage = &used
	}
	if c.Fence != nil {
		fence := *c.Fence
		ch.Fence = &fence
	}
	if len(c.Settled) > 0 {
		ch.Settles = c.Settled[0].Question.ID
	}
	if r, q := ruledBy(c); r != nil && q != nil && s.Says != nil {
		r.Says = s.Says(c.Run.ID, q)
		ch.Ruled = r
	}
	ch.Began = s.Began != nil && s.Began(c.Run.ID, c.Run.Attempt)
	if s.Evidence != nil && (isTurnEnd(ch.Event) || heldForFailure(c)) {
		ch.Evidence = s.Evidence(c.Run.ID, c.Run.Attempt)
	}
	return ch
}

// heldForFailure reports whether the commit holds its run because the turn has failed, and not
// because its worker was lost: the results of a lost turn do not count.
func heldForFailure(c *store.Commit) bool {
	return EventOf(c) == "turn.yielded" && c.Run.Block != nil && c.Run.Block.Code != fsm.CodeTurnInterrupted &&
		c.Run.Block.Code != fsm.CodeOrchestratorRestartInterrupted
}

// EventOf returns the contract's event that a commit reports; empty if it does not change the
// state.
func EventOf(c *store.Commit) string {
	for _, stored := range c.Events {
		event, err := fcmp.Decode(stored.Body)
		if err != nil {
			continue
		}
		switch event.Type {
		case fcmp.TypeBlocked, fcmp.TypeUnblocked, fcmp.TypeRecorded, fcmp.TypeChanged, fcmp.TypeNoted:
			return event.Type // the contract's event has the same name
		case fcmp.TypeReminder, fcmp.TypeEscalated:
			return string(fsm.EventInteractionStep)
		case fcmp.TypeStateChanged:
		default:
			continue
		}
		var changed fcmp.StateChanged
		if event.Decode(&changed) == nil {
			return changed.Trigger
		}
	}
	if c.Run.State == fsm.StateWaitingUser && len(c.Events) == 0 {
		return string(fsm.EventRestartPreserveWaiting)
	}
	return ""
}

// Claim implements store.Writer. A claim whose acknowledgement is lost has taken effect all the
// same.
func (s *Recorded) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	asked := s.Log.Now()
	claimed, err := s.Store.Claim(ctx, req)
	for i := range claimed {
		after := claimed[i].Run.Clone()
		s.Log.Learned(s.Client, asked, Input{Kind: Claim, Run: after.ID, Node: req.Node, After: &after}, Output{})
	}
	if len(claimed) > 0 && s.Fault != nil && s.Fault() == Lost {
		return nil, ErrInjected
	}
	return claimed, err
}

// Expire implements store.Registry. A departure that the store does not list may be made later,
// while commits of runs that the node parked are under way, or never, if it has parked none.
func (s *Recorded) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	asked := s.Log.Now()
	before, failed := s.Nodes(ctx)
	gone, err := s.Store.Expire(ctx, now, ids...)
	if err != nil { // any node that was registered may be gone
		if failed != nil {
			return gone, fmt.Errorf("%w, and nobody knows whom it concerns: %w", err, failed)
		}
		for _, n := range before {
			s.Log.Learned(s.Client, asked, Input{Kind: Leave, Node: n.ID}, Output{Unknown: true})
			s.departs(asked, n.ID, now, Output{Unknown: true})
		}
		return gone, err
	}
	departed, _ := s.Departures(ctx) // missing ones may be created later
	for _, n := range gone {
		at, made := now, false
		if i := slices.IndexFunc(departed, func(d store.Departure) bool { return d.ID == n.ID }); i >= 0 {
			at, made = departed[i].At, true // another call may have been first, at another time
		}
		s.Log.Learned(s.Client, asked, Input{Kind: Leave, Node: n.ID}, Output{})
		s.departs(asked, n.ID, at, Output{Unknown: !made})
	}
	return gone, nil
}

func (s *Recorded) departs(asked int64, node string, now time.Time, out Output) {
	at := store.DepartureTime(now).UnixMicro()
	s.Log.Learned(s.Client, asked, Input{Kind: Depart, Node: node, Departed: at}, out)
}
