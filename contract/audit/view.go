package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// step is one event in the form that the rules read: its envelope, and the members of its data that
// rules need.
type step struct {
	fcmp.Event
	data stepData
	// undecided: a rule cannot be decided on the event.
	undecided bool
	// misplaced: the event was reported as misplaced, so no other event has to follow it.
	misplaced bool
	// afterGap: the event directly before this one is unknown.
	afterGap bool
	// partial: the event's producer may leave optional members out, see unknown.
	partial bool
	// unpaired: a question whose change of state may be in a line that cannot be read or is missing.
	unpaired bool
	// uncounted: the producer leaves numbers of questions out, and has done so before this one.
	uncounted bool
	// logged is the number that the event has in the log.
	logged uint64
	// due has the right values of the numbers that were reported as wrong, by field; dueEngine is
	// the right engine.
	due       map[string]int
	dueEngine string
	// fired counts the executed steps of the open question's wait.
	fired   int
	ballots ballots
	claim   claimed
	// putsToOthers: a change of the question includes a new audience.
	putsToOthers bool
}

// stepData is the union of the payloads: a member means the same in each of them. A missing member
// is nil or has its zero value, which no member in an event has.
type stepData struct {
	Mode                 string         `json:"mode"`
	Strict               *bool          `json:"interactive_require_user_reply"`
	SessionTimeoutSec    int            `json:"session_timeout_sec"`
	MaxAttempt           int            `json:"max_attempt"`
	MaxAutoDecisions     *int           `json:"max_auto_decisions"`
	From                 string         `json:"from"`
	To                   string         `json:"to"`
	Trigger              string         `json:"trigger"`
	UpdatedAt            time.Time      `json:"updated_at"`
	PendingInteractionID int            `json:"pending_interaction_id"`
	Terminal             *fcmp.Terminal `json:"terminal"`
	InteractionID        int            `json:"interaction_id"`
	AcceptedAt           time.Time      `json:"accepted_at"`
	TimeoutSec           int            `json:"timeout_sec"`
	AskedAt              time.Time      `json:"asked_at"`
	Profile              string         `json:"profile"`
	OnDeadline           string         `json:"on_deadline"`
	WaitDeadlineAt       time.Time      `json:"wait_deadline_at"`
	Code                 string         `json:"code"`
	Choices              []string       `json:"choices"`
	Cause                string         `json:"cause"`
	Decision             string         `json:"decision"`
	Together             *fcmp.Together `json:"together"`
	ClosedAt             time.Time      `json:"closed_at"`
	ResolutionMode       string         `json:"resolution_mode"`
	Actor                string         `json:"actor"`
	For                  string         `json:"for"`
	Kind                 string         `json:"kind"`
	Need                 int            `json:"need"`
	Change               string         `json:"change"`
	ClaimedUntil         time.Time      `json:"claimed_until"`
	Rejects              int            `json:"rejects"`
	Wait                 *fcmp.OwnWait  `json:"wait"`
	Step                 int            `json:"step"`
	DueAt                time.Time      `json:"due_at"`
	AsksAgain            int            `json:"asks_again"`
	PolicyUntil          time.Time      `json:"policy_until"`
	Subject              *subject       `json:"subject"`
	Remember             *remember      `json:"remember"`
}

// newStep requires a verified event, whose data has the types that are read here.
func newStep(e fcmp.Event) *step {
	s := &step{Event: e, logged: e.Seq}
	if e.Type != fcmp.TypeMessageFinal && e.Type != fcmp.TypeMessageIntermediate {
		_ = json.Unmarshal(e.Data, &s.data)
	}
	if e.Type == fcmp.TypeChanged {
		var c fcmp.Changed
		_ = json.Unmarshal(e.Data, &c)
		s.putsToOthers = c.To != nil
	}
	s.Data = nil
	return s
}

// skip reports that the event has too little data for the rule.
func (s *step) skip() string {
	s.undecided = true
	return ""
}

// follows reports whether the number is the previous event's plus more. If the previous one was
// reported as wrong, the correct one counts too.
func (s *step) follows(head *step, field string, more int) bool {
	if s.number(field) == head.number(field)+more {
		return true
	}
	due, reported := head.due[field]
	return reported && s.number(field) == due+more
}

// should notes the right value of a wrong number.
func (s *step) should(field string, due int) {
	if s.due == nil {
		s.due = map[string]int{}
	}
	s.due[field] = due
}

