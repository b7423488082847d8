package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// This file has hosts with a policy (N9), in two versions during a rolling deploy, and a clerk who
// lists the inbox. Its judge compares each commit of a policy with the plan of the host's version.

// rulesPlan is the policy of a world's hosts. The zero value means that no host has one.
type rulesPlan struct {
	seed  uint64
	hides time.Duration // how long approvals are hidden
	// Of each host: processes that start later have the policy, and its second version.
	introduced, deployed []time.Duration
	clerk                bool // a person lists the inbox
}

// planRules gives the hosts of some worlds a policy, and the runs of these worlds more approvals. Like
// planHolds, it has a separate generator.
func (p *plan) planRules() {
	r := rand.New(rand.NewPCG(uint64(p.lease)<<20|uint64(p.poll), uint64(p.peace)))
	if r.IntN(8) > 0 {
		return
	}
	p.rules = rulesPlan{seed: r.Uint64(), hides: seconds(r, 5, 10), clerk: r.IntN(2) == 0}
	for range p.skews {
		var from [2]time.Duration
		for i := range from {
			if r.IntN(3) == 0 {
				from[i] = seconds(r, 1, 30)
			}
		}
		p.rules.introduced = append(p.rules.introduced, from[0])
		p.rules.deployed = append(p.rules.deployed, from[0]+from[1])
	}
	for _, run := range p.runs {
		run.moreApprovals(r)
	}
}

// moreApprovals lets more turns ask several questions, approvals among them.
func (p *runPlan) moreApprovals(r *rand.Rand) {
	for i := range p.turns {
		if t := &p.turns[i]; t.asks && t.several.approvals == nil && r.IntN(2) == 0 {
			t.several = newSeveral(r)
		}
	}
}

// version is the version of the policy in a process of the host that starts now. 0: it has none.
func (p *rulesPlan) version(host int, now time.Duration) int {
	switch {
	case p.hides == 0 || now < p.introduced[host]:
		return 0
	case now < p.deployed[host]:
		return 1
	}
	return 2
}

// deploys stops a process that has an outdated version of the policy, and reports whether there is one.
func (w *world) deploys(now time.Duration) bool {
	if w.plan.rules.hides == 0 || w.plan.calm || w.calmed {
		return false
	}
	for i, h := range w.hosts {
		p := h.process()
		if p == nil || p == h.ending || p.view.rules == w.plan.rules.version(i, now) || !p.view.awake(epoch.Add(now)) {
			continue
		}
		w.note(h.name, "is stopped for a deploy")
		h.stop()
		return true
	}
	return false
}

// rulingPlan is the plan of one version of the policy for one approval.
type rulingPlan struct {
	ruling interaction.Ruling
	takes  time.Duration
	limit  int // how many calls of a run the rule decides; 0: any number
	fault  policyFault
}

type policyFault int

const (
	noPolicyFault policyFault = iota
	policyPanics
	policyExits
	policyErrs
	policyHangs // and ignores its context
	policyIsInvalid
)

// limited is the rule that decides a limited number of calls.
const limited = "few"

// ruling is the version's ruling on the question with that number.
func (p *rulesPlan) ruling(run *runPlan, number, version int) (said rulingPlan) {
	r := rand.New(rand.NewPCG(p.seed+uint64(len(run.spec.ID)), uint64(run.submitAt)+uint64(number*10+version)))
	if r.IntN(2) == 0 {
		said.takes = millis(r, 100, 12_000)
	}
	if r.IntN(5) == 0 {
		said.fault = policyFault(1 + r.IntN(int(policyIsInvalid)))
	}
	rule := interaction.Ruling{Rule: fmt.Sprintf("rule%d", 1+r.IntN(3)), Version: fmt.Sprint(version)}
	switch r.IntN(7) {
	case 0, 1:
		rule.Decision = interaction.Approve
	case 2:
		rule.Decision, rule.Reason = interaction.Reject, fmt.Sprintf("not %d", number)
	case 3:
		rule.Decision, rule.Rule, said.limit = interaction.Approve, limited, 1
	case 4:
		rule.To = newAudience(r, run)
	case 5:
		if n := run.need(number); n.several() {
			rule.Need = n.approve + 1
			break
		}
		fallthrough
	default:
		rule = interaction.Ruling{}
	}
	said.ruling = rule
	return said
}

