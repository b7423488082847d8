package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

func (c *conversation) opening(j *job, begun bool) {
	if c.screen.events != nil {
		return
	}
	c.screen.line(bold, fmt.Sprintf("%s · %s · run %s", j.spec.Labels["skill"], j.name, c.run.ID))
	c.screen.line(dim, "stored in "+near(j.dir))
	if begun {
		return
	}
	switch c.run.State {
	case lifecycle.StateWaitingUser:
		c.screen.line(green, "↻ continues: it has been waiting for "+terminal.Span(time.Since(c.run.Open[0].AskedAt)))
	case lifecycle.StateQueued, lifecycle.StateRunning:
		c.screen.line(green, fmt.Sprintf("↻ continues: it was interrupted in turn %d", c.run.Attempt))
	default:
	}
	for flag, differs := range map[string]bool{
		"mode": j.spec.Mode != c.run.Mode, "timeout": j.spec.SessionTimeout != c.run.SessionTimeout,
		"auto-decide": j.spec.AutoDecide == c.run.Strict,
	} {
		if j.given[flag] && differs {
			c.screen.line(amber, "! -"+flag+" applies only to a new run: this one continues as it began (-new starts "+
				"another)")
		}
	}
}

// show shows an event. Events from before the program's start only count for the times.
func (c *conversation) show(e lifecycle.Event) error {
	if err := c.screen.event(e); err != nil {
		return err
	}
	fresh := e.Seq > c.past
	switch e.Type {
	case lifecycle.TypeStateChanged:
		return read(e, func(s lifecycle.StateChanged) { c.changed(e, s, fresh) })
	case lifecycle.TypeInputRequired:
		return read(e, func(q lifecycle.InputRequired) { c.ask(q, fresh) })
	case lifecycle.TypeReplyAccepted:
		return read(e, func(r lifecycle.ReplyAccepted) { c.settled(r.AcceptedAt, "✓ answered after ", green, fresh) })
	case lifecycle.TypeAutoDecided:
		return read(e, func(a lifecycle.AutoDecided) {
			c.settled(a.AcceptedAt, "! the agent decides: no reply in ", amber, fresh)
		})
	case lifecycle.TypeMessageIntermediate, lifecycle.TypeMessageFinal:
		return read(e, func(m lifecycle.MessageFinal) { c.message(handedOver.ReplaceAllString(m.Text, ""), fresh) })
	case lifecycle.TypeWarning:
		return read(e, func(w lifecycle.Warning) { c.warn(w, fresh) })
	}
	return nil
}

func read[T any](e lifecycle.Event, use func(T)) error {
	var data T
	err := e.Decode(&data)
	if err == nil {
		use(data)
	}
	return err
}

// handedOver finds an output in a text; the output is shown at the end of the run.
var handedOver = regexp.MustCompile("(?s)```json\n.*?```")

// warn shows a warning once, even if every turn repeats it.
func (c *conversation) warn(w lifecycle.Warning, fresh bool) {
	if w.Code == string(lifecycle.WarnTurnRepeated) || c.warned[w] {
		return // the state says so, too
	}
	if fresh {
		c.warned[w] = true
	}
	c.say(amber, "! "+terminal.Name(w.Code)+": "+w.Detail, fresh)
}

func (c *conversation) message(text string, fresh bool) {
	if fresh && c.screen.events == nil && strings.TrimSpace(text) != "" {
		c.screen.markdown(plain, brief(text), "  ")
	}
}

func (c *conversation) say(style terminal.Style, text string, fresh bool) {
	if fresh && c.screen.events == nil && strings.TrimSpace(text) != "" {
		c.screen.text(style, brief(text))
	}
}

func (c *conversation) note(style terminal.Style, text string, fresh bool) {
	if fresh && c.screen.events == nil {
		c.screen.line(style, text)
	}
}

