package audit

import (
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// normalizer passes the log of another producer to a strict Checker. It undoes the deviations that
// are allowed there, and counts them: it completes or drops members (see readForeign), puts a
// question behind its change of state, lets attempts grow at the start of their turn, and replaces
// other times of the same event and other codes. An event has the data that is left, and
// step.partial says that more may have been left out.
type normalizer struct {
	checker   *Checker
	forgiven  forgiven
	fragments int
	runs      map[string]*foreignRun // the runs that have not ended
}

// foreignRun is the part of an open run that decides how its next event is read.
type foreignRun struct {
	// placed: it was decided whether the log begins in mid-run.
	placed  bool
	counted bool // attempts and questions are counted as in this contract
	timeout time.Duration
	state   string // "" if unknown

	seq     uint64 // of the last event, 0 if it is unknown
	attempt int    // of the last event in the log; unknownAttempt if it is unknown
	own     int    // the same in the contract's count
	shifted bool   // the last event's attempt differs in the two counts
	turn    int    // the attempt of the last turn
	asked   int    // the last question

	early *foreignStep // a question whose change of state may come next
}

// foreignStep is an event that is judged as the given step.
type foreignStep struct {
	*step
	at   time.Time // in the log
	line int
}

func newNormalizer(c *Checker) *normalizer {
	return &normalizer{checker: c, forgiven: forgiven{}, runs: map[string]*foreignRun{}}
}

// read judges the next line of a log, which is not empty. An early question is judged with the event
// after it.
func (n *normalizer) read(body []byte) []Violation {
	e, marks, err := readForeign(body)
	if err != nil {
		return n.refuse(body, err)
	}
	n.forgiven.add(marks)
	n.checker.line++
	n.checker.lines++
	s := foreignStep{newStep(e), e.TS, n.checker.line}
	s.partial = true
	r := n.run(s)
	defer func() {
		if n.checker.l.Terminal(r.state) {
			delete(n.runs, e.RunID)
		}
	}()
	if r.seq > 0 && e.Seq <= r.seq { // the log has it twice, or is out of order
		return slices.Concat(n.flush(r, false), n.judge(r, s))
	}
	follows := r.seq > 0 && e.Seq == r.seq+1
	if r.seq > 0 && !follows {
		r.forget()
	}
	n.place(r, s)
	n.count(r, s)
	n.replaceCodes(s)
	r.note(s)
	early := r.early
	switch {
	case early != nil && follows && s.waits():
		r.early = nil
		n.forgive(*early, "", Early)
		s.Seq, early.Seq, s.TS, early.TS, s.Meta, early.Meta = early.Seq, s.Seq, early.TS, s.TS, early.Meta, s.Meta
		return slices.Concat(n.judge(r, s), n.judge(r, *early))
	case s.Type == fcmp.TypeInputRequired && r.state != "waiting_user" && !n.checker.l.Terminal(r.state):
		found := n.flush(r, !follows)
		r.early = &s
		return found
	}
	return slices.Concat(n.flush(r, !follows), n.judge(r, s))
}

// refuse reports a line that even this reader cannot take.
func (n *normalizer) refuse(body []byte, reason error) (found []Violation) {
	id, _ := fcmp.Salvage(body)
	if r := n.runs[id]; r != nil {
		found = n.flush(r, true)
		r.forget()
	}
	return append(found, n.checker.Refuse(body, reason)...)
}

// close judges the early questions that the log ends with, and what is missing at the end.
func (n *normalizer) close() (found []Violation) {
	for _, r := range n.runs {
		found = append(found, n.flush(r, false)...)
	}
	found = append(found, n.checker.Close()...)
	slices.SortStableFunc(found, func(a, b Violation) int { return a.Line - b.Line })
	return found
}

// flush judges an early question at its place in the log. Unseen: a change of state that may follow
// it is not in the log.
func (n *normalizer) flush(r *foreignRun, unseen bool) []Violation {
	early := r.early
	if early == nil {
		return nil
	}
	r.early = nil
	early.unpaired = unseen
	return n.judge(r, *early)
}

func (n *normalizer) judge(r *foreignRun, s foreignStep) []Violation {
	n.adjustTimes(r, s)
	return n.checker.judge(s.step, s.line)
}

// run returns the run of an event.
func (n *normalizer) run(s foreignStep) *foreignRun {
	r := n.runs[s.RunID]
	if r != nil {
		return r
	}
	r = new(foreignRun)
	r.forget()
	if last, ended := n.checker.closed.runs[s.RunID]; ended {
		r.placed, r.seq, r.state = true, last.seq, last.state
	} else if s.Type == fcmp.TypeStarted {
		r.state = n.checker.l.Submission.To
	}
	n.runs[s.RunID] = r
	return r
}

// forget notes that the event before the next one is unknown.
func (r *foreignRun) forget() {
	r.seq, r.state, r.attempt, r.own, r.shifted = 0, "", unknownAttempt, unknownAttempt, false
}

// place counts a run whose log begins in mid-run, at the first event that shows it.
func (n *normalizer) place(r *foreignRun, s foreignStep) {
	if r.placed {
		return
	}
	starts, changes := s.Type == fcmp.TypeStarted, s.Type == fcmp.TypeStateChanged
	first := n.checker.runs[s.RunID] == nil && r.early == nil
	if !starts && (first && (s.Seq > 1 || s.Meta.Attempt > 1) || changes && s.data.From != n.checker.l.Submission.To) {
		n.fragments++
		r.placed = true
	}
	r.placed = r.placed || changes || starts
}

// note notes the event as the run's last one.
func (r *foreignRun) note(s foreignStep) {
	r.seq = s.Seq
	switch s.Type {
	case fcmp.TypeStarted:
		r.timeout = time.Duration(min(int64(s.data.SessionTimeoutSec), maxSpanSec)) * time.Second
	case fcmp.TypeStateChanged:
		r.state = s.data.To
	case fcmp.TypeInputRequired:
		r.asked = max(r.asked, s.data.InteractionID)
	}
}

// count puts the event's numbers into the contract's count. Other producers may count attempts from
// 1 at the run's start, let them grow when the run is queued for its next turn, and leave numbers
// of questions out. A number that goes back, or grows within a turn, stays.
func (n *normalizer) count(r *foreignRun, s foreignStep) {
	r.counted = r.counted || s.Type == fcmp.TypeStarted && s.Meta.Attempt == 0
	if r.counted {
		return
	}
	if s.uncounted = s.Type == fcmp.TypeInputRequired && s.data.InteractionID > r.asked+1; s.uncounted {
		n.forgive(s, "interaction_id", Miscounted)
	}
	changes := s.Type == fcmp.TypeStateChanged
	turns := changes && s.data.Trigger == "turn.started"
	got, last, want := s.Meta.Attempt, r.attempt, r.own
	if turns {
		want++
	}
	switch {
	case got == unknownAttempt, last != unknownAttempt && (got < last || got > last+1 ||
		got > last && r.state == "running" && !changes || turns && r.turn > 0 && got <= r.turn):
		want = got
	case last == unknownAttempt:
		want = got
		if s.Type == fcmp.TypeStarted && got == 1 {
			want = 0 // no turn has started
		}
	}
	if turns {
		r.turn = max(got, 0)
	}
	if shifted := want != got; shifted || r.shifted {
		s.Meta.LocalSeq = 0 // it counts in the producer's attempt
		r.shifted = shifted
		if shifted {
			n.forgiven.add([]mark{{member: memberAttempt, how: Miscounted}})
		}
	}
	r.attempt, r.own, s.Meta.Attempt = got, want, want
}

// foreignSlack is the largest difference between the times of one event: they may come from
// different moments and clocks, without a time zone.
const foreignSlack = 24 * time.Hour

// adjustTimes sets the event's times to its own, and a question's deadline to its due time, if they
// differ by less than foreignSlack.
func (n *normalizer) adjustTimes(r *foreignRun, s foreignStep) {
	adjust := func(member string, at *time.Time, want time.Time) {
		if at.IsZero() || at.Equal(want) || at.Sub(want).Abs() >= foreignSlack {
			return
		}
		if !at.Equal(s.at) { // it was the event's time before the event changed its place
			n.forgive(s, member, OtherTime)
		}
		*at = want
	}
	asked := s.data.AskedAt
	adjust("updated_at", &s.data.UpdatedAt, s.TS)
	adjust("accepted_at", &s.data.AcceptedAt, s.TS)
	adjust("closed_at", &s.data.ClosedAt, s.TS)
	adjust("asked_at", &s.data.AskedAt, s.TS)
	switch moved := s.data.AskedAt.Sub(asked); {
	case s.Type != fcmp.TypeInputRequired || s.data.WaitDeadlineAt.IsZero():
	case !s.waitsOwn():
		if r.timeout > 0 && !asked.IsZero() {
			adjust("wait_deadline_at", &s.data.WaitDeadlineAt, asked.Add(r.timeout))
		}
		s.data.WaitDeadlineAt = s.data.WaitDeadlineAt.Add(moved)
	case moved != 0:
		s.data.AskedAt = time.Time{} // the length of its wait is unknown
	}
}

// replaceCodes replaces warning codes that are not in the contract by an engine's own, and removes
// an error whose code is not in the contract.
func (n *normalizer) replaceCodes(s foreignStep) {
	l := n.checker.l
	foreign := func(known []string, member, code string) bool {
		if slices.Contains(known, code) || l.OwnWarnings.Holds(code) && member != "terminal.error.code" {
			return false
		}
		if code != "" && code != unknownName { // which readForeign has counted
			n.forgiven.add([]mark{{s.Type, member, Foreign, code}})
		}
		return true
	}
	warnings, own := contract.Codes(l.Warnings), l.OwnWarnings.Prefix+"FOREIGN"
	if s.Type == fcmp.TypeWarning && foreign(warnings, "code", s.data.Code) {
		s.data.Code = own
	}
	if t := s.data.Terminal; t != nil {
		for i, code := range t.Warnings {
			if foreign(warnings, "terminal.warnings", code) {
				t.Warnings[i] = own
			}
		}
		if t.Error != nil && foreign(contract.Codes(l.Errors), "terminal.error.code", t.Error.Code) {
			t.Error = nil
		}
	}
}

func (n *normalizer) forgive(s foreignStep, member, how string) {
	n.forgiven.add([]mark{{typ: s.Type, member: member, how: how}})
}
