package console

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"
	"github.com/charmbracelet/lipgloss"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
)

// unpicked is the cursor of a list without a selection.
const unpicked = -1

const roomForLabel = terminal.Width - 2

// pick asks for a label and returns its index. Unlike package huh's list it can start without a
// selection, so that Enter takes only an option that the person moved to, and it stops at both
// ends. A letter in hot takes the option at its index.
func (a asker) pick(title string, labels []string, cursor int, hot string) (int, error) {
	long := false
	for i := range labels {
		labels[i] = strings.ReplaceAll(terminal.Text(labels[i]), "\n", `\n`)
		long = long || utf8.RuneCountInString(labels[i]) > roomForLabel
	}
	accessible := os.Getenv("ACCESSIBLE") != ""
	if long || accessible { // the list shows only their beginnings and ends
		for i, label := range labels {
			a.print(fmt.Sprintf("%d  %s", i+1, label))
		}
	}
	if accessible {
		return a.pickNumber(title, labels)
	}
	l := &list{title: title, labels: labels, cursor: cursor, hot: hot, height: 24}
	if err := a.program(l); err != nil {
		return unpicked, err
	}
	if !l.done {
		return unpicked, errLeft
	}
	return l.cursor, nil
}

// pickNumber is pick for screen readers: plain lines, and a number to type.
func (a asker) pickNumber(title string, labels []string) (int, error) {
	var text string
	number := huh.NewInput().Title(title + ": a number from 1 to " + strconv.Itoa(len(labels))).Value(&text).
		Validate(func(text string) error {
			if n, err := strconv.Atoi(strings.TrimSpace(text)); err != nil || n < 1 || n > len(labels) {
				return fmt.Errorf("want a number from 1 to %d", len(labels))
			}
			return nil
		})
	if err := a.run(number); err != nil {
		return unpicked, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n - 1, err
}

func (a asker) program(m tea.Model) error {
	_, err := tea.NewProgram(m, tea.WithInput(a.in), tea.WithOutput(a.out), tea.WithContext(a.ctx),
		tea.WithReportFocus()).Run()
	if a.ctx.Err() != nil {
		return errLeft
	}
	return err
}

var errLeft = command.Refusef("nothing was answered: the question is still open")

type list struct {
	title, hot string
	labels     []string
	cursor     int
	height     int // of the terminal
	hint       string
	done, left bool
}

func (*list) Init() tea.Cmd { return nil }

func (l *list) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.height = msg.Height
	case tea.KeyMsg:
		if !msg.Paste { // pasted text selects nothing
			return l, l.key(msg.String())
		}
	}
	return l, nil
}

func (l *list) key(key string) tea.Cmd {
	last := len(l.labels) - 1
	switch key {
	case "ctrl+c", "esc":
		l.left = true
		return tea.Quit
	case "up", "ctrl+p", "shift+tab":
		l.move(max(0, l.cursor-1))
	case "down", "ctrl+n", "tab":
		l.move(min(last, l.cursor+1))
	case "home", "pgup":
		l.move(0)
	case "end", "pgdown":
		l.move(last)
	case "enter":
		if l.cursor == unpicked {
			l.hint = "first move to an option with ↑ and ↓"
			return nil
		}
		l.done = true
		return tea.Quit
	}
	if n, err := strconv.Atoi(key); err == nil && n >= 1 && n <= len(l.labels) {
		l.move(n - 1)
	}
	if i := strings.Index(l.hot, strings.ToLower(key)); i >= 0 && len(key) == 1 {
		l.cursor, l.done = i, true
		return tea.Quit
	}
	return nil
}

func (l *list) move(to int) { l.cursor, l.hint = to, "" }

// View shows the labels around the cursor that fit the terminal, and after a choice only that
// label.
func (l *list) View() string {
	bold, dim := lipgloss.NewStyle().Bold(true), lipgloss.NewStyle().Faint(true)
	if os.Getenv("NO_COLOR") != "" {
		bold, dim = lipgloss.NewStyle(), lipgloss.NewStyle()
	}
	switch {
	case l.done:
		return bold.Render(l.title) + "  " + ends(l.labels[l.cursor], roomForLabel) + "\n"
	case l.left:
		return ""
	}
	room := max(3, l.height-4)
	first := max(0, min(l.cursor-room/2, len(l.labels)-room))
	after := min(len(l.labels), first+room)
	lines := []string{bold.Render(l.title)}
	for i, label := range l.labels[first:after] {
		mark := "  "
		if first+i == l.cursor {
			mark = "> "
		}
		lines = append(lines, mark+ends(label, roomForLabel))
	}
	hint := "↑ ↓ move, enter selects, esc leaves"
	if l.hot != "" {
		hint = strings.Join(strings.Split(l.hot, ""), " or ") + ", or " + hint
	}
	switch {
	case l.hint != "":
		hint = l.hint
	case after-first < len(l.labels):
		hint = fmt.Sprintf("%d to %d of %d; %s", first+1, after, len(l.labels), hint)
	}
	return strings.Join(append(lines, dim.Render(hint)), "\n") + "\n"
}

// ends shortens a line in its middle, so that lines that differ at their ends stay different.
func ends(line string, most int) string {
	r := []rune(line)
	if len(r) <= most {
		return line
	}
	half := (most - 3) / 2
	return string(r[:half]) + " … " + string(r[len(r)-half:])
}