func (c *conversation) changed(e lifecycle.Event, s lifecycle.StateChanged, fresh bool) {
	if lifecycle.State(s.From) == lifecycle.StateRunning && c.turn > 0 {
		if lifecycle.Trigger(s.Trigger) != lifecycle.TriggerRestartRequeue { // the time of its interruption is unknown
			c.work += e.TS.Sub(c.turnBegan)
		}
		c.turn = 0
	}
	if lifecycle.State(s.To) != lifecycle.StateWaitingUser {
		c.open = nil
	}
	switch lifecycle.Trigger(s.Trigger) {
	case lifecycle.TriggerTurnStarted:
		c.turn, c.turnBegan, c.here = e.Meta.Attempt, e.TS, fresh
		c.note(bold, fmt.Sprintf("▸ turn %d", c.turn), fresh)
	case lifecycle.TriggerRestartPreserveWaiting:
		c.note(green, "↻ its host died; the question is still open", fresh)
	case lifecycle.TriggerRestartRequeue:
		c.note(green, "↻ the turn was interrupted and is repeated", fresh)
	case lifecycle.TriggerTurnYielded:
		c.note(amber, "↻ the turn is delayed and continues later", fresh)
	case lifecycle.TriggerInteractionProcessLost:
		c.note(amber, "! the agent's process ended while it was waiting", fresh)
	default:
	}
}

func (c *conversation) settled(at time.Time, text string, style terminal.Style, fresh bool) {
	if c.open != nil && fresh && c.screen.events == nil { // not by this terminal
		c.screen.line(plain, "")
	}
	c.open = nil
	c.waits += at.Sub(c.asked)
	c.note(style, text+terminal.Span(at.Sub(c.asked)), fresh)
}

// ask asks the person a question, unless it is already settled.
func (c *conversation) ask(q lifecycle.InputRequired, fresh bool) {
	c.asked = q.AskedAt
	if !fresh && (len(c.run.Open) == 0 || c.run.Open[0].ID != q.InteractionID) {
		return
	}
	c.open = &q
	c.screen.markdown(bold, q.Prompt, "? ")
	if q.Context != "" {
		c.screen.markdown(dim, brief(q.Context), "  ")
	}
	if s := q.Subject; s != nil { // complete, because approval executes it
		c.screen.text(plain, terminal.Call(s.Title, s.Tool))
		c.screen.line(plain, "  "+terminal.Value([]byte(s.Arguments), "  "))
		if s.Risk != "" {
			c.screen.text(plain, s.Risk)
		}
	}
	for i, o := range q.Options {
		c.screen.line(plain, fmt.Sprintf("  %d  %s", i+1, terminal.Option(o.Label, o.Value)))
	}
	c.screen.line(dim, "  "+hint(q))
	if c.death.when == killParked {
		c.kill("while the run is parked")
	}
	c.screen.prompt()
	c.unanswered()
}

func hint(q lifecycle.InputRequired) string {
	text := "in your own words"
	switch {
	case q.Kind == "risk_ack":
		text = "yes accepts the risk, no does not"
	case q.Kind == "confirm":
		text = "yes or no"
	case q.Subject != nil && q.Subject.Risk != "":
		text = "yes or other arguments as JSON accept the risk; no, or an answer"
	case q.Subject != nil:
		text = "yes, no, other arguments as JSON, or a text"
	case q.Schema != "":
		text = "JSON that matches " + terminal.Inline([]byte(q.Schema))
	case len(q.RequiredFields) > 0:
		text = "please include " + terminal.Names(q.RequiredFields)
	}
	switch {
	case len(q.Options) > 0 && q.Only:
		text = "one of the numbers"
	case len(q.Options) > 0:
		text = "a number, or " + strings.TrimPrefix(text, "in ")
	}
	if !q.WaitDeadlineAt.IsZero() {
		then := map[string]string{string(lifecycle.DeadlineAutoDecide): "then the agent decides",
			string(lifecycle.DeadlineFail): "then the run fails"}[q.OnDeadline]
		if then != "" {
			text += "; until " + q.WaitDeadlineAt.Local().Format("15:04:05") + ", " + then
		}
	}
	if q.Profile == string(lifecycle.ProfileStickyProcess) {
		text += "; Ctrl-C ends the run"
	}
	return text
}

// brief shortens a long text. The events and the transcript have all of it.
func brief(text string) string {
	const most = 12
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("… %d more lines", len(lines)-most))
	}
	for i, line := range lines {
		if r := []rune(line); len(r) > 500 {
			lines[i] = string(r[:500]) + " …"
		}
	}
	return strings.Join(lines, "\n")
}