// policy is the policy of the process's host.
func (p *process) policy(ctx context.Context, proposal interaction.Proposal) (interaction.Ruling, error) {
	v, w := p.view, p.view.world
	var arguments struct {
		Number int `json:"number"`
	}
	if err := json.Unmarshal(proposal.Question.Subject.Arguments, &arguments); err != nil {
		return interaction.Ruling{}, err
	}
	said := w.plan.rules.ruling(w.runPlan(proposal.RunID), arguments.Number, v.rules)
	what := fmt.Sprintf("%s %d by version %d", proposal.RunID, proposal.Question.ID, v.rules)
	if err := v.ask(ctx, &request{kind: "Policy", what: what, apply: func() {}}); err != nil {
		return interaction.Ruling{}, err
	}
	if said.takes > 0 && !v.rest(ctx.Done(), said.takes) {
		w.saw("a policy took too long")
		return interaction.Ruling{}, ctx.Err()
	}
	switch said.fault {
	case policyPanics:
		panic("the policy fails")
	case policyExits:
		runtime.Goexit()
	case policyErrs:
		return interaction.Ruling{}, errors.New("the policy fails")
	case policyHangs:
		v.rest(w.ending, 2*w.plan.rules.hides)
	case policyIsInvalid:
		return interaction.Ruling{Decision: interaction.Approve}, nil
	case noPolicyFault:
	}
	if said.limit > 0 {
		n, err := proposal.Rulings(ctx, said.ruling.Rule)
		if err != nil || n >= said.limit {
			return interaction.Ruling{}, err
		}
	}
	return said.ruling, nil
}

// hidden describes a question that was asked hidden, as far as the witness knows it.
type hidden struct {
	asker   *view
	version int
	at      time.Time
	by      string // the rule that has decided it
	need    int    // how many people a rule wants to approve; 0: as asked
}

// questionOf names a question.
type questionOf struct {
	run    string
	number int
}

// ruled compares a commit with the plan of its writer's policy. prev is the previous record.
func (x *witness) ruled(v *view, prev *store.Run, c *store.Commit) {
	w := x.world
	if prev == nil {
		prev = &store.Run{}
	}
	for i := range c.Run.Open {
		q := &c.Run.Open[i]
		if prev.OpenQuestion(q.ID) != nil {
			continue
		}
		want := time.Duration(0)
		if v.rules > 0 && q.Kind == interaction.Approval {
			want = w.plan.rules.hides
		} else if v.recalls && x.covered(c.Run.ID, q) {
			want = 5 * time.Second
		}
		if want > 0 {
			x.hidden[questionOf{c.Run.ID, q.ID}] = &hidden{asker: v, version: v.rules, at: q.AskedAt}
		}
		if got := time.Duration(q.HiddenFor) * time.Second; got != want {
			w.fault(fmt.Sprintf("run %s: question %d is hidden for %s, and the policy of %s says %s", c.Run.ID, q.ID,
				got, v.name, want))
		}
	}
	for i := range c.Settled {
		r := &c.Settled[i]
		if interaction.MemoryOf(r.Actor) > 0 {
			x.recalled(v, prev, c.Run.ID, r, c.Run.UpdatedAt)
		}
		if interaction.IsPolicy(r.Actor) {
			x.ruledBy(v, prev, c.Run.ID, r.Question.ID, r.Actor, &interaction.Ruling{Decision: r.Decision,
				Reason: r.Response})
		}
	}
	for i := range c.Events {
		if !bytes.Contains(c.Events[i].Body, []byte(`"`+interaction.PolicyActor)) {
			continue
		}
		var changed fcmp.Changed
		e, err := fcmp.Decode(c.Events[i].Body)
		if err != nil || e.Type != fcmp.TypeChanged || e.Decode(&changed) != nil {
			continue
		}
		said := &interaction.Ruling{Need: changed.Need}
		if changed.Change == "reassign" {
			said.To = &interaction.Audience{Users: changed.To.Users, Groups: changed.To.Groups}
		}
		x.ruledBy(v, prev, c.Run.ID, changed.InteractionID, changed.Actor, said)
	}
	x.remembers(c)
}

