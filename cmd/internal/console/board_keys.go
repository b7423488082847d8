package console

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

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
c         claim or release         o         open the next file; esc closes it
?         these keys               q         leave: what is pending is sent`

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
	case "q":
		return b.leave()
	case "esc":
		if b.file == 0 {
			b.search = ""
		}
		b.file, b.below = 0, 0
	case "o":
		b.open()
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
		b.mode, b.entry, b.search = searching, "", ""
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
			b.startTyping(noting)
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
		} else {
			b.draftsOf(b.at)[drafted[b.mode]] = b.entry
		}
		b.mode = moving
	case tea.KeyEnter:
		done := b.mode
		b.mode = moving
		delete(b.drafts[b.at], drafted[done])
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

// open shows the next file of the question: a text in place of the question, of another file the
// place of a copy.
func (b *board) open() {
	o := b.current()
	if o == nil || len(o.Question.Files.All()) == 0 {
		b.note = "this question has no files"
		return
	}
	b.file, b.below = b.file%len(o.Question.Files.All())+1, 0
	f, body, err := b.cl.As(b.actor).ReadFile(b.ctx, o.RunID, o.Question.ID, b.file-1)
	switch {
	case errors.Is(err, lifecycle.ErrFileMissing):
		b.content = command.Words(err) + "\n-dir names the folder of the runs"
	case err != nil:
		b.content = command.Words(err)
	case len(body) <= maxShown && utf8.Valid(body) && !bytes.ContainsRune(body, 0):
		b.content = string(body)
	default:
		b.content = b.copyOf(&f, body)
	}
}

// maxShown is the largest file that is shown, in bytes.
const maxShown = 256 << 10

// copyOf copies a file for other programs, and says where.
func (b *board) copyOf(f *lifecycle.File, body []byte) string {
	if b.saved == "" {
		dir, err := os.MkdirTemp("", "interlude-files-")
		if err != nil {
			return err.Error()
		}
		b.saved = dir
	}
	dir, err := os.MkdirTemp(b.saved, "") // two questions may have files of the same name
	if err != nil {
		return err.Error()
	}
	name := filepath.Join(dir, filepath.Base(f.Name))
	if err := os.WriteFile(name, body, 0o600); err != nil {
		return err.Error()
	}
	return "Open it with another program. Until you leave, a copy is at\n" + name
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
		return "reason (optional): " + terminal.Name(b.entry) + "▏ enter rejects, esc keeps it for later"
	case b.mode == noting:
		return "note: " + terminal.Name(b.entry) + "▏ enter stores it, esc keeps it for later"
	case len(b.pending) > 0 && b.note != "" && b.mode == moving:
		return terminal.Line(b.note + " · " + b.proposed)
	case b.note != "":
		return terminal.Line(b.note)
	case len(b.pending) > 0:
		return terminal.Line(b.proposed)
	case b.unseen > 0:
		return terminal.Many(b.unseen, "more line") + ": space · ? lists the keys"
	}
	return "j k move · enter answer · a approve · r reject · u undo · / search · ? all keys"
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
	for _, text := range b.drafts[placeOf(o)] {
		if text != "" {
			parts = append([]string{"[draft]"}, parts...)
			break
		}
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
		return []string{"no open question contains this: esc ends the search"}
	case o == nil:
		return []string{"no open questions"}
	}
	var text strings.Builder
	p := &printer{out: &text, styled: os.Getenv("NO_COLOR") == "", asks: true, opens: true, named: b.cl.named(b.ctx),
		room: b.width}
	if b.sides {
		p.columns = b.width
	}
	if chosen := b.chosen(); len(chosen) > 1 && !slices.ContainsFunc(chosen, isNoCall) {
		p.line(terminal.Bold, fmt.Sprintf("%d marked calls of %s", len(chosen), chosen[0].Question.Subject.Tool))
		for _, line := range differences(chosen) {
			p.write(terminal.Wrap(line, "  "))
		}
	} else if b.file > 0 {
		all := o.Question.Files.All()
		p.line(terminal.Bold, fmt.Sprintf("file %d of %d: %s", b.file, len(all), terminal.Name(all[b.file-1].Name)))
		p.text(terminal.Plain, b.content, "")
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
