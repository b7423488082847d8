package audit

import (
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
)

// closedRuns keeps only what later checks need of runs that have ended. Whole views of them would
// take most of the memory for a long log.
type closedRuns struct {
	runs map[string]lastOf
	// slim: a lastOf is enough to judge an event after an end, since only a few rules apply to it, and
	// they need nothing else.
	slim       bool
	commonEnds map[commonEnd]*commonEnd
}

// lastOf is the retained part of a run's last event.
type lastOf struct {
	seq uint64
	ts  time.Time
	*commonEnd
}

// commonEnd is the part of lastOf that many runs have in common, so that they share it.
type commonEnd struct {
	state, engine string
	pastEnd       bool
}

// newClosedRuns checks whether the rules allow slim ends, as the embedded contract's do; a test's
// contract may not.
func newClosedRuns(rules []namedRule) closedRuns {
	c := closedRuns{runs: map[string]lastOf{}, commonEnds: map[commonEnd]*commonEnd{}}
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

// storeEnd keeps a slim end of a run that has ended, and returns true, if the rules allow that. The
// run's view is not needed then.
func (c *closedRuns) storeEnd(run string, v *view) bool {
	if !c.slim || !v.l.Terminal(v.state) {
		return false
	}
	common := commonEnd{v.state, v.head.Engine, v.pastEnd}
	if c.commonEnds[common] == nil {
		c.commonEnds[common] = &commonEnd{v.state, v.head.Engine, v.pastEnd}
	}
	c.runs[run] = lastOf{v.head.Seq, v.head.TS, c.commonEnds[common]}
	return true
}

// remove returns a view of a run that has ended, which is sufficient to judge its next event, and
// forgets the run. It returns nil for any other run.
func (c *closedRuns) remove(run string, checker *Checker) *view {
	last, ok := c.runs[run]
	if !ok {
		return nil
	}
	delete(c.runs, run)
	v := newView(checker.l)
	v.head = &step{Event: fcmp.Event{RunID: run, Seq: last.seq, TS: last.ts, Engine: last.engine}}
	v.markUnknown()
	v.state, v.pastEnd = last.state, last.pastEnd
	return v
}
