package stories

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

var queryCommands = map[string]command{
	"events": {doc: "the log of a run. raw: as stored; page: the number of events per read", words: []string{"RUN"},
		named: []string{"after", "limit", "page"}, flags: []string{"raw"}, do: showEvents},
	"history": {doc: "the questions of a run and their resolutions", words: []string{"RUN"}, do: showHistory},
	"view":    {doc: "a run's current state", words: []string{"RUN"}, do: showRun},
	"prompt": {doc: "the last prompt of a run's agent", words: []string{"RUN"}, do: func(w *world, a *args) (string,
		error) {
		w.agents.mu.Lock()
		defer w.agents.mu.Unlock()
		var text strings.Builder
		for line := range strings.Lines(w.agents.prompts[a.words["RUN"]]) {
			text.WriteString("| " + strings.TrimRight(line, " \n") + "\n")
		}
		return text.String(), nil
	}},
	"inherited": {doc: "the questions that a fork inherited, and their resolutions",
		words: []string{"RUN"}, do: showInherited},
	"inbox": {doc: "open questions, oldest first. for, groups: the person who may answer; after: the run " +
		"after which to start", named: []string{"for", "groups", "kind", "due-before", "label", "limit", "after"},
		flags: []string{"count"}, do: showInbox},
	"runs": {doc: "runs, in the order of their creation. held: only held runs",
		named: []string{"state", "label", "forked-from", "limit", "after"}, flags: []string{"newest", "held"},
		do: showRuns},
	"pools": {doc: "pools and their used slots", do: func(w *world, _ *args) (string, error) {
		pools, err := w.base.Pools(w.ctx)
		text := ""
		for _, p := range pools {
			text += fmt.Sprintf("%s capacity=%d key_capacity=%d held=%d\n", p.Name, p.Capacity, p.KeyCapacity, p.Held)
		}
		return text, err
	}},
	"nodes": {doc: "nodes and their leases", do: func(w *world, _ *args) (string, error) {
		nodes, err := w.base.Nodes(w.ctx)
		names := make(map[string]string)
		for _, n := range w.shared.withLeases(nodes) {
			names[w.shared.nodeName(n.ID)] = fmt.Sprintf("%s lease ends at %s\n", w.shared.nodeName(n.ID),
				w.formatTime(n.Until))
		}
		text := ""
		for _, name := range w.order {
			text += names[name]
		}
		if text == "" {
			text = "no node\n"
		}
		return text, err
	}},
	"stats": {doc: "counts for operators", do: showStats},
	"await": {doc: "waits for a run's end", words: []string{"READER", "RUN"}, do: await},
	"follow": {doc: "follows a run's events. slowly: one at a time", words: []string{"READER",
		"RUN"}, named: []string{"after"}, flags: []string{"slowly"}, do: follow},
	"feed": {doc: "a process reads a feed: the events of all runs, of the types, or about questions for a person " +
		"with groups, separated by commas",
		words: []string{"READER", "FEED"}, named: []string{"types", "for", "groups"}, do: readFeed},
	"leave": {doc: "ends a reader's process. killed: without a shutdown", words: []string{"READER"},
		flags: []string{"killed"}, do: leaveFeed},
	"feeds": {doc: "the feeds and their numbers of unacknowledged commits", do: showFeeds},
	"read":  {doc: "lets a slow reader read all events", words: []string{"READER"}, do: readMore},
}

func showEvents(w *world, a *args) (string, error) {
	all, err := w.events(a.words["RUN"], uint64(a.number("after")), cmp.Or(a.number("page"), store.MaxBatch))
	if errors.Is(err, store.ErrNotFound) {
		return formatError(err), nil
	}
	if err != nil {
		return "", err
	}
	text := ""
	if n := a.number("limit"); n > 0 {
		all = all[:min(n, len(all))]
	}
	for _, e := range all {
		line, err := w.formatEvent(e)
		if err != nil {
			return "", err
		}
		if a.flags["raw"] {
			line = "  " + string(e.Body)
		}
		text += line + "\n"
	}
	return text, nil
}

func showHistory(w *world, a *args) (string, error) {
	all, err := w.client("").History(w.ctx, a.words["RUN"])
	return w.formatHistory(all, err), nil
}

func showInherited(w *world, a *args) (string, error) {
	all, err := w.client("").Inherited(w.ctx, a.words["RUN"])
	return w.formatHistory(all, err), nil
}

