package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file has the waits of questions (K7): how the model remembers them, and which steps, ends
// and moves of an end it expects.

// wait is the wait of an open question.
type wait struct {
	id         int
	fired      int
	asked, end int64    // microseconds; no end: 0
	then       string   // what happens at the end
	steps      []string // "remind:- 1s"; the audience of an escalation follows the colon
	text       string   // as it was asked: see TextOf
}

// TextOf describes a wait, so that equal texts mean equal waits.
func TextOf(w *interaction.Wait) string {
	if w == nil {
		return ""
	}
	text := fmt.Sprintf("%s %s", cmp.Or(w.Then, interaction.ThenWait), w.End)
	for i := range w.Steps {
		text += fmt.Sprintf(" %s:%s %s", w.Steps[i].Do, TextOfAudience(w.Steps[i].To), w.Steps[i].After)
	}
	return text
}

// newWait returns the wait of that text for a question that is asked now.
func newWait(id int, text string, asked int64) wait {
	fields := strings.Fields(text)
	w := wait{id: id, asked: asked, then: fields[0], text: text}
	if end := length(fields[1]); end > 0 {
		w.end = asked + end
	}
	for fields = fields[2:]; len(fields) > 0; fields = fields[2:] {
		w.steps = append(w.steps, fields[0]+" "+fields[1])
	}
	return w
}

// length is a duration in microseconds.
func length(text string) int64 {
	d, _ := time.ParseDuration(text) // TextOf wrote it
	return d.Microseconds()
}

// due is when something is next done about the question, 0 for never, and whether that is a step.
func (w *wait) due() (at int64, step bool) {
	switch {
	case w.fired < len(w.steps):
		return w.asked + length(strings.Fields(w.steps[w.fired])[1]), true
	case w.then == string(interaction.ThenWait):
		return 0, false
	}
	return w.end, false
}

// escalates reports whether the step of that number puts the question to others, and to whom.
func (w *wait) escalates(step int) (to string, is bool) {
	return strings.CutPrefix(strings.Fields(w.steps[step])[0], "escalate:")
}

// ownWaits reads the waits of the open questions.
func (now run) ownWaits() (all []wait) {
	for line := range strings.Lines(now.waits) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), fieldSeparator)
		w := wait{then: f[4], text: f[6]}
		w.id, _ = strconv.Atoi(f[0]) // keepWaits wrote numbers
		w.fired, _ = strconv.Atoi(f[1])
		w.asked, _ = strconv.ParseInt(f[2], 10, 64)
		w.end, _ = strconv.ParseInt(f[3], 10, 64)
		if f[5] != "" {
			w.steps = strings.Split(f[5], ";")
		}
		all = append(all, w)
	}
	return all
}

// keepWaits remembers the waits of the open questions. The deadline is the earliest due time.
func (now run) keepWaits(all []wait) run {
	if now.waits == "" && len(all) == 0 {
		return now
	}
	now.waits, now.Waits, now.Deadline = "", "", 0
	for i := range all {
		w := &all[i]
		now.waits += strings.Join([]string{strconv.Itoa(w.id), strconv.Itoa(w.fired), strconv.FormatInt(w.asked, 10),
			strconv.FormatInt(w.end, 10), w.then, strings.Join(w.steps, ";"), w.text}, fieldSeparator) + "\n"
		now.Waits += seenWait(w.id, w.fired, w.end)
		if at, _ := w.due(); at != 0 && (now.Deadline == 0 || at < now.Deadline) {
			now.Deadline = at
		}
	}
	return now
}

// textOfWait returns the open question's wait as asked; empty if it has none.
func (now run) textOfWait(question int) string {
	for _, w := range now.ownWaits() {
		if w.id == question {
			return w.text
		}
	}
	return ""
}

// seenWait is a record's view of a wait.
func seenWait(id, fired int, end int64) string {
	return fmt.Sprintf("%d: %d steps, end %d; ", id, fired, end)
}

// waitsOf is a record's view of its questions' waits.
func waitsOf(r *store.Run) (text string) {
	for _, q := range r.Open {
		if q.Wait != nil {
			text += seenWait(q.ID, int(q.Fired), micros(q.EndsAt))
		}
	}
	return text
}

// next returns the question with the earliest due time, or nil.
func next(all []wait) (first *wait, step bool) {
	earliest := int64(0)
	for i := range all {
		if at, is := all[i].due(); at != 0 && (first == nil || at < earliest) {
			first, earliest, step = &all[i], at, is
		}
	}
	return first, step
}

