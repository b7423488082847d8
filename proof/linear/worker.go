package linear

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// claim starts the run's next turn on a node.
func (m *Model) claim(now run, in Input) (run, Output) {
	facts := now.facts()
	facts["slot_held"] = true
	verdict := m.law.Next(now.State, "turn.started", facts)
	switch {
	case now.left(in.Node):
		return now, Output{Err: Stale}
	case verdict.Transition == nil:
		return now, against("%s: nothing can be started", verdict.Code)
	case now.Slot && now.Owner != in.Node:
		return now, against("the process is held by %s", now.Owner)
	}
	next := now.enter(verdict.Transition, in.Node)
	next.Epoch++
	if wrong := differs(next.View, ViewOf(in.After)); wrong != "" {
		return now, against("%s", wrong)
	}
	return next, Output{}
}

// write is one commit of a node: its fence and version are checked, and then the contract decides
// what its event makes of the run.
func (m *Model) write(now run, c *Change) (run, Output) {
	switch f := c.Fence; {
	case f != nil && (now.Owner != f.Node || now.Epoch != f.Epoch || now.left(f.Node)):
		return now, Output{Err: Stale}
	case now.Version != c.Expect:
		return now, Output{Err: Conflict}
	}
	if now.missesDeparture(c) {
		return now, Output{Err: Conflict}
	}
	next, wrong := now.countUsage(c)
	if wrong == "" {
		next, wrong = m.fire(next, c)
	}
	if wrong == "" {
		wrong = differs(next.View, ViewOf(&c.After))
	}
	if wrong != "" {
		return now, against("%s", wrong)
	}
	return next, Output{}
}

// fire returns the run after the event of a commit.
func (m *Model) fire(now run, c *Change) (next run, wrong string) {
	if c.Event == "" {
		return m.report(now, c)
	}
	if c.Ruled != nil {
		return m.ruled(now, c)
	}
	asksAgain := now.State == "running" && now.asksNow()
	switch {
	case asksAgain && (c.Began || c.Evidence != nil):
		return now, "the agent is called, and the fork asks again first"
	case asksAgain && c.Event == "turn.needs_input":
		again := *c
		again.Evidence = askingAgain(now.begins)
		c = &again
	}
	then := now
	if c.Evidence != nil {
		then.Profile = c.Evidence.Profile
		then.Session = now.Session || c.Evidence.Handle
	} else if now.State == "running" { // a turn's end without known evidence
		then.Profile, then.Session = string(c.After.Profile), c.After.Session != nil
	}
	facts := then.facts()
	facts["pending_matches"] = now.Pending != 0 && (c.Settles == now.Pending || len(c.After.Open) > 0 &&
		c.After.Open[0].ID == now.Pending)
	facts["own_wait"] = now.waits != ""
	facts["wait_fails"], facts["wait_decides"] = m.ends(now)
	facts["rule_met"] = c.Event != "interaction.recorded"
	facts["deadline_passed"] = now.Deadline != 0 && now.Deadline <= c.After.UpdatedAt.UnixMicro()
	facts["worker_gone"] = now.left(now.Owner) || c.Fence != nil
	facts["context_lost"] = now.left(now.Owner)
	facts["passing"] = c.Event == "turn.yielded" && now.mayBeHeld(c)
	handedBack := now.handsBack(c)
	if handedBack {
		facts["repeatable"], facts["attempts_exhausted"] = true, false
	}
	code := ""
	if c.Evidence != nil && now.State == "running" && isTurnEnd(c.Event) {
		var rule contract.GateRule
		if rule, wrong = m.decide(then, c); wrong != "" {
			return now, wrong
		}
		if code = rule.Error; !c.Evidence.Facts["process_ok"] {
			code = c.Evidence.Code
		}
	}
	verdict := m.law.Next(now.State, c.Event, facts)
	t := verdict.Transition
	if t == nil {
		return now, fmt.Sprintf("%s in %s: %s by %s", c.Event, now.State, verdict.Code, verdict.Rule)
	}
	if c.Evidence == nil && isTurnEnd(c.Event) && c.After.Error != nil {
		code = string(c.After.Error.Code)
	}
	next, wrong = m.follow(then, t, c, code)
	asked := asksAgain && t.Event == "turn.needs_input"
	if (handedBack || asked || t.Event == "turn.yielded") && now.terms.MaxAttempts > 0 {
		next.yielded++
	}
	return next, wrong
}

