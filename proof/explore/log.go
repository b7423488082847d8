package explore

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// Log is a summary of a run's events. If two logs have the same summary, then each next event is
// either wrong in both or right in both. The summary is separate from the record, so that the two
// can disagree. It does not mention final messages, because one ends its turn, and a second one is
// wrong in any log.
type Log struct {
	State                       runState
	Attempt, Asked, Open, Autos uint8
	LastReply, LastAuto         uint8 // the last question that was settled by a reply, and by a deadline
	AnswerDue                   bool  // the last change of state accepted an answer
	Begun                       bool
	Yielded                     uint8
	Held, Raisable              bool
	Sibling, Replies            uint8
	Fired, Voted, Claim, To     uint8
}

// emission has everything that the events of a commit depend on.
type emission struct {
	transition int8 // index into Transitions
	then       int8 // the transition that the same commit makes after it; -1 for none
	from       runState
	next       visible
	id         uint8  // the number of the settled question
	sibling    uint8  // the second question that is asked, decided or closed; 0 for none
	code       string // empty for the code of the transition
	due        bool   // the deadline has passed
	handBack   bool
	raised     bool  // a person raised the budget
	who        uint8 // votes, or changes the question
	changed    task  // the kind of change
	claimOver  bool  // the time of the claim is over
	rejects    bool  // the vote is a rejection
}

// visible is the part of a record that is also in its events.
type visible struct {
	state             runState
	attempt           uint8
	pending, deadline uint8
	autos             uint8
	held, raisable    bool
}

func (r *Run) visible() visible {
	return visible{r.State, r.Attempt, r.Pending, r.Deadline, r.Autos, r.Held, r.Raisable}
}

// submission takes the place of a transition's index for the submission.
const submission int8 = -2

// judge checks logs with audit.Checker. There are few summaries, so it keeps one log for each of
// them, and checks each continuation of that log once.
type judge struct {
	*model
	verdicts map[judgement]judged
	logs     map[Log][]emission
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
	return &judge{model: m, verdicts: map[judgement]judged{}, logs: map[Log][]emission{{}: nil}}
}

// emit adds the commit's events to the log, and returns the invariant that they break, or "".
func (m *model) emit(s *State, t *emission) string {
	q := judgement{s.Log, *t}
	verdict, ok := m.judge.verdicts[q]
	if !ok {
		verdict = m.judge.decide(q)
		m.judge.verdicts[q] = verdict
	}
	s.Log = verdict.log
	return verdict.broken
}

// decide checks the events of the emission after a log with the summary.
func (j *judge) decide(q judgement) judged {
	log := append(append([]emission(nil), j.logs[q.log]...), q.emission)
	next := q.log
	for _, e := range j.emits(&q.emission) {
		next.add(e.Emission, e.id, &q.emission, j.trigger(q.emission.transition))
	}
	if _, ok := j.logs[next]; !ok {
		j.logs[next] = log
	}
	return judged{next, j.replay(log)}
}

