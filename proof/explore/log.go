package explore

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// Log sums up the events of a run: of two logs with one summary either both or none is broken by
// what comes next. It is kept apart from the record, so that the two can disagree. It has no place
// for final messages: one ends its turn, and another after that is wrong in any log.
type Log struct {
	State                       place
	Attempt, Asked, Open, Autos uint8
	LastReply, LastAuto         uint8 // the question last settled so
	// the attempt has its final message; that an earlier one had it matters to no invariant
	Said  bool
	Owed  bool // the last change of state accepted an answer
	Begun bool
}

// emission is what the events of a commit depend on.
type emission struct {
	arrow int8 // index into Transitions
	from  place
	next  visible
	id    uint8  // of the question that is settled
	code  string // where it is not the transition's own
	due   bool   // the deadline has passed
}

// visible is the part of a record that its events repeat.
type visible struct {
	state             place
	attempt           uint8
	pending, deadline uint8
	autos             uint8
}

func (r *Run) visible() visible { return visible{r.State, r.Attempt, r.Pending, r.Deadline, r.Autos} }

// submission is the arrow by which a run begins.
const submission int8 = -2

// judge puts logs before audit.Checker. Since there are few summaries, one log is kept for each,
// and what may follow it is judged once.
type judge struct {
	*model
	known map[judgement]judged
	logs  map[Log][]emission
}

type judgement struct {
	log      Log
	emission emission
}

type judged struct {
	log    Log
	broken string
}

func newJudge(m *model) *judge {
	return &judge{model: m, known: map[judgement]judged{}, logs: map[Log][]emission{{}: nil}}
}

// emit adds the commit's events to the log, and says which invariant they break.
func (m *model) emit(s *State, t *emission) string {
	q := judgement{s.Log, *t}
	verdict, ok := m.judge.known[q]
	if !ok {
		verdict = m.judge.decide(q)
		m.judge.known[q] = verdict
	}
	s.Log = verdict.log
	return verdict.broken
}

// decide replays a log with that summary through the checker, and then what is told now.
func (j *judge) decide(q judgement) judged {
	log := append(append([]emission(nil), j.logs[q.log]...), q.emission)
	next := q.log
	for _, e := range j.emits(q.emission.arrow) {
		next.add(e, &q.emission, j.trigger(q.emission.arrow))
	}
	if _, ok := j.logs[next]; !ok {
		j.logs[next] = log
	}
	return judged{next, j.replay(log)}
}

// replay is the checker's word on a whole log.
func (j *judge) replay(log []emission) string {
	c := audit.NewCheckerFor(j.law.l)
	for _, e := range j.events(log) {
		if found := c.Event(e); len(found) > 0 {
			return found[0].Invariant + ": " + found[0].Explanation
		}
	}
	if left := c.Close(); len(left) > 0 {
		return left[0].Invariant + ": " + left[0].Explanation
	}
	return ""
}

func (m *model) emits(arrow int8) []contract.Emission {
	if arrow == submission {
		return m.law.l.Submission.Emits
	}
	return m.law.l.Transitions[arrow].Emits
}

func (m *model) trigger(arrow int8) string {
	if arrow == submission {
		return ""
	}
	return m.law.l.Transitions[arrow].Event
}

// add lets one event become part of the summary.
func (l *Log) add(e contract.Emission, t *emission, trigger string) {
	l.Attempt = t.next.attempt
	switch e.Type {
	case fcmp.TypeStarted:
		l.Begun, l.State = true, t.next.state
	case fcmp.TypeStateChanged:
		l.State = t.next.state
		l.Owed = trigger == replyAccepted.String() || trigger == autoDecided.String()
		if l.State != waiting {
			l.Open = 0
		}
		if trigger == autoDecided.String() {
			l.Autos++
		}
	case fcmp.TypeReplyAccepted:
		l.LastReply = t.id
	case fcmp.TypeAutoDecided:
		l.LastAuto = t.id
	case fcmp.TypeInputRequired:
		l.Asked, l.Open = t.next.pending, t.next.pending
	}
}