// mayBeHeld reports whether a turn's end may hold the run: its worker is lost and a person must be
// asked, or it has failed for a reason that an operator can repair.
func (now run) mayBeHeld(c *Change) bool {
	if c.Evidence == nil {
		return now.terms.Ask
	}
	repairable := []fsm.Code{fsm.CodeSessionResumeFailed, fsm.CodeWorkspaceMissing, fsm.CodeEngineUnavailable}
	return now.terms.Hold && slices.Contains(repairable, fsm.Code(c.Evidence.Code))
}

// handsBack reports whether the commit returns a turn to the queue whose engine was not called. It
// does not count towards the limit of attempts.
func (now run) handsBack(c *Change) bool {
	return c.Event == "restart.requeue" && slices.Contains(c.After.Warnings, fsm.WarnTurnHandedBack) &&
		(now.terms.MaxAttempts == 0 || c.After.Yielded == now.yielded+1)
}

// follow applies the implications of a node's transition.
func (m *Model) follow(now run, t *contract.Transition, c *Change, code string) (next run, wrong string) {
	node := c.After.Owner // a node that recovers a waiting run owns it from then on
	if c.Fence != nil {
		node = c.Fence.Node
	}
	next = now
	switch {
	case t.Event == "interaction.step", t.Event == "interaction.recorded", now.waits != "" && c.Settles != 0 &&
		t.To == "queued":
		if next, wrong = now.carryOut(c); wrong != "" {
			return now, wrong
		}
		if t.To == "queued" && now.Asked == 0 {
			next.Answer = answer(now.Pending, next.resolution(now.Pending), "")
		}
	case t.Event == "interaction.auto_decide.timeout":
		next = now.settleAll(autoDecide)
		if now.Asked == 0 {
			next.Answer = answer(now.Pending, autoDecide, "")
		}
		next.AutoDecisions++
	case t.Event == "interaction.reply.accepted": // only in histories of a store, where nodes reply
		if len(c.After.Answers) == 0 {
			return now, "an accepted reply leaves no answer"
		}
		next = now.settle(settled{id: now.Pending, resolution: userReply})
		next.Answer = answer(now.Pending, userReply, c.After.Answers[0].Text)
	case now.Pending != 0 && t.To != "waiting_user":
		next = now.settleAll(abandoned)
	}
	next = next.enter(t, node)
	if t.Event == "turn.needs_input" {
		if next, wrong = next.ask(c); wrong != "" {
			return now, wrong
		}
		rule, ok := m.law.Wait(next.Profile, next.terms.Strict)
		if !ok {
			return now, "no waiting policy for " + next.Profile
		}
		if rule.OnDeadline != "keep_waiting" {
			next.Deadline = c.After.UpdatedAt.Add(next.terms.SessionTimeout).UnixMicro()
		}
		if next, wrong = m.startWaits(next, c); wrong != "" {
			return now, wrong
		}
	}
	if m.law.Terminal(t.To) && t.Error != "" {
		next.Code = t.Error
		if slices.Contains(t.Also, code) {
			next.Code = code
		}
	}
	switch t.Event {
	case "turn.yielded":
		if c.After.Block == nil || c.After.Block.Kind != store.BlockHeld {
			return now, "the run is not held"
		}
		next.Held = string(c.After.Block.Code)
	case "run.blocked":
		next.Held = string(fsm.CodeSessionResumeFailed)
	case "run.unblocked":
		next.Held = ""
	case "restart.preserve_waiting":
		next.Recovery = "recovered_waiting"
	case "restart.reconcile_failed":
		if c.Fence == nil {
			next.Recovery = "failed_reconciled"
		}
	}
	return next.holdSpent().addEvents(t, c)
}

