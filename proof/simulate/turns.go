package simulate

import (
	"fmt"

	"github.com/interlude-go/interlude/engine"
)

// turns records the turns that agents were asked to execute.
type turns struct {
	world *world
	calls map[string][]*call // by run, in order
}

// call is one turn that an agent was asked to execute.
type call struct {
	view    *view
	attempt int
	epoch   uint64
	round   int // the round whose answers it got, from 1; 0 in the first turn, also of a fork
	text    string
	over    bool // guarded by world.mu
}

// start records a call, while the world is quiescent. It checks that no attempt is executed twice,
// whichever node believes to own it, and that its claim was stored before. It returns how often an
// agent was asked before to continue from the same place.
func (t *turns) start(v *view, turn engine.Turn) (before int) {
	w := t.world
	c := &call{view: v, attempt: turn.Attempt, epoch: turn.Epoch}
	plan := w.runPlan(turn.RunID)
	if len(turn.Answers) > 0 {
		c.text = turn.Answers[0].Text
		if !plan.inherits(turn) {
			c.round = plan.turn(turn.Answers[0].ID)
		}
	}
	if len(turn.Answers) > 1 {
		c.text = hear(turn)
	}
	for _, o := range t.calls[turn.RunID] {
		if o.attempt == c.attempt || o.epoch == c.epoch {
			w.fault(fmt.Sprintf("run %s: attempt %d under epoch %d was executed on %s, and again on %s as attempt %d "+
				"under epoch %d",
				turn.RunID, o.attempt, o.epoch, o.view.name, v.name, c.attempt, c.epoch))
		}
		if o.round == c.round {
			before++
		}
		if !o.over {
			w.saw("a turn began while an earlier one of the run still executed elsewhere")
		}
	}
	known := w.witness.runs[turn.RunID]
	if known == nil || known.Epoch < c.epoch || known.Attempt < c.attempt {
		w.fault(fmt.Sprintf("run %s: attempt %d under epoch %d is executed and was never claimed", turn.RunID,
			c.attempt, c.epoch))
	} else if known.Epoch > c.epoch {
		w.saw("a turn began that was no longer the run's")
	}
	if w.unheard[hold{turn.RunID, c.epoch}] {
		w.saw("a turn began whose claim was not acknowledged")
	}
	t.calls[turn.RunID] = append(t.calls[turn.RunID], c)
	return before
}

func (t *turns) end(v *view, turn engine.Turn) {
	w := t.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range t.calls[turn.RunID] {
		if c.view == v && c.attempt == turn.Attempt {
			c.over = true
		}
	}
}