func (w *world) formatHistory(all []lifecycle.Record, err error) string {
	if err != nil {
		return formatError(err)
	}
	text := ""
	for _, r := range all {
		q := r.Question
		text += fmt.Sprintf("%d attempt=%d %s %q asked=%s", q.ID, q.Attempt, q.Kind, q.Prompt, w.formatTime(q.AskedAt))
		if r.Resolution == "" {
			text += " open" + formatVotes(q.Votes) + w.formatClaim(q.Claim) + formatNotes(q.Notes) + "\n"
			continue
		}
		text += fmt.Sprintf(" %s resolved=%s", r.Resolution, w.formatTime(r.ResolvedAt))
		for _, field := range [][2]string{{"response", r.Response}, {"decision", string(r.Decision)},
			{"value", string(r.Value)}, {"actor", r.Actor}, {"for", r.For()}, {"key", r.Key},
			{"reason", r.AutoDecideReason}} {
			if field[1] != "" {
				text += fmt.Sprintf(" %s=%q", field[0], field[1])
			}
		}
		text += formatVotes(q.Votes) + w.formatClaim(q.Claim) + formatNotes(q.Notes)
		text += "\n"
	}
	if text == "" {
		text = "no question\n"
	}
	return text
}

// showRun shows of a record what a host would show.
func showRun(w *world, a *args) (string, error) {
	r, err := w.client("").Get(w.ctx, a.words["RUN"])
	if err != nil {
		return formatError(err), nil
	}
	text := w.formatRun(&r) + "\n"
	add := func(is bool, format string, args ...any) {
		if is {
			text += "  " + fmt.Sprintf(format, args...) + "\n"
		}
	}
	add(true, "mode=%s strict=%t profile=%q pool=%s priority=%d", r.Mode, r.Strict, r.Profile, r.Pool, r.Priority)
	add(true, "created=%s updated=%s queued=%s version=%d epoch=%d seq=%d", w.formatTime(r.CreatedAt),
		w.formatTime(r.UpdatedAt),
		w.formatTime(r.QueuedAt), r.Version, r.Epoch, r.Seq)
	if f := r.ForkedFrom; f != nil {
		add(f.Question > 0, "forked from %s at question %d", f.RunID, f.Question)
		add(f.Question == 0, "forked from %s at its end", f.RunID)
	}
	add(r.Repeats > 0, "repeats=%d not_before=%s", r.Repeats, w.formatTime(r.NotBefore))
	add(r.Yielded > 0, "yielded=%d", r.Yielded)
	if b := r.Block; b != nil {
		until := "somebody decides"
		if !b.Until.IsZero() {
			until = w.formatTime(b.Until)
		}
		add(true, "block: %s until %s, %s %q", b.Kind, until, b.Code, b.Reason)
		add(len(b.Choices) > 0, "choices: %q", b.Choices)
	}
	for i := range r.Open {
		add(true, "pending: %s", w.formatQuestion(&r.Open[i]))
	}
	if t := r.Together; t != nil && !t.Inherited {
		add(true, "asked together: %d from question %d on, %d answers needed, stop on reject %t, %d replies", t.Asked,
			t.First, t.Rule.Needs(t.Asked), t.Rule.StopOnReject, t.Replies)
	}
	if len(r.Answers) > 0 {
		add(true, "answer: %s %q", r.Answers[0].Resolution, r.Answers[0].Text)
	}
	add(!r.LastAutoDecisionAt.IsZero(), "last_auto_decision_at=%s", w.formatTime(r.LastAutoDecisionAt))
	add(r.RecoveryReason != "", "recovered_at=%s reason=%q", w.formatTime(r.RecoveredAt), r.RecoveryReason)
	add(r.Output != nil, "output: %s", r.Output)
	add(r.FinalText != "", "final_text: %q", r.FinalText)
	if r.Error != nil {
		add(true, "error: %s %q", r.Error.Code, r.Error.Message)
	}
	add(len(r.Warnings) > 0, "warnings: %s", r.Warnings)
	add(r.CancelReason != "", "cancel_reason: %q", r.CancelReason)
	add(!r.FinishedAt.IsZero(), "finished=%s", w.formatTime(r.FinishedAt))
	return text, nil
}

func (w *world) formatQuestion(q *interaction.Question) string {
	text := fmt.Sprintf("%d %s %q", q.ID, q.Kind, q.Prompt)
	for _, o := range q.Options {
		text += fmt.Sprintf(" [%s]", o.Label)
	}
	if q.DefaultPolicy != "" {
		text += " policy=" + string(q.DefaultPolicy)
	}
	if q.DecidedBySeveral() {
		text += fmt.Sprintf(" need=%d rejects=%d", q.Need, q.Rejects)
	}
	return text + formatVotes(q.Votes) + w.formatClaim(q.Claim) + formatNotes(q.Notes)
}

func (w *world) formatClaim(c *interaction.Claim) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" claimed by %s until %s", c.Actor+onBehalf(c.For), w.formatTime(c.Until))
}

func formatNotes(notes *interaction.Notes) (text string) {
	for _, n := range notes.All() {
		text += fmt.Sprintf(" noted by %s %q", cmp.Or(n.Actor, "the host")+onBehalf(n.For), n.Text)
	}
	return text
}

func onBehalf(of string) string {
	if of == "" {
		return ""
	}
	return " for " + of
}

func formatVotes(votes []interaction.Vote) string {
	if len(votes) == 0 {
		return ""
	}
	var all []string
	for _, v := range votes {
		all = append(all, v.Actor+onBehalf(v.For)+" "+string(v.Decision))
	}
	return fmt.Sprintf(" votes=%q", all)
}

