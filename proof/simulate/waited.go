package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// This file has the judge of waits (K7). It follows the log of a run, and computes from the plan
// the next due action for each open question, without the library.

// asked is an open question, as the plan and the log so far say.
type asked struct {
	number         int
	wait           *interaction.Wait // nil: as the policy of the run says
	askedAt, endAt time.Time
	fired          int
	put            []handing // whom it was put to since it was asked, in order
}

// due is when something is to be done about the question next; zero if nothing is.
func (q *asked) due() time.Time {
	switch {
	case q.wait == nil:
		return time.Time{}
	case q.fired < len(q.wait.Steps):
		return q.askedAt.Add(q.wait.Steps[q.fired].After)
	case q.wait.Then == interaction.ThenWait:
		return time.Time{}
	}
	return q.endAt
}

// admits reports whether the person may answer after it was put to others so often.
func (q *asked) admits(name string, groups []string, put int) bool {
	admitted := true
	for _, h := range q.put[:put] {
		member := func(group string) bool { return slices.Contains(groups, group) }
		now := slices.Contains(h.to.Users, name) || slices.ContainsFunc(h.to.Groups, member)
		admitted = now || h.join && admitted
	}
	return admitted
}

// waits follows the questions of a run through its log.
type waits struct {
	*ending
	open   []*asked // by their numbers
	all    map[int]*asked
	moved  int            // how many ends were moved
	handed map[string]int // how often questions were put to others, by handOf
	last   time.Time      // the last event about an open question
}

// waited explains which step or end of a question was left out, came twice, too early or in another
// order, who answered though others were asked, and which question time has settled otherwise than
// its wait says.
func (e *ending) waited(*ending) string {
	x := &waits{ending: e, all: make(map[int]*asked), handed: make(map[string]int)}
	for i := range e.log {
		if why := x.follow(&e.log[i]); why != "" {
			return fmt.Sprintf("event %d, %s: %s", i+1, e.log[i].Type, why)
		}
	}
	if why := x.stillOpen(); why != "" {
		return why
	}
	if why := x.handedAsReported(); why != "" {
		return why
	}
	told := extensions{}
	for _, p := range e.people {
		told.moved += p.extended.moved
		told.unclear += p.extended.unclear
		for number := range p.notAsked {
			if why := x.refused(p, number); why != "" {
				return why
			}
		}
	}
	if x.moved < told.moved || x.moved > told.moved+told.unclear {
		return fmt.Sprintf("people were told that they moved %d ends, and not of the outcome of %d, and %d were moved",
			told.moved, told.unclear, x.moved)
	}
	for i := range e.settled {
		if why := x.settledAsMeant(&e.settled[i]); why != "" {
			return fmt.Sprintf("question %d: %s", e.settled[i].Question.ID, why)
		}
	}
	return ""
}

// stillOpen compares the open questions with the log.
func (x *waits) stillOpen() string {
	open := x.run.Open
	if len(open) != len(x.open) {
		return fmt.Sprintf("%d questions are open, and the log leaves %d", len(open), len(x.open))
	}
	for i, q := range x.open {
		if open[i].ID != q.number || int(open[i].Fired) != q.fired || !open[i].EndsAt.Equal(q.endAt) {
			return fmt.Sprintf("question %d has had %d steps and ends at %s, and the log says %d and %s", open[i].ID,
				open[i].Fired, open[i].EndsAt, q.fired, q.endAt)
		}
		if !q.due().IsZero() {
			return fmt.Sprintf("question %d is open, and what was due at %s was never done", q.number, q.due())
		}
	}
	return ""
}

// refused explains why the person's reassignment must not have been refused as outdated.
func (x *waits) refused(p *person, number int) string {
	q := x.all[number]
	for put := range len(q.put) + 1 {
		if !q.admits(p.view.name, p.run.groups(p.view.name), put) {
			return ""
		}
	}
	return fmt.Sprintf("%s was told that others are asked question %d", p.view.name, number)
}

// groups returns a respondent's groups.
func (p *runPlan) groups(name string) []string {
	for _, r := range p.repliers {
		if r.name == name {
			return r.groups
		}
	}
	return nil
}