// ruledBy explains which ruling is not as the plan says.
func (x *witness) ruledBy(v *view, prev *store.Run, run string, number int, actor string, got *interaction.Ruling) {
	w := x.world
	wrong := func(why string) {
		w.fault(fmt.Sprintf("run %s: %s has decided question %d as %s: %s", run, v.name, number, actor, why))
	}
	q, asked := prev.OpenQuestion(number), x.hidden[questionOf{run, number}]
	switch {
	case v.rules == 0 && v.recalls && actor == interaction.PolicyActor+"default":
		w.saw("no remembered decision covered a hidden approval any more")
		return
	case v.rules == 0:
		wrong("it has no policy")
		return
	case q == nil || asked == nil:
		wrong("the question is not open, or was never hidden")
		return
	}
	if asked.asker != v {
		w.saw("a rule of another process decided")
	}
	said := w.plan.rules.ruling(w.runPlan(run), number, v.rules)
	if actor == interaction.PolicyActor+"default" {
		switch {
		case said.fault != noPolicyFault || said.takes >= w.plan.rules.hides:
			w.saw("a policy failed, and people decide")
		case said.ruling.Decision != "" && said.limit == 0 && w.plan.calm: // else its store may have failed
			wrong("it leaves to people what its rule decides")
		case said.limit > 0:
			w.saw("a rule had decided often enough")
		default:
			w.saw("a rule left an approval to people")
		}
		return
	}
	want := said.ruling
	need := max(want.Need, int(q.Need), 1)
	switch by := want.Actor(); {
	case said.fault != noPolicyFault:
		wrong("the policy has failed")
	case actor != by.ID || got.Decision != want.Decision || got.Reason != want.Reason:
		wrong(fmt.Sprintf("it says %+v, and its rule says %+v", *got, want))
	case (got.To == nil) != (want.To == nil) || got.To != nil && !got.To.Equal(want.To):
		wrong(fmt.Sprintf("it asks %+v, and its rule asks %+v", got.To, want.To))
	case got.Decision == "" && got.Need != need:
		wrong(fmt.Sprintf("%d people must approve, and its rule says %d", got.Need, need))
	}
	switch {
	case want.Decision != "":
		asked.by = actor
		rule := ruleOf{run, want.Rule}
		if x.rulings[rule]++; said.limit > 0 && x.rulings[rule] > said.limit {
			wrong(fmt.Sprintf("it is decision %d of a rule that makes %d", x.rulings[rule], said.limit))
		}
		w.saw(fmt.Sprintf("a rule decided: %s, version %d", want.Decision, v.rules))
		if v.rules != asked.version {
			w.saw("a rule decided in another version than its asker's")
		}
	case want.To != nil:
		w.saw("a rule asked other people")
	default:
		w.saw("a rule asked more people")
		asked.need = want.Need
	}
}

// ruleOf names a rule, in any version, in a run.
type ruleOf struct{ run, rule string }