// long is how long questions wait.
const long = time.Hour

// events writes the log as it would be stored.
func (j *judge) events(log []emission) []fcmp.Event {
	w := logWriter{judge: j, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range log {
		t := &log[i]
		if t.due && w.now.Before(w.deadline) {
			w.now = w.deadline
		}
		for _, e := range j.emits(t.arrow) {
			w.write(e.Type, t)
		}
	}
	return w.events
}

// logWriter numbers events and gives them their times: a second for each.
type logWriter struct {
	*judge
	now, deadline time.Time
	local         uint64
	attempt       int
	events        []fcmp.Event
}

func (w *logWriter) write(kind string, t *emission) {
	data := w.data(kind, t)
	body, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("explore: %T cannot be encoded: %v", data, err)) // they are structs of this module
	}
	if w.attempt != int(t.next.attempt) {
		w.attempt, w.local = int(t.next.attempt), 0
	}
	w.local++
	w.events = append(w.events, fcmp.Event{
		ProtocolVersion: fcmp.Protocol, RunID: "run", Seq: uint64(len(w.events) + 1), TS: w.now, Engine: "engine",
		Type: kind, Data: body,
		Meta: fcmp.Meta{Attempt: w.attempt, LocalSeq: w.local},
	})
	w.now = w.now.Add(time.Second)
}

// data is the payload of one event.
func (w *logWriter) data(kind string, t *emission) any {
	sc := &w.scenario
	switch kind {
	case fcmp.TypeStarted:
		mode := "auto"
		if sc.Interactive {
			mode = "interactive"
		}
		return fcmp.Started{
			Mode: mode, InteractiveRequireUserReply: sc.Strict, SessionTimeoutSec: int(long / time.Second),
			MaxAttempt:       sc.MaxAttempt,
			MaxAutoDecisions: sc.MaxAuto, Pool: "default", ContractVersion: w.law.l.Version,
		}
	case fcmp.TypeStateChanged:
		return w.change(t)
	case fcmp.TypeReplyAccepted:
		return fcmp.ReplyAccepted{InteractionID: int(t.id), ResolutionMode: "user_reply", AcceptedAt: w.now}
	case fcmp.TypeAutoDecided:
		return fcmp.AutoDecided{
			InteractionID: int(t.id), ResolutionMode: "auto_decide_timeout", Policy: "engine_judgement",
			AcceptedAt: w.now, TimeoutSec: int(long / time.Second),
		}
	case fcmp.TypeInputRequired:
		asked := fcmp.InputRequired{
			InteractionID: int(t.next.pending), Kind: "open_text", Prompt: "?",
			DefaultDecisionPolicy: "engine_judgement", AskedAt: w.now,
			Profile: w.policy.Profile, OnDeadline: w.policy.OnDeadline,
		}
		if t.next.deadline != 0 {
			w.deadline = w.now.Add(long)
			asked.WaitDeadlineAt = w.deadline
		}
		return asked
	case fcmp.TypeMessageFinal, fcmp.TypeMessageIntermediate:
		return fcmp.MessageFinal{Text: "so it is"}
	}
	return fcmp.Warning{Code: "ENGINE_DIAGNOSTIC"}
}

func (w *logWriter) change(t *emission) fcmp.StateChanged {
	arrow := &w.law.l.Transitions[max(t.arrow, 0)]
	c := fcmp.StateChanged{
		From: t.from.String(), To: t.next.state.String(), Trigger: arrow.Event, UpdatedAt: w.now,
		PendingInteractionID: int(t.next.pending),
	}
	if w.law.l.Terminal(arrow.To) {
		c.Terminal = &fcmp.Terminal{Status: c.To, Warnings: []string{}}
		code := arrow.Error
		if t.code != "" {
			code = t.code
		}
		if code != "" {
			c.Terminal.Error = &fcmp.Failure{Code: code, Message: "because"}
		}
	}
	return c
}
