package audit

import (
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
)

// closedRuns keeps what may still be asked of runs that have ended: a whole view for each would be
// most of what a long log costs.
type closedRuns struct {
	runs map[string]lastOf
	// slim says that an event that follows an end breaks one of a few rules, which ask for nothing
	// but lastOf.
	slim bool
	ways map[way]*way
}

// lastOf is what is kept of a run's last event.
type lastOf struct {
	seq uint64
	ts  time.Time
	*way
}

// way is what many runs have in common.
type way struct {
	state, engine string
	pastEnd       bool
}

// newClosedRuns looks whether the rules allow ends to be kept in short. Those of the embedded
// contract do; the one of a test that changed it may not.
func newClosedRuns(rules []namedRule) closedRuns {
	c := closedRuns{runs: map[string]lastOf{}, ways: map[way]*way{}}
	for _, r := range rules {
		switch r := r.rule.(type) {
		case *startsWith, *monotone:
			continue
		case *contiguous:
			if r.Field == "seq" && r.Per == "" {
				continue
			}
		case *constant:
			if len(r.Fields) == 1 && r.Fields[0] == "engine" {
				continue
			}
		case *absorbing:
			c.slim = true
		}
		break
	}
	return c
}

// storeEnd keeps a run that has ended, if that can be done in short; its view is not needed then.
func (c *closedRuns) storeEnd(run string, v *view) bool {
	if !c.slim || !v.l.Terminal(v.state) {
		return false
	}
	common := way{v.state, v.head.Engine, v.pastEnd}
	if c.ways[common] == nil {
		c.ways[common] = &way{v.state, v.head.Engine, v.pastEnd}
	}
	c.runs[run] = lastOf{v.head.Seq, v.head.TS, c.ways[common]}
	return true
}

// remove returns what is known of a run that has ended, as far as its next event can be judged by
// it; nil for any other run.
func (c *closedRuns) remove(run string, checker *Checker) *view {
	last, ok := c.runs[run]
	if !ok {
		return nil
	}
	delete(c.runs, run)
	v := newView(checker.l, checker.lenient)
	v.startKnown = true
	v.head = &step{Event: fcmp.Event{RunID: run, Seq: last.seq, TS: last.ts, Engine: last.engine}}
	v.lose()
	v.state, v.pastEnd = last.state, last.pastEnd
	return v
}
