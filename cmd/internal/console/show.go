package console

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

var showVerb = command.Verb{
	Name: "show", Args: "RUN", Does: "show a run: its state, open questions, answers and result",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON, columns := NewDatabase(f).withDirectory(f), jsonFlag(f), columnsFlag(f)
		limit := f.Int("limit", 100, "at most `n` questions of the history, the newest; 0 for all")
		return func(ctx context.Context, c command.Call) (int, error) {
			args, err := c.Want("RUN")
			if err != nil {
				return command.Misused, err
			}
			p := newPrinter(c.Out, *asJSON)
			p.columns = *columns
			if *limit < 0 {
				return command.Misused, command.Misusef("-limit is %d: want a number from 0", *limit)
			}
			return db.with(ctx, once, func(cl *client) error { return show(ctx, cl, p, args[0], *limit, db.flags()) })
		}
	},
}

type Shown struct {
	web.Run
	History []web.Record `json:"history"`
	Earlier bool         `json:"earlier,omitempty"` // whether there are more questions before these
}

func show(ctx context.Context, cl *client, p *printer, id string, limit int, db string) error {
	run, err := cl.Get(ctx, id)
	if err != nil {
		return err
	}
	history, earlier, err := newest(ctx, cl, id, limit)
	if err != nil {
		return err
	}
	if p.json {
		v := Shown{web.ShowRun(&run, lifecycle.Actor{}, cl.Now()), []web.Record{}, earlier}
		for i := range history {
			v.History = append(v.History, web.ShowRecord(&history[i], lifecycle.Actor{}, cl.Now()))
		}
		p.object(v)
		return p.err
	}
	p.named = cl.named(ctx)
	p.run(&run, db)
	p.memories(&run, cl.Now(), db)
	settled := slices.DeleteFunc(history, func(r lifecycle.Record) bool { return r.Resolution == "" })
	if len(settled) > 0 {
		p.line(terminal.Dim, "history")
	}
	if earlier {
		p.line(terminal.Dim, "  earlier questions: interlude show -limit 0 "+db+" "+id)
	}
	for i := range settled {
		p.record(&settled[i])
	}
	open := run.Open
	for i := range open {
		p.question(&open[i], cl.Now())
	}
	if len(open) > 0 {
		p.line(terminal.Dim, "  answer: interlude reply "+db+" "+id)
	}
	p.result(&run)
	return p.err
}

// newest returns the newest questions of a run in order, and whether there are earlier ones; limit
// 0 means all.
func newest(ctx context.Context, cl *client, id string, limit int) (all []lifecycle.Record, earlier bool, _ error) {
	for q := (lifecycle.HistoryQuery{Newest: true}); ; {
		q.Limit = 1000
		if limit > 0 {
			q.Limit = min(q.Limit, limit-len(all))
		}
		page, err := cl.HistoryPage(ctx, id, q)
		if err != nil {
			return nil, false, err
		}
		all, q.After = append(all, page.Records...), page.Next
		if q.After == "" || len(all) == limit {
			slices.Reverse(all)
			return all, q.After != "", nil
		}
	}
}

// stateStyles highlight states that need attention, or have ended.
var stateStyles = map[lifecycle.State]terminal.Style{
	lifecycle.StateWaitingUser: terminal.Amber, lifecycle.StateSucceeded: terminal.Green,
	lifecycle.StateFailed: terminal.Red, lifecycle.StateCanceled: terminal.Red,
}