// follow reads the next event, and explains why it must not be there.
func (x *waits) follow(event *fcmp.Event) string {
	switch event.Type {
	case fcmp.TypeInputRequired:
		return x.ask(event)
	case fcmp.TypeStateChanged:
		return x.change(event)
	case fcmp.TypeReminder, fcmp.TypeEscalated, fcmp.TypeChanged, fcmp.TypeReplyAccepted, fcmp.TypeRecorded,
		fcmp.TypeAutoDecided, fcmp.TypeDefaultTaken:
	default:
		return ""
	}
	var data struct {
		Number int            `json:"interaction_id"`
		Step   int            `json:"step"`
		DueAt  time.Time      `json:"due_at"`
		Mode   string         `json:"resolution_mode"`
		Actor  string         `json:"actor"`
		For    string         `json:"for"`
		EndAt  time.Time      `json:"wait_deadline_at"`
		Change string         `json:"change"`
		To     *fcmp.Audience `json:"to"`
	}
	if err := event.Decode(&data); err != nil {
		return err.Error()
	}
	i := slices.IndexFunc(x.open, func(q *asked) bool { return q.number == data.Number })
	if i < 0 {
		return fmt.Sprintf("question %d is not open", data.Number)
	}
	q := x.open[i]
	if why := x.late(event); why != "" {
		return why
	}
	x.last = event.TS
	switch event.Type {
	case fcmp.TypeReminder:
		return x.step(event, q, interaction.Remind, data.Step, data.DueAt)
	case fcmp.TypeEscalated:
		return x.step(event, q, interaction.Escalate, data.Step, data.DueAt)
	case fcmp.TypeChanged:
		switch data.Change {
		case "extend":
			return x.extend(event, q, data.EndAt)
		case "reassign":
			return x.putTo(q, data.To, data.Actor)
		}
		return "" // a claim, which changes nothing about the wait
	}
	if data.Mode == "vote" { // the question stays open
		return x.admitted(q, data.Actor, data.For, event.TS)
	}
	x.open = slices.Delete(x.open, i, i+1)
	return x.settle(event, q, interaction.Resolution(data.Mode), data.Actor, data.For)
}

// late reports an action that was due before the event. Only a world without a fault always has a
// node for it. A concurrent change of the run comes first, and the action follows a poll later.
func (x *waits) late(event *fcmp.Event) string {
	if !x.world.plan.calm {
		return ""
	}
	for _, q := range x.open {
		at := q.due()
		if latest := x.world.plan.poll + 2*time.Second; !at.IsZero() && at.Add(latest).Before(event.TS) &&
			x.last.Add(latest).Before(event.TS) {
			return fmt.Sprintf("it comes at %s, and what was due for question %d at %s is not done", event.TS, q.number,
				at)
		}
	}
	return ""
}

// ask opens a question.
func (x *waits) ask(event *fcmp.Event) string {
	var data fcmp.InputRequired
	if err := event.Decode(&data); err != nil {
		return err.Error()
	}
	q := &asked{number: data.InteractionID, wait: x.plan.wait(data.InteractionID), askedAt: data.AskedAt}
	x.open, x.all[q.number] = append(x.open, q), q
	if (q.wait == nil) != (data.Wait == nil) {
		return fmt.Sprintf("question %d has the wait %+v, and the plan says %+v", q.number, data.Wait, q.wait)
	}
	if q.wait == nil {
		return ""
	}
	if q.wait.End > 0 {
		q.endAt = q.askedAt.Add(q.wait.End)
	}
	if !data.WaitDeadlineAt.Equal(q.endAt) || len(data.Wait.Steps) != len(q.wait.Steps) {
		return fmt.Sprintf("question %d ends at %s after %d steps, and the plan says %s and %d", q.number,
			data.WaitDeadlineAt, len(data.Wait.Steps), q.endAt, len(q.wait.Steps))
	}
	x.world.saw("a question had a wait of its own")
	return ""
}

// next explains why it is not this question about which something is to be done next, or not yet.
func (x *waits) next(event *fcmp.Event, q *asked) string {
	at := q.due()
	if at.IsZero() || event.TS.Before(at) {
		return fmt.Sprintf("it comes at %s, and question %d is due at %s", event.TS, q.number, at)
	}
	for _, o := range x.open {
		if due := o.due(); !due.IsZero() && (due.Before(at) || due.Equal(at) && o.number < q.number) {
			return fmt.Sprintf("question %d is due at %s, and question %d at %s", q.number, at, o.number, due)
		}
	}
	return ""
}