// labelsOf reads an argument label=NAME:VALUE.
func labelsOf(a *args) map[string]string {
	if name, text, ok := strings.Cut(a.named["label"], ":"); ok {
		return map[string]string{name: text}
	}
	return nil
}

func showRuns(w *world, a *args) (string, error) {
	q := lifecycle.Query{Limit: a.number("limit"), Newest: a.flags["newest"], Held: a.flags["held"],
		ForkedFrom: a.named["forked-from"], Labels: labelsOf(a)}
	if s := a.named["state"]; s != "" {
		q.States = []fsm.State{fsm.State(s)}
	}
	if last := a.named["after"]; last != "" {
		r, err := w.base.Run(w.ctx, last)
		if err != nil {
			return "", err
		}
		q.After = store.Cursor{At: r.CreatedAt, ID: r.ID}.String()
	}
	page, err := w.client("").Runs(w.ctx, q)
	if err != nil {
		return formatError(err), nil
	}
	var lines []string
	for i := range page.Runs {
		r := &page.Runs[i]
		line := w.formatRun(r)
		if len(r.Open) > 0 {
			line += fmt.Sprintf(" %q since %s", r.Open[0].Prompt, w.formatTime(r.Open[0].AskedAt))
		}
		lines = append(lines, line)
	}
	return formatPage(lines, page.Next), nil
}

func formatPage(lines []string, next string) string {
	switch {
	case len(lines) == 0:
		return "none\n"
	case next != "":
		lines = append(lines, "and more")
	}
	return strings.Join(lines, "\n") + "\n"
}

func showInbox(w *world, a *args) (string, error) {
	q := lifecycle.InboxQuery{Limit: a.number("limit"), Labels: labelsOf(a), For: lifecycle.Actor{ID: a.named["for"]}}
	if groups := a.named["groups"]; groups != "" {
		q.For.Groups = strings.Split(groups, ",")
	}
	if kind := a.named["kind"]; kind != "" {
		q.Kinds = []lifecycle.Kind{lifecycle.Kind(kind)}
	}
	if due := a.named["due-before"]; due != "" {
		after, err := time.ParseDuration(due)
		if err != nil {
			return "", err
		}
		q.DueBefore = time.Now().Add(after).UTC()
	}
	if last := a.named["after"]; last != "" {
		r, err := w.base.Run(w.ctx, last)
		if err != nil {
			return "", err
		}
		q.After = store.Cursor{At: r.Open[0].AskedAt, ID: r.ID}.String()
	}
	if a.flags["count"] {
		n, err := w.client("").CountInbox(w.ctx, q)
		return fmt.Sprintf("%d, more=%t\n", n.Questions, n.More), err
	}
	page, err := w.client("").Inbox(w.ctx, q)
	if err != nil {
		return formatError(err), nil
	}
	var lines []string
	for i := range page.Questions {
		o := &page.Questions[i]
		due := "none"
		if !o.Due.IsZero() {
			due = w.formatTime(o.Due)
		}
		line := fmt.Sprintf("%s: %s since %s due=%s", o.RunID, w.formatQuestion(&o.Question),
			w.formatTime(o.Question.AskedAt), due)
		if o.For != "" {
			line += " as the deputy of " + o.For
		}
		if o.Question.To != nil {
			line += fmt.Sprintf(" for %s", o.Question.To)
		}
		lines = append(lines, line)
	}
	return formatPage(lines, page.Next), nil
}

func showStats(w *world, _ *args) (string, error) {
	s, err := w.base.Survey(w.ctx, time.Now().UTC())
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("queued=%d delayed=%d ready=%d running=%d waiting=%d due=%d nodes=%d", s.Queued, s.Delayed,
		s.Ready, s.Running, s.Waiting, s.Due, s.Nodes)
	if !s.OldestReady.IsZero() {
		text += " oldest_ready=" + w.formatTime(s.OldestReady)
	}
	if !s.OldestWaiting.IsZero() {
		text += " oldest_waiting=" + w.formatTime(s.OldestWaiting)
	}
	if s.Held > 0 {
		text += fmt.Sprintf(" held=%d oldest_held=%s", s.Held, w.formatTime(s.OldestHeld))
	}
	text += "\n"
	for _, p := range s.Pools {
		text += fmt.Sprintf("  pool %s capacity=%d held=%d ready=%d", p.Name, p.Capacity, p.Held, p.Ready)
		if !p.OldestReady.IsZero() {
			text += " oldest_ready=" + w.formatTime(p.OldestReady)
		}
		text += "\n"
	}
	for _, e := range s.Engines {
		text += fmt.Sprintf("  engine %s queued=%d nodes=%d", e.Engine, e.Queued, e.Nodes)
		if !e.OldestReady.IsZero() {
			text += " oldest_ready=" + w.formatTime(e.OldestReady)
		}
		text += "\n"
	}
	return text, nil
}