func (p *printer) run(r *lifecycle.Run, db string) {
	p.write(p.paint(terminal.Bold, terminal.Name(r.ID)) + "  " + p.paint(stateStyles[r.State], string(r.State)) +
		p.paint(terminal.Dim, "  for "+ago(r.UpdatedAt)))
	facts := []string{"engine " + terminal.Name(r.Engine), "pool " + terminal.Name(r.Pool)}
	if r.Key != "" {
		facts = append(facts, "key "+terminal.Name(r.Key))
	}
	facts = append(facts, fmt.Sprint("turn ", r.Attempt), "submitted "+clock(r.CreatedAt))
	if r.ForkedFrom != nil {
		facts = append(facts, "forked from "+terminal.Name(r.ForkedFrom.RunID))
	}
	if r.Slot {
		facts = append(facts, "node "+terminal.Name(r.Owner))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		facts = append(facts, terminal.Name(name+"="+r.Labels[name]))
	}
	p.text(terminal.Dim, strings.Join(facts, ", "), "  ")
	if r.Title != "" {
		p.text(terminal.Plain, terminal.Line(r.Title), "  ")
	}
	if b := r.Block; b != nil {
		text := "held since " + clock(r.HeldSince())
		if !r.Held() {
			text = string(b.Kind) + " until " + clock(b.Until)
		}
		p.text(terminal.Amber, "! "+strings.TrimSuffix(text+": "+terminal.Line(b.Reason), ": "), "  ")
		if r.Held() {
			p.decisions(r, db)
		}
	}
}

func (p *printer) decisions(r *lifecycle.Run, db string) {
	for _, c := range r.Block.Choices {
		more := ""
		if c == lifecycle.ChoiceRaise {
			more = " -turns N -tokens N"
		}
		p.line(terminal.Dim, fmt.Sprintf("  decide: interlude resume %s -choice %s%s %s", db, c, more,
			terminal.Name(r.ID)))
	}
}

func (p *printer) record(r *lifecycle.Record) {
	p.text(terminal.Plain, fmt.Sprintf("%d  %s", r.Question.ID, terminal.Line(r.Question.Prompt)), "  ")
	answer := terminal.Line(r.Response)
	if len(r.Value) > 0 {
		answer = terminal.Name(interaction.VisibleJSON(r.Value, ""))
	}
	if r.Decision != "" {
		answer = strings.TrimSpace(string(r.Decision) + " " + answer)
	}
	p.text(terminal.Green, "→ "+answer, "     ")
	if s := r.Question.Subject; s != nil && r.Decision == lifecycle.Edit {
		p.write(terminal.Diff(terminal.Value(s.Arguments, "")+"\n", terminal.Value(r.Answer().Arguments, "")+"\n",
			terminal.Layout{Indent: "     ", Styled: p.styled, Columns: p.columns}))
	}
	p.text(terminal.Dim, settlement(r), "     ")
}

// settlement says how, by whom and when a question was settled.
func settlement(r *lifecycle.Record) string {
	text := strings.ReplaceAll(string(r.Resolution), "_", " ")
	if r.Actor != "" {
		text += " of " + terminal.Name(r.Actor)
	}
	if absent := r.For(); absent != "" {
		text += " for " + terminal.Name(absent)
	}
	if r.Via != "" {
		text += " via " + terminal.Name(r.Via)
	}
	return text + ", " + clock(r.ResolvedAt)
}