// replay checks a whole log.
func (j *judge) replay(log []emission) string {
	c := audit.NewCheckerFor(j.rules.l)
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

// emitted is an event of a commit, and the question that it is about, if it is about one.
type emitted struct {
	contract.Emission

	id uint8
}

func (m *model) emits(t *emission) (all []emitted) {
	if t.transition == submission {
		for _, e := range m.rules.l.Submission.Emits {
			all = append(all, emitted{e, 0})
		}
		return all
	}
	emits := m.rules.l.Transitions[t.transition].Emits
	if t.then >= 0 {
		emits = slices.Concat(emits, m.rules.l.Transitions[t.then].Emits)
	}
	for _, e := range emits {
		first := t.id
		switch e.Type {
		case fcmp.TypeInputRequired:
			first = t.next.pending
		case fcmp.TypeClosed:
			first = 0
		case fcmp.TypeReminder, fcmp.TypeEscalated: // whatever the step of the question does
			if (e.Type == fcmp.TypeEscalated) == m.scenario.Claims {
				all = append(all, emitted{e, first})
			}
			continue
		case fcmp.TypeAutoDecided:
		default:
			all = append(all, emitted{e, first})
			continue
		}
		for _, id := range []uint8{first, t.sibling} {
			if id != 0 {
				all = append(all, emitted{e, id})
			}
		}
	}
	return all
}

func (m *model) trigger(transition int8) string {
	if transition == submission {
		return ""
	}
	return m.rules.l.Transitions[transition].Event
}

// add adds one event to the summary.
func (l *Log) add(e contract.Emission, id uint8, t *emission, trigger string) {
	l.Attempt = t.next.attempt
	switch e.Type {
	case fcmp.TypeStarted:
		l.Begun, l.State = true, t.next.state
	case fcmp.TypeStateChanged:
		l.State = t.next.state
		l.AnswerDue = trigger == replyAccepted.String() || trigger == autoDecided.String()
		if l.State != waiting {
			l.Open, l.Sibling, l.Replies = 0, 0, 0
			l.Fired, l.Voted, l.Claim, l.To = 0, 0, 0, 0
		}
		l.Held = l.Held && (l.State == waiting || l.State == queued)
		l.Raisable = l.Raisable && l.Held
		if trigger == autoDecided.String() {
			l.Autos++
		}
	case fcmp.TypeReplyAccepted:
		l.LastReply = max(l.LastReply, id) // two that are asked together are answered in any order
	case fcmp.TypeReminder, fcmp.TypeEscalated:
		l.Fired, l.Claim, l.To = l.Fired+1, 0, 0
	case fcmp.TypeChanged:
		switch t.changed {
		case claimQuestion:
			l.Claim = t.who
		case releaseQuestion:
			l.Claim = 0
		case reassignQuestion:
			l.Claim, l.To = 0, (voter(0)|voter(1))&^t.who
		}
	case fcmp.TypeDefaultTaken:
		l.LastAuto = id
	case fcmp.TypeRecorded:
		if t.who != 0 {
			l.Voted |= t.who
			return
		}
		l.LastReply = max(l.LastReply, id) // two that are asked together are answered in any order
		if l.Replies++; id != l.Sibling {
			l.Open = l.Sibling
		}
		l.Sibling = 0
	case fcmp.TypeAutoDecided:
		l.LastAuto = id
	case fcmp.TypeYielded:
		l.Yielded++
		l.Held = t.next.held && !t.next.raisable
	case fcmp.TypeBlocked, fcmp.TypeUnblocked:
		l.Held = e.Type == fcmp.TypeBlocked
		l.Raisable = l.Held && t.next.raisable
	case fcmp.TypeWarning:
		if t.handBack {
			l.Yielded++
		}
	case fcmp.TypeInputRequired:
		if l.Asked = id; id == t.sibling {
			l.Sibling = id
		} else {
			l.Open = id
		}
	}
}

// waitTime is how long questions wait.
const waitTime = time.Hour

// events returns the log as it would be stored.
func (j *judge) events(log []emission) []fcmp.Event {
	w := logWriter{judge: j, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range log {
		t := &log[i]
		if t.due && w.now.Before(w.nextDue()) {
			w.now = w.nextDue()
		}
		if t.claimOver && w.now.Before(w.claimedUntil) {
			w.now = w.claimedUntil
		}
		for _, e := range j.emits(t) {
			w.write(e.Type, e.id, t)
		}
	}
	return w.events
}

// logWriter numbers events and gives them their times, one second apart.
type logWriter struct {
	*judge
	now, deadline time.Time
	// of a question with a wait: when it was asked, and the time of its step until that is executed
	asked, step  time.Time
	claimedUntil time.Time
	local        uint64
	attempt      int
	events       []fcmp.Event
}

func (w *logWriter) write(kind string, id uint8, t *emission) {
	data := w.data(kind, id, t)
	body, err := json.Marshal(data)
	if err != nil {
		// never happens: the payloads are structs of this module
		panic(fmt.Sprintf("explore: %T cannot be encoded: %v", data, err))
	}
	if w.attempt != int(t.next.attempt) {
		w.attempt, w.local = int(t.next.attempt), 0
	}
	protocol := fcmp.ProtocolOf(kind, w.trigger(t.transition))
	if raisesProtocol(data) {
		protocol = fcmp.ProtocolOf(fcmp.TypeRecorded, "") // the version of the members that raise it
	}
	w.local++
	w.events = append(w.events, fcmp.Event{
		ProtocolVersion: protocol, RunID: "run", Seq: uint64(len(w.events) + 1),
		TS: w.now, Engine: "engine",
		Type: kind, Data: body,
		Meta: fcmp.Meta{Attempt: w.attempt, LocalSeq: w.local},
	})
	w.now = w.now.Add(time.Second)
}

// raisesProtocol reports whether a payload has members that the first version of the protocol does
// not have.
func raisesProtocol(data any) bool {
	switch p := data.(type) {
	case fcmp.InputRequired:
		return p.Together != nil || p.Wait != nil || p.Subject != nil
	case fcmp.ReplyAccepted:
		return p.Decision != ""
	}
	return false
}

// data returns the payload of one event.
func (w *logWriter) data(kind string, id uint8, t *emission) any {
	sc := &w.scenario
	switch kind {
	case fcmp.TypeStarted:
		mode := "auto"
		if sc.Interactive {
			mode = "interactive"
		}
		return fcmp.Started{
			Mode: mode, InteractiveRequireUserReply: sc.Strict, SessionTimeoutSec: int(waitTime / time.Second),
			MaxAttempt:       sc.MaxAttempt,
			MaxAutoDecisions: sc.MaxAuto, Pool: "default", ContractVersion: w.rules.l.Version,
		}
	case fcmp.TypeStateChanged:
		return w.change(t)
	case fcmp.TypeReplyAccepted:
		return w.reply(id, t)
	case fcmp.TypeRecorded:
		r := fcmp.Recorded(w.reply(id, t))
		if t.who != 0 {
			r.ResolutionMode = "vote"
		}
		return r
	case fcmp.TypeReminder:
		return fcmp.Reminder{InteractionID: int(id), Step: 1, DueAt: w.carryOutStep()}
	case fcmp.TypeEscalated:
		return fcmp.Escalated{InteractionID: int(id), Step: 1, DueAt: w.carryOutStep()}
	case fcmp.TypeDefaultTaken:
		return fcmp.DefaultTaken{InteractionID: int(id), ResolutionMode: "default_answer", AcceptedAt: w.now,
			TimeoutSec: w.openFor()}
	case fcmp.TypeChanged:
		return w.changedQuestion(id, t)
	case fcmp.TypeNoted:
		return fcmp.Noted{InteractionID: int(id), Note: 1, Text: "?", Actor: userNames[t.who]}
	case fcmp.TypeClosed:
		return fcmp.Closed{InteractionID: int(id), ResolutionMode: "superseded", ClosedAt: w.now}
	case fcmp.TypeAutoDecided:
		return fcmp.AutoDecided{
			InteractionID: int(id), ResolutionMode: "auto_decide_timeout", Policy: "engine_judgement",
			AcceptedAt: w.now, TimeoutSec: w.openFor(),
		}
	case fcmp.TypeInputRequired:
		asked := fcmp.InputRequired{
			InteractionID: int(id), Kind: "open_text", Prompt: "?",
			DefaultDecisionPolicy: "engine_judgement", AskedAt: w.now,
			Profile: w.policy.Profile, OnDeadline: w.policy.OnDeadline,
		}
		if sc.Together > 0 {
			asked.Together = &fcmp.Together{Questions: 2, Answers: sc.Together}
		}
		if sc.Votes {
			asked.Kind, asked.Need, asked.Rejects = "approval", 2, 1
			asked.Subject = &fcmp.Subject{Tool: "pay", Arguments: "{}"}
		}
		w.asked = w.now
		if sc.Then != "" {
			w.askWithWait(&asked)
		} else if t.next.deadline != 0 {
			w.deadline = w.now.Add(waitTime)
			asked.WaitDeadlineAt = w.deadline
		}
		return asked
	case fcmp.TypeYielded:
		y := fcmp.Yielded{Code: "ENGINE_FAILED", Message: "503", Retry: 1, NotBefore: w.now}
		if t.next.held && !t.next.raisable {
			y.Choices = []string{"repeat", "end"}
		}
		return y
	case fcmp.TypeBlocked:
		if t.next.raisable {
			return fcmp.Blocked{Code: "BUDGET_EXHAUSTED", Message: "1 of 1", Choices: []string{"raise", "end"}}
		}
		return fcmp.Blocked{Code: "SESSION_RESUME_FAILED", Message: "gone", Choices: []string{"repeat", "end"}}
	case fcmp.TypeUnblocked:
		if t.raised {
			return fcmp.Unblocked{Cause: "raised"}
		}
		return fcmp.Unblocked{Cause: "resumed"}
	case fcmp.TypeMessageFinal, fcmp.TypeMessageIntermediate:
		return fcmp.MessageFinal{Text: "so it is"}
	}
	if t.handBack {
		return fcmp.Warning{Code: "TURN_HANDED_BACK"}
	}
	return fcmp.Warning{Code: "ENGINE_DIAGNOSTIC"}
}

func (w *logWriter) change(t *emission) fcmp.StateChanged {
	transition := &w.rules.l.Transitions[max(t.transition, 0)]
	c := fcmp.StateChanged{
		From: t.from.String(), To: t.next.state.String(), Trigger: transition.Event, UpdatedAt: w.now,
		PendingInteractionID: int(t.next.pending),
	}
	if w.rules.l.Terminal(transition.To) {
		c.Terminal = &fcmp.Terminal{Status: c.To, Warnings: []string{}}
		code := transition.Error
		if t.code != "" {
			code = t.code
		}
		if code != "" {
			c.Terminal.Error = &fcmp.Failure{Code: code, Message: "because"}
		}
	}
	return c
}