// ask opens the questions of a turn: as many as its agent has asked, under its rule, if that is
// known.
func (now run) ask(c *Change) (next run, wrong string) {
	next = now
	next.Answer, next.Asked, next.Needs, next.Replies, next.Stops, next.Inherits = "", 0, 0, 0, false, false
	asked := 1
	if t := c.After.Together; t != nil {
		asked = t.Asked
		next.Asked, next.Needs, next.Stops = asked, t.Rule.Needs(asked), t.Rule.StopOnReject
	}
	if e := c.Evidence; e != nil && max(e.Asked, 1) != asked {
		return now, fmt.Sprintf("%d questions are open, and %d were asked", asked, e.Asked)
	} else if e != nil && e.Asked > 1 && (e.Needs != next.Needs || e.Stops != next.Stops) {
		return now, fmt.Sprintf("the rule needs %d answers, and the agent asked for %d", next.Needs, e.Needs)
	}
	var siblings []string
	for i := range asked - 1 {
		siblings = append(siblings, strconv.Itoa(next.Interactions+2+i))
	}
	next.Pending, next.Siblings = next.Interactions+1, strings.Join(siblings, " ")
	next.Interactions += asked
	return next.startPolicies(c)
}

// addEvents counts the events of a transition. Some events may occur any number of times.
func (now run) addEvents(t *contract.Transition, c *Change) (next run, wrong string) {
	most := now.Seq
	for _, e := range t.Emits {
		switch e.Count {
		case "optional":
			most++
		case "many", "some":
			most += 1000
		}
	}
	if c.After.Seq < now.Seq || c.After.Seq > most {
		return now, fmt.Sprintf("events end at %d, want %d to %d", c.After.Seq, now.Seq, most)
	}
	now.Seq = c.After.Seq
	return now, ""
}

// report is a commit of a running turn that does not change the state.
func (m *Model) report(now run, c *Change) (next run, wrong string) {
	if now.State != "running" || c.Fence == nil {
		return now, "a report of a run that is " + now.State
	}
	next = now
	next.Version++
	next.Session = now.Session || c.After.Session != nil
	if c.After.Seq < now.Seq {
		return now, fmt.Sprintf("events end at %d, want %d or more", c.After.Seq, now.Seq)
	}
	next.Seq = c.After.Seq
	return next, ""
}

// decide applies the contract's gate to the evidence. Its result must be the node's.
func (m *Model) decide(now run, c *Change) (rule contract.GateRule, wrong string) {
	facts := now.facts()
	maps.Copy(facts, c.Evidence.Facts)
	rule, ok := m.law.Decide(facts)
	if !ok || rule.Outcome != c.Event {
		return rule, fmt.Sprintf("the gate says %s by %s, and not %s", rule.Outcome, rule.ID, c.Event)
	}
	return rule, ""
}

// facts returns the facts that follow from the run itself.
func (now run) facts() contract.Facts {
	t := &now.terms
	return contract.Facts{
		"slot_held": now.Slot, "interactive": t.Interactive, "sticky": now.Profile == "sticky_process",
		"handle_present":     now.hasSession(),
		"auto_decision_left": now.AutoDecisions < t.MaxAutoDecisions,
		"repeatable":         t.Repeatable,
		"attempts_exhausted": t.MaxAttempts > 0 && now.Attempt-now.yielded >= t.MaxAttempts,
		"held":               now.Held != "", "rule_met": true, "budget_spent": now.spent(),
	}
}

func isTurnEnd(event string) bool {
	return event == "turn.needs_input" || event == "turn.succeeded" || event == "turn.failed"
}