// ruledOnce reports an approval that the policy changed twice, or after a person or a step did, and in a
// calm world one that it should have decided.
func (e *ending) ruledOnce(*ending) string {
	changed := make(map[int]string) // by question: who changed it
	for i := range e.log {
		event := &e.log[i]
		switch event.Type {
		case fcmp.TypeReminder, fcmp.TypeEscalated, fcmp.TypeChanged, fcmp.TypeReplyAccepted, fcmp.TypeRecorded,
			fcmp.TypeAutoDecided, fcmp.TypeDefaultTaken:
		default:
			continue
		}
		var data struct {
			Number int    `json:"interaction_id"`
			Actor  string `json:"actor"`
		}
		if err := event.Decode(&data); err != nil {
			return err.Error()
		}
		before, known := changed[data.Number]
		asked, policy := e.hidden(data.Number), byItself(data.Actor)
		changed[data.Number] = data.Actor
		switch {
		case policy && known:
			return fmt.Sprintf("the policy has decided question %d as %s, and %q has acted on it before", data.Number,
				data.Actor, before)
		case known || asked == nil || policy:
			continue
		}
		e.world.saw("a hidden approval was changed before the policy decided")
		if asked.version == 0 {
			continue
		}
		if said := e.world.plan.rules.ruling(e.plan, data.Number, asked.version); e.world.plan.calm &&
			said.fault != policyHangs && event.TS.After(asked.at.Add(said.takes+beat+3*time.Second)) &&
			said.takes+beat+3*time.Second < e.world.plan.rules.hides {
			return fmt.Sprintf("question %d was asked at %s, and its policy has not decided at %s", data.Number,
				asked.at, event.TS)
		}
	}
	for i := range e.settled {
		r := &e.settled[i]
		by := ""
		if asked := e.hidden(r.Question.ID); asked != nil {
			by = asked.by
		}
		logged := changed[r.Question.ID]
		if byItself(r.Actor) && r.Actor != by || by != "" && (r.Actor != by || logged != by) {
			return fmt.Sprintf("question %d is settled by %q, in its event by %q, and was by %q", r.Question.ID,
				r.Actor, logged, by)
		}
	}
	return ""
}

// hidden describes the question if it was asked hidden; otherwise nil.
func (e *ending) hidden(number int) *hidden {
	return e.world.witness.hidden[questionOf{e.run.ID, number}]
}

// needOf is how many people decide the question, as its plan and a rule say.
func (e *ending) needOf(number int) need {
	n := e.plan.need(number)
	if asked := e.hidden(number); asked != nil {
		n.approve = max(n.approve, asked.need)
	}
	return n
}

// clerks lists the inbox, and reports hidden questions in it.
func (p *person) clerks(ctx context.Context) {
	for range 15 {
		if !p.pause(3 * time.Second) {
			return
		}
		page, err := p.Inbox(ctx, lifecycle.InboxQuery{})
		if err != nil && !unclear(err) {
			p.world.fault(fmt.Sprintf("%s lists the inbox: %v", p.view.name, err))
		}
		for i := range page.Questions {
			if q := &page.Questions[i].Question; q.Hidden(clock{p.view}.Now()) {
				p.world.fault(fmt.Sprintf("the inbox shows question %d, which is hidden until %s", q.ID,
					q.HiddenUntil()))
			}
		}
	}
}

// listed compares a list of visible questions with the records.
func (x *witness) listed(q *store.WaitingQuery, page *store.Page) {
	if q.VisibleAt.IsZero() || q.For != nil || page.Next != "" || q.After != "" {
		return
	}
	for id, run := range x.runs {
		visible := false
		for i := range run.Open {
			asked, hides := run.Open[i].AskedAt, time.Duration(run.Open[i].HiddenFor)*time.Second
			shown := hides == 0 || !q.VisibleAt.Before(asked.Add(hides))
			visible = visible || shown
			if shown && hides > 0 {
				x.world.saw("people saw an approval that no policy had decided in time")
			}
		}
		is := slices.ContainsFunc(page.Runs, func(r store.Run) bool { return r.ID == id })
		if is != visible {
			x.world.fault(fmt.Sprintf("run %s: that it has a visible question is %t, and that it is listed is %t", id,
				visible, is))
		}
	}
}