// dropWait forgets the wait of a question that is settled.
func (now run) dropWait(id int) run {
	return now.keepWaits(slices.DeleteFunc(now.ownWaits(), func(w wait) bool { return w.id == id }))
}

// startWaits gives the open questions the waits with which they were asked. If only some have a
// wait, the others follow the run's policy.
func (m *Model) startWaits(now run, c *Change) (next run, wrong string) {
	open := c.After.Open
	texts, own := make([]string, len(open)), false
	for i := range open {
		if texts[i] = TextOf(open[i].Wait); c.Evidence != nil && i < len(c.Evidence.Waits) {
			texts[i] = c.Evidence.Waits[i]
		}
		own = own || texts[i] != ""
	}
	if !own {
		return now, ""
	}
	rule, _ := m.law.Wait(now.Profile, now.terms.Strict)
	all := make([]wait, len(open))
	for i := range open {
		text := texts[i]
		if text == "" && rule.OnDeadline == string(interaction.ThenWait) {
			text = TextOf(&interaction.Wait{})
		} else if text == "" {
			text = fmt.Sprintf("%s %s", rule.OnDeadline, now.terms.SessionTimeout)
		}
		if is := TextOf(open[i].Wait); is != text {
			return now, fmt.Sprintf("question %d waits as %q, and was asked to wait as %q", open[i].ID, is, text)
		}
		all[i] = newWait(open[i].ID, text, c.After.UpdatedAt.UnixMicro())
	}
	return now.keepWaits(all), ""
}

// carryOut is a step of a question's wait, or the end of a single question among several, executed
// by a node.
func (now run) carryOut(c *Change) (after run, wrong string) {
	all := now.ownWaits()
	first, step := next(all)
	switch {
	case first == nil || step != (c.Event == "interaction.step"):
		return now, "nothing is due, or something else"
	case step:
		if to, escalates := first.escalates(first.fired); escalates {
			now = now.put(first.id, putTo(to, now.to(first.id)))
			now.Claims = without(now.Claims, first.id)
		}
		first.fired++
		return now.keepWaits(all).shown(first.id), ""
	case c.Settles != first.id:
		return now, fmt.Sprintf("question %d is settled, and question %d is due", c.Settles, first.id)
	case first.then == string(interaction.ThenDefault):
		return now.settle(settled{id: first.id, resolution: byDefault}), ""
	case first.then == string(interaction.ThenDecide) && now.AutoDecisions < now.terms.MaxAutoDecisions:
		now.AutoDecisions++
		return now.settle(settled{id: first.id, resolution: autoDecide}), ""
	}
	return now, "the wait of question " + strconv.Itoa(first.id) + " does not end so"
}

// ends reports whether the end of a wait fails the run, and whether the engine decides. The wait
// is the question's, or else the wait of the run's policy.
func (m *Model) ends(now run) (fails, decides bool) {
	rule, _ := m.law.Wait(now.Profile, now.terms.Strict)
	then := rule.OnDeadline
	if first, step := next(now.ownWaits()); now.waits != "" {
		if then = ""; first != nil && !step {
			then = first.then
		}
	}
	return then == string(interaction.ThenFail), then == string(interaction.ThenDecide)
}

// Until is when an Extend moves the end to.
type Until struct {
	Question int
	At       int64 // microseconds
}

// extend is a person who moves the end of a question.
func (m *Model) extend(now run, until Until) (run, Output) {
	all := now.ownWaits()
	i := slices.IndexFunc(all, func(w wait) bool { return w.id == until.Question })
	verdict := m.law.Next(now.State, "interaction.changed", contract.Facts{
		"pending_matches": slices.Contains(now.open(), until.Question)})
	switch {
	case verdict.Transition == nil:
		return now, now.notOpen(until.Question)
	case i < 0 || all[i].end == 0, until.At <= all[i].end:
		return now, Output{Err: NotLater}
	}
	all[i].end = until.At
	return now.keepWaits(all).shown(until.Question).enter(verdict.Transition, now.Owner), Output{}
}

// mayLose reports whether an Extend may report that the end has been moved since it was read: it
// reads the run itself, and then again.
func (now run) mayLose(in Input) bool {
	return slices.ContainsFunc(now.ownWaits(), func(w wait) bool { return w.id == in.Until.Question && w.end != 0 })
}
