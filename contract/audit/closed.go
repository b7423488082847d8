package audit

import (
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
)

// closedRuns keeps only what later checks need of ended runs: their whole views would take most of
// the memory for a long log.
type closedRuns struct {
	runs map[string]lastOf
	// slim: a lastOf is enough to judge an event after an end, since only a few rules apply to it.
	slim       bool
	commonEnds map[commonEnd]*commonEnd
}

type lastOf struct {
	seq uint64
	ts  time.Time
	*commonEnd
}

// commonEnd is the part of lastOf that many runs share.
type commonEnd struct {
	state, engine string
	incarnation   uint64
	pastEnd       bool
}

// newClosedRuns checks whether the rules allow slim ends. The embedded contract's do; a test's may
// not.
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

// storeEnd keeps a slim end of an ended run, and returns true, if the rules allow that. The run's
// view is then not needed.
func (c *closedRuns) storeEnd(run string, v *view) bool {
	if !c.slim || !v.l.Terminal(v.state) {
		return false
	}
	common := commonEnd{v.state, v.head.Engine, v.head.Meta.Incarnation, v.pastEnd}
	if c.commonEnds[common] == nil {
		shared := common
		c.commonEnds[common] = &shared
	}
	c.runs[run] = lastOf{v.head.Seq, v.head.TS, c.commonEnds[common]}
	return true
}

// remove forgets an ended run, and returns a view that is sufficient to judge its next event. It
// returns nil for any other run.
func (c *closedRuns) remove(run string, checker *Checker) *view {
	last, ok := c.runs[run]
	if !ok {
		return nil
	}
	delete(c.runs, run)
	v := newView(checker.l)
	v.head = &step{Event: fcmp.Event{RunID: run, Seq: last.seq, TS: last.ts, Engine: last.engine,
		Meta: fcmp.Meta{Incarnation: last.incarnation}}}
	v.markUnknown()
	v.state, v.pastEnd = last.state, last.pastEnd
	return v
}