func encoded(e fcmp.Event) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fcmp.ErrEvent, err)
	}
	return body, nil
}

// unknownAttempt is the attempt of an event that does not name one.
const unknownAttempt = -1

// view has the data needed to judge a run's next event. Its size does not grow with the log.
type view struct {
	l    *contract.Lifecycle
	line int // the line of the run's last event

	// gap: the event before the next one is unknown: the log begins in mid-run, or events are
	// missing.
	gap bool
	// partial: some of the run's events are missing, so counts over the whole run are unknown.
	partial  bool
	repeated uint64 // the number of the last repeated event; 0 if the event before was not one
	pastEnd  bool   // events after the run's end were already reported

	state          string  // "" if unknown
	started        *step   // conversation.started
	head           *step   // the event before, of any type
	prev           *step   // the event before of a type in the contract
	prevNonWarning *step   // like prev, but without warnings
	changed        *step   // the last change of state
	unpaired       int     // the question that was reported as separate from its change of state
	last           []*step // the last event of each type
	turn           int     // the attempt of the last turn that started, 0 if unknown
	open           []*step // user.input.required of the open questions, the lowest first
	openUnknown    bool    // it is unknown whether a question is open, and which
	profile        string
	asked          int // the last question's number
	askedUnknown   bool
	autoDecisions  int
	yielded        int  // number of turns that were delayed or handed back, or that repeated questions
	held           bool // the run is held
	holdUnknown    bool
	choicesUnknown bool
	choices        []string // of the hold

	group group // the questions that were asked last

	memories        []memory // valid remembered decisions
	memoriesUnknown bool
}

// newView is the view of a run without events.
func newView(l *contract.Lifecycle) *view {
	return &view{l: l, state: l.Submission.To}
}

// markUnknown marks as unknown what missing events may have changed: everything but the submission.
func (v *view) markUnknown() {
	*v = view{
		l: v.l, line: v.line, started: v.started, head: v.head,
		gap: true, partial: true, openUnknown: true, askedUnknown: true, holdUnknown: true, memoriesUnknown: true,
	}
}

// pass records the event, without its content, as the run's last one.
func (v *view) pass(s *step) {
	v.head, v.repeated = s, 0
}

func (v *view) advance(s *step) {
	s.afterGap = v.gap
	prev := v.prev
	v.noteQuestion(s)
	if s.Type != fcmp.TypeInputRequired && s.Type != fcmp.TypeWarning { // a warning there was reported
		v.group.toShow = 0
	}
	v.pass(s)
	v.prev, v.gap = s, false
	v.noteLast(s)
	if s.Type != fcmp.TypeWarning {
		v.prevNonWarning = s
	}
	switch s.Type {
	case fcmp.TypeStarted:
		if v.started == nil {
			v.started = s
		}
	case fcmp.TypeInputRequired:
		v.noteAsked(prev, s)
		v.openUnknown = s.misplaced
		v.asked, v.askedUnknown, v.profile = s.data.InteractionID, s.misplaced, s.data.Profile
	case fcmp.TypeBlocked, fcmp.TypeUnblocked, fcmp.TypeYielded:
		v.held = s.Type == fcmp.TypeBlocked || len(s.data.Choices) > 0
		v.choices = s.data.Choices
		v.choicesUnknown = s.unknown("choices")
		v.holdUnknown = s.Type == fcmp.TypeYielded && v.choicesUnknown
	case fcmp.TypeWarning:
		if s.data.Code == handedBack {
			v.yielded++
		}
	case fcmp.TypeReplyAccepted, fcmp.TypeRecorded, fcmp.TypeAutoDecided, fcmp.TypeClosed, fcmp.TypeDefaultTaken:
		if s.autoDecides() {
			v.autoDecisions++
		}
		if s.votes() {
			v.noteVote(s)
			break
		}
		v.noteMemory(s)
		v.noteSettled(s)
	case fcmp.TypeForgotten:
		v.forget(func(m *memory) bool { return m.id == s.data.InteractionID })
	case fcmp.TypeReminder, fcmp.TypeEscalated, fcmp.TypeChanged:
		v.noteOwnWait(s)
	case fcmp.TypeStateChanged:
		v.noteGoesOn(prev, s)
		v.state, v.changed, v.pastEnd = s.data.To, s, false
		if s.data.To == "running" {
			v.held, v.holdUnknown = false, false
		}
		if s.data.To != "waiting_user" {
			v.open, v.openUnknown = nil, false
		}
		switch s.data.Trigger {
		case "turn.started":
			v.turn = max(s.Meta.Attempt, 0)
		case fcmp.TypeAutoDecided:
			v.autoDecisions++
		case fcmp.TypeYielded:
			v.yielded++
		case "turn.needs_input":
			if v.mustAskAgain() {
				v.yielded++
			}
		}
	}
}

