package console

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

const boardHelp = `j k ↓ ↑   move                     space     scroll down; pgup scrolls up
enter     answer in full           /         search; esc ends it
a         approve, or yes          x         mark for one decision
r         reject with a reason, or no
e         edit the arguments       u         take the last decision back
d         changes side by side     m         write a note
c         claim or release         ?         these keys
q         leave: what is pending is sent`

func (b *board) key(key string) tea.Cmd {
	if key == "ctrl+c" {
		return b.leave()
	}
	switch b.mode {
	case confirming:
		b.mode, b.note = moving, ""
		if key == "y" {
			return b.then()
		}
		return nil
	case helping:
		b.mode = moving
		return nil
	case moving, searching, reasoning, noting: // the last three type a text instead
	}
	b.note = ""
	all := b.shown()
	i := b.index(b.at)
	switch key {
	case "q", "esc":
		if key == "esc" && b.search != "" {
			b.search = ""
			return nil
		}
		if key == "q" {
			return b.leave()
		}
	case "j", "down":
		if i+1 < len(all) {
			b.moveTo(placeOf(all[i+1]))
		}
	case "k", "up":
		if i > 0 {
			b.moveTo(placeOf(all[i-1]))
		}
	case " ", "pgdown":
		b.below += min(b.unseen, b.room())
	case "pgup":
		b.below = max(0, b.below-b.room())
	case "/":
		b.mode, b.entry = searching, b.search
	case "?":
		b.mode = helping
	case "u":
		b.undo()
	case "x":
		if o := b.current(); o != nil {
			if b.marked[b.at] = !b.marked[b.at]; !b.marked[b.at] {
				delete(b.marked, b.at)
			}
			b.moveTo(b.after(b.at))
		}
	case "enter", "e":
		if o := b.current(); o != nil {
			b.answer, b.edits = o, key == "e"
			return tea.Sequence(b.sendPending(), tea.Quit)
		}
	case "a":
		return b.approve()
	case "r":
		return b.reject()
	case "c":
		return b.claim()
	case "m":
		if o := b.current(); o != nil {
			b.mode, b.entry = noting, ""
		}
	case "d":
		b.sides, b.below = !b.sides, 0
	}
	return nil
}

// typed edits the search or the reason.
func (b *board) typed(msg tea.KeyMsg) tea.Cmd {
	switch msg.Type {
	case tea.KeyCtrlC:
		return b.leave()
	case tea.KeyEsc:
		if b.mode == searching {
			b.search = ""
		}
		b.mode = moving
	case tea.KeyEnter:
		done := b.mode
		b.mode = moving
		switch text := strings.TrimSpace(b.entry); {
		case done == reasoning:
			return b.decideChosen(lifecycle.Reject, text)
		case done == noting && text != "":
			return b.writeNote(text)
		}
	case tea.KeyBackspace:
		if r := []rune(b.entry); len(r) > 0 {
			b.entry = string(r[:len(r)-1])
		}
	case tea.KeyRunes, tea.KeySpace:
		most := lifecycle.MaxReplyText
		if b.mode == noting {
			most = lifecycle.MaxNote
		}
		if len(b.entry)+len(string(msg.Runes)) <= most {
			b.entry += string(msg.Runes)
		}
	default:
	}
	if b.mode == searching {
		b.search = b.entry
		b.moveTo(b.at)
	}
	return nil
}

// leave ends the board; its caller sends the pending decisions.
func (b *board) leave() tea.Cmd {
	b.left = true
	return tea.Quit
}

// decidable reports why the chosen questions cannot be decided with one key; empty: they can.
func (b *board) decidable(all []*lifecycle.InboxQuestion) string {
	first := &all[0].Question
	for _, o := range all {
		q := &o.Question
		switch {
		case q.Subject == nil && len(all) > 1, q.Subject == nil && !yesOrNo(q):
			return "enter answers this question"
		case len(all) > 1 && q.Subject.Tool != first.Subject.Tool:
			return "the marked questions are for different tools: x removes a mark"
		case len(all) > 1 && q.Subject.Risk != "":
			return "a marked question has a risk, which is accepted separately: x removes a mark"
		}
	}
	if b.unseen > 0 {
		return terminal.Many(b.unseen, "more line") + ": space shows the rest, then decide"
	}
	return ""
}

func yesOrNo(q *lifecycle.Question) bool {
	return q.Kind == lifecycle.Confirm && len(q.Options) == 0 && len(q.Schema) == 0
}