// question prints an open question, with everything that approval executes.
func (p *printer) question(q *lifecycle.Question, now time.Time) {
	p.markdown(terminal.Bold, q.Prompt, p.paint(terminal.Bold, fmt.Sprintf("? %d  ", q.ID)), "")
	if q.Context != "" {
		p.markdown(terminal.Dim, q.Context, "     ", "     ")
	}
	if s := q.Subject; s != nil {
		p.text(terminal.Plain, terminal.Call(s.Title, s.Tool), "     ")
		if s.Summary != "" {
			p.text(terminal.Bold, terminal.Name(s.Summary), "     ")
		}
		if len(s.Arguments) > 0 {
			p.write("     " + terminal.Value(s.Arguments, "     "))
		}
		if len(s.Changes) > 0 {
			p.write(terminal.Changes(s.Changes, terminal.Layout{Indent: "     ", Styled: p.styled, Columns: p.columns}))
		}
		if s.Risk != "" {
			p.text(terminal.Amber, "risk: "+s.Risk, "     ")
		}
	}
	for _, f := range q.Files.All() {
		text := fmt.Sprintf("file: %s (%s, %s)", terminal.Name(f.Name), f.MediaType, terminal.Many(int(f.Size), "byte"))
		if p.opens {
			text += ": o opens it"
		}
		p.text(terminal.Plain, text, "     ")
	}
	for i, o := range q.Options {
		p.text(terminal.Plain, fmt.Sprintf("%d  %s", i+1, terminal.Option(o.Label, o.Value)), "     ")
	}
	for _, name := range q.RequiredFields {
		p.text(terminal.Plain, terminal.Name(name)+":", "     ")
	}
	if len(q.Schema) > 0 && q.Subject == nil {
		text := "a value that matches " + terminal.Inline(q.Schema)
		if names := fieldNames(q.Schema); p.asks && len(names) > 0 {
			text = "a form: " + strings.Join(names, ", ")
		}
		p.text(terminal.Plain, text, "     ")
	}
	p.text(terminal.Dim, strings.Join(p.about(q, now), ", "), "     ")
	for _, n := range q.Notes.All() {
		author := "the host"
		if n.Actor != "" {
			author = p.person(n.Actor)
		}
		p.text(terminal.Plain, fmt.Sprintf("note by %s, %s: %s", author, clock(n.NotedAt), n.Text), "     ")
	}
}

// kinds are the kinds of questions in words.
var kinds = map[lifecycle.Kind]string{
	lifecycle.Approval: "approval", lifecycle.Confirm: "yes or no", lifecycle.ChooseOne: "choice",
	lifecycle.FillFields: "form", lifecycle.OpenText: "free text", lifecycle.RiskAck: "risk to accept",
}

// timeouts are the ends of a wait in words.
var timeouts = map[lifecycle.Then]string{
	lifecycle.ThenWait: "it is overdue", lifecycle.ThenFail: "the run fails",
	lifecycle.ThenDecide: "the agent decides", lifecycle.ThenDefault: "the default answer counts",
}

// about describes an open question's audience, claim, votes and time. now is the client's time, by
// which claims end.
func (p *printer) about(q *lifecycle.Question, now time.Time) []string {
	facts := []string{kinds[q.Kind], "asked " + clock(q.AskedAt)}
	if q.To != nil {
		facts = append(facts, "for "+terminal.Name(q.To.String()))
	}
	if q.Claim.Lasts(now) {
		facts = append(facts, "claimed by "+p.person(q.Claim.Actor)+" until "+clock(q.Claim.Until))
	}
	if q.DecidedBySeveral() {
		facts = append(facts, fmt.Sprintf("%d of %d approve", q.Count(lifecycle.Approve), max(1, q.Need)))
	}
	if w := q.Wait; w != nil && !q.EndsAt.IsZero() {
		facts = append(facts, fmt.Sprintf("until %s, then %s", clock(q.EndsAt), timeouts[w.Then]))
	}
	return facts
}

func (p *printer) result(r *lifecycle.Run) {
	if r.FinalText != "" {
		p.markdown(terminal.Plain, r.FinalText, "  ", "  ")
	}
	if len(r.Output) > 0 {
		p.line(terminal.Dim, "output")
		p.write("  " + terminal.Value(r.Output, "  "))
	}
	if r.Error != nil { // for a canceled run, the reason
		p.text(terminal.Red, "✗ "+terminal.Name(string(r.Error.Code))+": "+r.Error.Message, "  ")
	}
	for _, w := range r.Warnings {
		p.text(terminal.Amber, "! "+terminal.Name(string(w)), "  ")
	}
}

// indented formats a JSON text for people; any other text stays as it is.
func indented(text json.RawMessage, prefix string) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, prefix, "  ") != nil {
		return text
	}
	return b.Bytes()
}