// noteLast records the last event of each type. A vote settles nothing, so settling events are not
// compared with it.
func (v *view) noteLast(s *step) {
	switch i := slices.IndexFunc(v.last, func(last *step) bool { return last.Type == s.Type }); {
	case s.votes():
	case i >= 0:
		v.last[i] = s
	default:
		v.last = append(v.last, s)
	}
}

// handedBack is the warning of a turn whose engine was not called. It counts as no attempt.
const handedBack = "TURN_HANDED_BACK"

// waits reports whether the event begins a wait.
func (s *step) waits() bool {
	return s != nil && s.Type == fcmp.TypeStateChanged && s.data.To == "waiting_user"
}

// noteQuestion notes that the question of a wait is missing. So that this is reported once, it
// counts as asked.
func (v *view) noteQuestion(s *step) {
	if v.prev.waits() && s.Type != fcmp.TypeInputRequired {
		v.openUnknown, v.open = true, nil
		v.asked = max(v.asked, v.prev.data.PendingInteractionID)
	}
}

// autoDecisionLeft reports whether the run may still make an automatic decision; ok is false if
// that is unknown.
func (v *view) autoDecisionLeft() (left, ok bool) {
	if v.started == nil || v.started.data.MaxAutoDecisions == nil || v.partial {
		return false, false
	}
	return v.autoDecisions < *v.started.data.MaxAutoDecisions, true
}

// facts returns the facts that the log decides, as true or false. A fact that is not a key is
// unknown.
func (v *view) facts() contract.Facts {
	known := contract.Facts{}
	if left, ok := v.autoDecisionLeft(); ok {
		known["auto_decision_left"] = left
	}
	if v.started != nil && v.started.data.Mode != "" {
		known["interactive"] = v.started.data.Mode == "interactive"
	}
	if !v.group.own {
		v.addPolicyWait(known)
	}
	if !v.openUnknown {
		known["own_wait"] = v.group.own
	}
	if !v.holdUnknown {
		known["held"] = v.held
	}
	if v.profile != "" {
		known["sticky"] = v.profile == "sticky_process"
	}
	return known
}

// addPolicyWait adds the end of a question without a wait, if all rows of the waiting policy that
// fit the log agree on it.
func (v *view) addPolicyWait(known contract.Facts) {
	if v.started == nil || v.started.data.Strict == nil {
		return
	}
	strict := *v.started.data.Strict
	known["strict"] = strict // a guard of earlier contracts
	rows, fail, decide := 0, 0, 0
	for _, w := range v.l.Waiting {
		if w.Strict != strict || v.profile != "" && v.profile != w.Profile {
			continue
		}
		rows++
		switch w.OnDeadline {
		case "fail":
			fail++
		case "auto_decide":
			decide++
		}
	}
	if fail == 0 || fail == rows {
		known["wait_fails"] = fail > 0
	}
	if decide == 0 || decide == rows {
		known["wait_decides"] = decide > 0
	}
}

// contradicts reports whether the known facts rule the guard out.
func contradicts(known contract.Facts, g contract.Guard) bool {
	for _, name := range g.All {
		if holds, ok := known[name]; ok && !holds {
			return true
		}
	}
	for _, name := range g.None {
		if known[name] {
			return true
		}
	}
	return false
}

// candidates returns the transitions that a change of state may have been.
func (v *view) candidates(s *step) []contract.Transition {
	var out []contract.Transition
	known := v.facts()
	if v.prev != nil && v.prev.misplaced && v.prev.Type == s.data.Trigger {
		known = nil // the event before was reported as not allowed, so its facts prove nothing
	}
	for _, t := range v.l.Transitions {
		if t.From == s.data.From && t.Event == s.data.Trigger && t.To == s.data.To && t.From != t.To &&
			!contradicts(known, t.Guard) {
			out = append(out, t)
		}
	}
	return out
}
