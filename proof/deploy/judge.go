package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// verdict is the result of the judge.
type verdict struct {
	options

	ends           map[string]int // number of runs by kind and last state
	replies        int            // acknowledged replies
	tried          int            // turns that were retried later
	repeated       int            // turns of lost nodes that were repeated because of their specs
	asked          int            // turns of lost nodes that an operator decided about
	refused        int            // refused sessions, in turns and while their runs waited
	unpaid         int            // turns whose engine reported that the run must be held
	resumed, alone int            // held runs that continued: by an operator's decision, and
	// automatically
	started          int // started processes
	killed, stopped  int
	events           int
	wrong            []string
	failed, unheard  int // runs that failed because of the deploy, and answers that got lost
	firstIsOfAnother bool
}

// judge compares each run with its plan, and with the acknowledgements to people.
func (c *conductor) judge(ctx context.Context) (*verdict, error) {
	v := &verdict{options: c.options, ends: make(map[string]int), started: c.fleet.started, killed: c.fleet.killed,
		stopped: c.fleet.stopped, firstIsOfAnother: c.fleet.programs.first != c.fleet.programs.second}
	checker := audit.NewChecker()
	for _, id := range slices.Sorted(maps.Keys(c.plans)) {
		run, err := c.client.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		v.ends[fmt.Sprintf("%s %s", c.plans[id].kind, run.State)]++
		v.replies += len(c.accepted[id])
		v.judgeEnd(c, &run)
		if err := v.judgeLog(ctx, c, id, checker); err != nil {
			return nil, err
		}
	}
	if !c.unserved.Load() {
		v.findf("nobody could see since when runs waited for an engine that no node had")
	}
	for _, broken := range checker.Close() {
		v.findf("%s", broken.Error())
	}
	return v, nil
}

func (v *verdict) findf(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// judgeEnd records a finding unless the run ended as planned and its agent got every accepted
// answer.
func (v *verdict) judgeEnd(c *conductor, run *lifecycle.Run) {
	p := c.plans[run.ID]
	switch {
	case run.State == fsm.StateCanceled && c.withdrawn[run.ID]:
		return
	case run.State == fsm.StateFailed && p.kind == broken && run.Error.Code == fsm.CodeEngineFailed &&
		strings.Contains(run.Error.Message, "exit status 3"):
		return
	case run.State == fsm.StateFailed && p.kind == givenUp && run.Error.Code == fsm.CodeEngineFailed &&
		strings.Contains(run.Error.Message, "given up by "+operator):
		return
	case run.State == fsm.StateFailed:
		v.failed++
		v.unheard += len(c.accepted[run.ID])
		v.findf("%s (%s) failed by the deploy: %s: %s; %d accepted answers are lost", run.ID, p.kind, run.Error.Code,
			run.Error.Message, len(c.accepted[run.ID]))
		return
	case run.State != fsm.StateSucceeded || c.withdrawn[run.ID] || p.kind == broken || p.kind == givenUp:
		v.findf("%s (%s) is %s, which nothing explains", run.ID, p.kind, run.State)
		return
	}
	heard, err := cast.ReadHeard(run.Output)
	if err != nil {
		v.findf("%s: %v", run.ID, err)
		return
	}
	if len(heard) != p.questions {
		v.findf("%s heard %q, of %d answers", run.ID, heard, p.questions)
	}
	for id, text := range c.accepted[run.ID] {
		if id > len(heard) || heard[id-1] != text {
			v.unheard++
			v.findf("%s: answer %d (%q) was accepted, and the agent has heard %q", run.ID, id, text, heard)
		}
	}
	if p.kind == silent && run.AutoDecisions != 1 {
		v.findf("%s: %d automatic decisions of one", run.ID, run.AutoDecisions)
	}
}

// judgeLog checks the run's log with the contract's checker, and compares its decisions with the
// ones acknowledged to operators.
func (v *verdict) judgeLog(ctx context.Context, c *conductor, id string, checker *audit.Checker) error {
	before := v.resumed
	for e, err := range cast.Events(ctx, c.store, id) {
		if err != nil {
			return err
		}
		for _, broken := range checker.Line(e.Body) {
			v.findf("%s", broken.Error())
		}
		event, err := fcmp.Decode(e.Body)
		if err == nil {
			err = v.judgeEvent(c.plans[id], &event)
		}
		if err != nil {
			return err
		}
	}
	if stored := v.resumed - before; stored != c.resumed[id] {
		v.findf("%s: %d decisions of an operator were acknowledged, and the log has %d", id, c.resumed[id], stored)
	}
	return nil
}

// judgeEvent counts the event in the verdict, and records a finding if a run was held without need.
func (v *verdict) judgeEvent(p plan, event *fcmp.Event) error {
	v.events++
	var (
		yielded   fcmp.Yielded
		unblocked fcmp.Unblocked
		changed   fcmp.StateChanged
	)
	switch event.Type {
	case fcmp.TypeYielded:
		if err := event.Decode(&yielded); err != nil {
			return err
		}
		v.judgeYielded(p, &yielded)
	case fcmp.TypeBlocked:
		v.refused++
	case fcmp.TypeUnblocked:
		if err := event.Decode(&unblocked); err != nil {
			return err
		}
		if unblocked.Cause == "resumed" {
			v.resumed++
		} else {
			v.alone++
		}
	case fcmp.TypeStateChanged:
		if err := event.Decode(&changed); err != nil {
			return err
		}
		switch fsm.Event(changed.Trigger) {
		case fsm.EventRestartRequeue:
			v.repeated++
		case fsm.EventRunGivenUp:
			v.resumed++
		}
	}
	return nil
}

func (v *verdict) judgeYielded(p plan, y *fcmp.Yielded) {
	switch code := fsm.Code(y.Code); {
	case len(y.Choices) == 0:
		v.tried++
	case code == fsm.CodeSessionResumeFailed:
		v.refused++
	case code == fsm.CodeEngineFailed && (p.kind == unpaid || p.kind == givenUp) &&
		strings.Contains(y.Message, "402"):
		v.unpaid++
	case code == fsm.CodeOrchestratorRestartInterrupted && !p.repeats && !v.orderly:
		v.asked++
	default:
		v.findf("%s (%s) was held without need: %s: %s", p.spec.ID, p.kind, y.Code, y.Message)
	}
}

// String formats the verdict for people.
func (v *verdict) String() string {
	var out strings.Builder
	for i, wrong := range v.wrong {
		if i == 20 {
			fmt.Fprintf(&out, "… and %d more\n", len(v.wrong)-i)
			break
		}
		fmt.Fprintf(&out, "WRONG: %s\n", wrong)
	}
	var ends []string
	for _, end := range slices.Sorted(maps.Keys(v.ends)) {
		ends = append(ends, fmt.Sprintf("%d %s", v.ends[end], end))
	}
	fmt.Fprintf(&out, "%d runs: %s\n", v.runs, strings.Join(ends, ", "))
	fmt.Fprintf(&out, "%d processes, %d of them stopped and %d killed; %d turns put off, %d repeated; %d replies; %d "+
		"events\n",
		v.started, v.stopped, v.killed, v.tried, v.repeated, v.replies, v.events)
	fmt.Fprintf(&out, "held: %d interrupted turns, %d refused sessions, %d unpaid turns; went on: %d as an operator "+
		"decided, %d by themselves\n", v.asked, v.refused, v.unpaid, v.resumed, v.alone)
	fmt.Fprintf(&out, "failed by the deploy: %d; accepted answers lost: %d (seed %d)\n", v.failed, v.unheard, v.seed)
	return out.String()
}