func (b *board) approve() tea.Cmd {
	all := b.chosen()
	if len(all) == 0 {
		return nil
	}
	if b.note = b.decidable(all); b.note != "" {
		return nil
	}
	then := func() tea.Cmd { return b.decideChosen(lifecycle.Approve, "") }
	q := &all[0].Question
	switch {
	case q.Subject != nil && q.Subject.Risk != "":
		b.confirm(fmt.Sprintf("Approve %s and accept the risk (%s)? y/n", terminal.Name(q.Subject.Tool),
			terminal.Line(q.Subject.Risk)), then)
		return nil
	case len(all) > 1:
		b.confirm(fmt.Sprintf("Approve %d calls of %s? y/n", len(all), terminal.Name(q.Subject.Tool)), then)
		return nil
	}
	return then()
}

func (b *board) confirm(title string, then func() tea.Cmd) {
	b.mode, b.note, b.then = confirming, title, then
}

func (b *board) reject() tea.Cmd {
	all := b.chosen()
	if len(all) == 0 {
		return nil
	}
	if b.note = b.decidable(all); b.note != "" {
		return nil
	}
	if all[0].Question.Subject == nil {
		return b.decideChosen(lifecycle.Reject, "")
	}
	b.mode, b.entry = reasoning, ""
	return nil
}

func (b *board) decideChosen(d lifecycle.Decision, reason string) tea.Cmd {
	all := b.chosen()
	what := string(d)
	decisions := make([]decision, len(all))
	for i, o := range all {
		r := lifecycle.Reply{Decision: d, Text: reason}
		if s := o.Question.Subject; s == nil {
			what = map[lifecycle.Decision]string{lifecycle.Approve: "yes", lifecycle.Reject: "no"}[d]
			r = lifecycle.Reply{Text: what}
		} else {
			r.AcceptRisk = d == lifecycle.Approve && s.Risk != "" // confirmed before
		}
		decisions[i] = b.decision(o, r)
	}
	if len(all) == 0 {
		return nil
	}
	answers := terminal.Many(len(all), "answer")
	return b.propose(decisions, fmt.Sprintf("%s: %s, to be sent in %s", what, answers, undoTime))
}

// claimTime is how long a claim lasts, as on the page.
const claimTime = 15 * time.Minute

// claim takes the selected question, or gives it back.
func (b *board) claim() tea.Cmd {
	o := b.current()
	if o == nil {
		return nil
	}
	cl, run, q := b.cl.As(b.actor), o.RunID, o.Question
	return func() tea.Msg {
		var err error
		note := "claimed for 15 minutes"
		if now := b.cl.Now(); q.Claim.Lasts(now) && q.Claim.Actor == b.actor.ID {
			err, note = cl.Release(b.ctx, run, q.ID), "released"
		} else {
			err = cl.Claim(b.ctx, run, q.ID, now.Add(claimTime))
		}
		if err != nil {
			note = command.Words(err)
		}
		return sent{notes: []string{note}}
	}
}

// writeNote stores a note on the selected question. The key makes a repeated request safe.
func (b *board) writeNote(text string) tea.Cmd {
	o := b.current()
	if o == nil {
		return nil
	}
	cl, run, question := b.cl.As(b.actor), o.RunID, o.Question.ID
	return func() tea.Msg {
		message := "the note is stored"
		_, err := cl.Note(b.ctx, run, question, lifecycle.Note{Text: text, Key: "cli-" + rand.Text()})
		if err != nil {
			message = command.Words(err)
		}
		return sent{notes: []string{message}}
	}
}

// rows is the number of lines of the list, and room of the question below it.
func (b *board) rows() int { return max(3, min(len(b.shown()), (b.height-4)/3)) }
func (b *board) room() int { return max(3, b.height-4-b.rows()) }

func (b *board) View() string {
	bold, dim := lipgloss.NewStyle().Bold(true), lipgloss.NewStyle().Faint(true)
	if os.Getenv("NO_COLOR") != "" {
		bold, dim = lipgloss.NewStyle(), lipgloss.NewStyle()
	}
	all := b.shown()
	head := terminal.Many(len(all), "open question")
	if b.more {
		head += " (the oldest)"
	}
	if b.search != "" || b.mode == searching {
		head += fmt.Sprintf(" with %q", terminal.Name(b.search))
	}
	lines := []string{b.fit(bold, head)}
	i := max(0, b.index(b.at))
	first := max(0, min(i-b.rows()/2, len(all)-b.rows()))
	for n, o := range all[first:min(len(all), first+b.rows())] {
		style := lipgloss.NewStyle()
		mark := "  "
		if first+n == i {
			mark, style = "> ", bold
		}
		lines = append(lines, b.fit(style, mark+b.row(o)))
	}
	for len(lines) < 1+b.rows() {
		lines = append(lines, "")
	}
	lines = append(lines, dim.Render(strings.Repeat("─", b.width)))
	lines = append(lines, b.detail()...)
	for len(lines) < b.height-1 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines[:min(len(lines), b.height-1)], b.fit(dim, b.footer())), "\n")
}

