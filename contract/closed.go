package contract

import "time"

// closedRuns keeps what may still be asked of runs that have ended, and of those in which a violation was found: a whole view for each
// would be most of what a long log costs.
type closedRuns struct {
	runs map[string]lastOf
	// slim says that an event that follows an end breaks one of a few rules, which ask for nothing but lastOf.
	slim bool
	ways map[way]*way
}

// lastOf is what is kept of a run's last event; without a way the run is broken.
type lastOf struct {
	seq uint64
	ts  time.Time
	*way
}

// way is what many runs have in common.
type way struct{ state, engine string }

// newClosedRuns looks whether the rules allow ends to be kept in short. Those of the embedded contract do; the one of a test that
// changed it may not.
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

func (c *closedRuns) broken(run string) bool {
	last, ok := c.runs[run]
	return ok && last.way == nil
}

// keepEnd keeps a run that has ended, if that can be done in short; its view is not needed then.
func (c *closedRuns) keepEnd(v *view) bool {
	if !c.slim || !v.l.Terminal(v.state) {
		return false
	}
	common := way{v.state, v.prev.Engine}
	if c.ways[common] == nil {
		c.ways[common] = &way{v.state, v.prev.Engine}
	}
	c.runs[v.prev.RunID] = lastOf{v.prev.Seq, v.prev.TS, c.ways[common]}
	return true
}

// view is what is known of a run that has ended, as far as its next event can be judged by it; nil for any other run.
func (c *closedRuns) view(run string, l *Lifecycle) *view {
	last, ok := c.runs[run]
	if !ok {
		return nil
	}
	prev := &step{Event: Event{RunID: run, Seq: last.seq, TS: last.ts, Engine: last.engine}}
	return &view{l: l, state: last.state, prev: prev}
}