// step carries out a step.
func (x *waits) step(event *fcmp.Event, q *asked, do interaction.StepAction, step int, due time.Time) string {
	switch {
	case q.wait == nil || q.fired >= len(q.wait.Steps):
		return fmt.Sprintf("question %d has no further step", q.number)
	case step != q.fired+1 || do != q.wait.Steps[q.fired].Do || !due.Equal(q.due()):
		return fmt.Sprintf("it is step %d, of %s, and the next of question %d is %d, %s, of %s", step, due, q.number,
			q.fired+1, q.wait.Steps[q.fired].Do, q.due())
	}
	why := x.next(event, q)
	if s := &q.wait.Steps[q.fired]; s.Do == interaction.Escalate {
		q.put = append(q.put, handing{s.To, s.Join})
	}
	q.fired++
	x.world.saw("a step was carried out: " + string(do))
	if next := q.due(); !next.IsZero() && !next.After(event.TS) {
		x.world.saw("two steps of a question were overdue at once")
	}
	return why
}

// extend moves the end of a question.
func (x *waits) extend(event *fcmp.Event, q *asked, until time.Time) string {
	if q.endAt.IsZero() || !until.After(q.endAt) || !until.After(event.TS) {
		return fmt.Sprintf("the end of question %d moves from %s to %s", q.number, q.endAt, until)
	}
	x.moved++
	q.endAt = until
	return ""
}

// settle explains why the question must not be settled so.
func (x *waits) settle(event *fcmp.Event, q *asked, by interaction.Resolution, actor, absent string) string {
	then := map[interaction.Resolution]interaction.Then{
		interaction.DefaultAnswer: interaction.ThenDefault, interaction.AutoDecideTimeout: interaction.ThenDecide,
	}[by]
	switch {
	case byItself(actor): // which needs no audience
		return ""
	case by == interaction.UserReply:
		return x.admitted(q, actor, absent, event.TS)
	case then == "" || q.wait == nil:
		return ""
	case q.wait.Then != then || q.fired < len(q.wait.Steps):
		return fmt.Sprintf("it settles question %d after %d of %d steps, whose wait says %q", q.number, q.fired,
			len(q.wait.Steps), q.wait.Then)
	}
	x.world.saw("a wait ended: " + string(then))
	x.open = append(x.open, q) // only for next
	why := x.next(event, q)
	x.open = x.open[:len(x.open)-1]
	return why
}

// change closes a run's remaining questions when it continues or ends.
func (x *waits) change(event *fcmp.Event) string {
	var data fcmp.StateChanged
	if err := event.Decode(&data); err != nil {
		return err.Error()
	}
	if data.From != string(fsm.StateWaitingUser) {
		return ""
	}
	left := x.open
	x.open = nil
	if data.Trigger != string(fsm.EventInteractionWaitTimeout) || len(left) == 0 || left[0].wait == nil {
		return ""
	}
	x.open = left
	defer func() { x.open = nil }()
	for _, q := range left {
		if x.next(event, q) != "" {
			continue
		}
		then := interaction.ThenFail
		if data.Terminal.Error.Code == string(fsm.CodeInteractiveAutoDecisionLimitExceeded) {
			then = interaction.ThenDecide
		}
		if q.fired < len(q.wait.Steps) || q.wait.Then != then {
			return fmt.Sprintf("it fails with %s after %d of %d steps of question %d, whose wait says %q",
				data.Terminal.Error.Code, q.fired, len(q.wait.Steps), q.number, q.wait.Then)
		}
		x.world.saw("a wait ended the run: " + string(then))
		return ""
	}
	return fmt.Sprintf("it fails at %s, and nothing is due", event.TS)
}

// settledAsMeant returns the fault of a question's record that time has settled: its answer is
// never empty, and never a person's.
func (x *waits) settledAsMeant(r *interaction.Record) string {
	q := x.all[r.Question.ID]
	switch r.Resolution {
	case interaction.AutoDecideTimeout:
		if r.Response == "" || r.Actor != "" || r.Key != "" {
			return fmt.Sprintf("it was decided automatically with %q by %q", r.Response, r.Actor)
		}
	case interaction.DefaultAnswer:
		d := q.wait.Default
		if d == nil || r.Response != d.Text || r.Decision != d.Decision || r.Actor != "" || r.Key != "" {
			return fmt.Sprintf("its default answer is %q (%s) by %q, and the plan has %+v", r.Response, r.Decision,
				r.Actor, d)
		}
	}
	for _, p := range x.plan.repliers {
		actor := interaction.Actor{ID: p.name, Groups: p.groups}
		if is, want := r.Question.To.Admits(actor), q.admits(p.name, p.groups, len(q.put)) &&
			p.name != x.plan.spec.Submitter; is != want {
			return fmt.Sprintf("that %s could answer it at the end is %t, after it was put to %d others", p.name, is,
				len(q.put))
		}
	}
	return ""
}