func (b *board) fit(s lipgloss.Style, line string) string {
	return s.Inline(true).MaxWidth(b.width).Render(line)
}

func (b *board) footer() string {
	switch {
	case b.mode == searching:
		return "search: " + terminal.Name(b.entry) + "▏ enter keeps it, esc ends it"
	case b.mode == reasoning:
		return "reason (optional): " + terminal.Name(b.entry) + "▏ enter rejects, esc goes back"
	case b.mode == noting:
		return "note: " + terminal.Name(b.entry) + "▏ enter stores it, esc goes back"
	case len(b.pending) > 0 && b.note != "" && b.mode == moving:
		return terminal.Line(b.proposed + " · " + b.note)
	case b.note != "":
		return terminal.Line(b.note)
	case len(b.pending) > 0:
		return terminal.Line(b.proposed)
	case b.unseen > 0:
		return terminal.Many(b.unseen, "more line") + ": space · ? lists the keys"
	}
	return "j k move · enter answer · a approve · r reject · x mark · / search · u undo · ? keys · q leave"
}

// row is a question in the list: what distinguishes it from the next one comes first.
func (b *board) row(o *lifecycle.InboxQuestion) string {
	q := &o.Question
	var parts []string
	if s := q.Subject; s != nil {
		what := strings.TrimLeft(terminal.Name(s.Summary)+" "+terminal.Inline(s.Arguments), " ")
		parts = append(parts, terminal.Name(s.Tool)+" "+cut(what, b.width/2))
		if s.Risk != "" {
			parts = append([]string{"[risk]"}, parts...)
		}
	}
	parts = append(parts, terminal.Line(titled(o.Title, q.Prompt)))
	if b.marked[placeOf(o)] {
		parts = append([]string{"[x]"}, parts...)
	}
	facts := []string{fmt.Sprintf("%-7s", ago(q.AskedAt))}
	if !o.EndsAt.IsZero() {
		facts = append(facts, until(o.EndsAt))
	}
	if q.Claim.Lasts(b.cl.Now()) {
		facts = append(facts, "with "+b.cl.named(b.ctx)(q.Claim.Actor))
	}
	if n := len(q.Notes.All()); n > 0 {
		facts = append(facts, terminal.Many(n, "note"))
	}
	return strings.Join(facts, "  ") + "  " + strings.Join(parts, "  ")
}

// detail is what fits of the selected question, or what distinguishes the marked ones.
func (b *board) detail() []string {
	o := b.current()
	switch {
	case b.mode == helping:
		return strings.Split(boardHelp, "\n")
	case o == nil && b.search != "":
		return []string{"no open question contains this"}
	case o == nil:
		return []string{"no open questions"}
	}
	var text strings.Builder
	p := &printer{out: &text, styled: os.Getenv("NO_COLOR") == "", asks: true, named: b.cl.named(b.ctx), room: b.width}
	if b.sides {
		p.columns = b.width
	}
	if chosen := b.chosen(); len(chosen) > 1 && !slices.ContainsFunc(chosen, isNoCall) {
		p.line(terminal.Bold, fmt.Sprintf("%d marked calls of %s", len(chosen), chosen[0].Question.Subject.Tool))
		for _, line := range differences(chosen) {
			p.write(terminal.Wrap(line, "  "))
		}
	} else {
		p.line(terminal.Dim, terminal.Name(o.RunID)+"  "+terminal.Line(o.Title))
		p.question(&o.Question, b.cl.Now())
	}
	lines := strings.Split(strings.TrimRight(ansi.Hardwrap(text.String(), b.width, true), "\n"), "\n")
	b.below = max(0, min(b.below, len(lines)-1))
	lines = lines[b.below:]
	b.unseen = max(0, len(lines)-b.room())
	return lines[:len(lines)-b.unseen]
}

func isNoCall(o *lifecycle.InboxQuestion) bool { return o.Question.Subject == nil }
