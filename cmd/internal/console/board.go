package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// maxBoard is the most questions that the board reads; the oldest come first.
const maxBoard = 1000

// undoTime is how long a decision can be taken back before it is sent.
const undoTime = 5 * time.Second

// heldKey is the longest time between two keys of a key that is held down.
const heldKey = 200 * time.Millisecond

// board is the inbox on a terminal: a list of questions, with the selected one below, and the keys
// of the page. It decides approvals and plain confirms itself; other answers leave it for the
// controls of ask.
type board struct {
	ctx   context.Context //nolint:containedctx // of the one call
	cl    *client
	query lifecycle.InboxQuery
	actor lifecycle.Actor

	all      []lifecycle.InboxQuestion
	more     bool                        // the inbox has more questions than the board
	at       place                       // of the cursor
	marked   map[place]bool              // selected for one decision
	drafts   map[place]map[string]string // typed and unsent texts, by control
	decided  map[place]bool              // until the list no longer has them
	pending  []decision                  // to be sent at due
	proposed string                      // the pending decision, in words
	due      time.Time                   // zero: nothing is pending
	mode     mode                        // decides the meaning of keys
	entry    string                      // the text that is being typed
	search   string                      // only questions that contain it
	then     func() tea.Cmd              // after the confirmation
	note     string                      // the last result or hint
	below    int                         // lines of the question that are above the view
	unseen   int                         // lines of the question that are below the view
	answer   *lifecycle.InboxQuestion    // to be answered by ask
	edits    bool                        // the answer begins with the arguments
	width    int
	height   int
	left     bool
	sides    bool      // changes are shown side by side
	file     int       // the number of the file that is shown in place of the question; 0: none
	content  string    // of this file, or why it cannot be shown
	saved    string    // the folder with copies of files; empty: none yet
	last     rune      // the last key
	pressed  time.Time // when
}

// place identifies a question.
type place struct {
	run    string
	number int
}

// decision is a reply that is sent after undoTime.
type decision struct {
	place
	reply lifecycle.Reply
}

type mode int

const (
	moving mode = iota
	searching
	reasoning  // types the reason of a rejection
	noting     // types a note
	confirming // waits for y or n
	helping
)

// types reports whether keys are a text.
func (m mode) types() bool { return m == searching || m == reasoning || m == noting }

// decide shows the board until the person leaves it.
func decide(ctx context.Context, cl *client, c command.Call, q lifecycle.InboxQuery, actor lifecycle.Actor) error {
	b := &board{ctx: ctx, cl: cl, query: q, actor: actor, marked: make(map[place]bool), decided: make(map[place]bool),
		drafts: make(map[place]map[string]string), width: terminal.Width, height: 24}
	changes, err := cl.WatchInbox(ctx, q)
	if err != nil {
		return err
	}
	defer changes.Close()
	defer func() { _ = os.RemoveAll(b.saved) }() // without a name it does nothing
	for {
		b.answer, b.left = nil, false
		program := tea.NewProgram(b, tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithContext(ctx),
			tea.WithAltScreen())
		reading, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := changes.Next(reading); err != nil {
					return
				}
				program.Send(changed{})
			}
		}()
		_, err := program.Run()
		stop()
		<-ended
		if err != nil || b.left || ctx.Err() != nil {
			// Decisions are sent even if the terminal is gone.
			return errors.Join(err, b.flush(c))
		}
		if b.answer != nil {
			b.ask(c)
		}
	}
}

func (b *board) flush(c command.Call) error {
	sent := b.send(b.pending)
	b.pending = nil
	for _, note := range sent.notes {
		fmt.Fprintln(c.Side, terminal.Text(note))
	}
	return sent.err
}

func (b *board) ask(c command.Call) {
	o := b.answer
	p := newPrinter(c.Out, false)
	p.asks, p.named, p.room = true, b.cl.named(b.ctx), b.width
	if b.sides {
		p.columns = b.width
	}
	p.line(terminal.Dim, "\n── "+terminal.Name(o.RunID)+"  "+terminal.Line(o.Title)+" ──") // below an earlier question
	p.question(&o.Question, b.cl.Now())
	drafts := b.draftsOf(placeOf(o))
	reply, err := asker{b.ctx, c.In, c.Out, p.columns, b.edits, drafts}.ask(&o.Question)
	if err != nil {
		b.note = command.Words(err)
		if len(drafts) > 0 {
			b.note = "the question is still open: enter continues with what you have typed"
		}
		return
	}
	delete(b.drafts, placeOf(o))
	b.note = b.send([]decision{b.decision(o, reply)}).note()
}

// draftsOf returns the drafts of a question, to be changed.
func (b *board) draftsOf(p place) map[string]string {
	if b.drafts[p] == nil {
		b.drafts[p] = make(map[string]string)
	}
	return b.drafts[p]
}

func placeOf(o *lifecycle.InboxQuestion) place { return place{o.RunID, o.Question.ID} }

func (b *board) decision(o *lifecycle.InboxQuestion, r lifecycle.Reply) decision {
	r.ID, r.Seen, r.Actor, r.Key = o.Question.ID, o.Question.Digest(), b.actor, "cli-"+rand.Text()
	return decision{placeOf(o), r}
}

// The messages of the program.
type (
	changed struct{} // the inbox has changed
	loaded  struct {
		all  []lifecycle.InboxQuestion
		more bool
		err  error
	}
	sent struct {
		places []place
		failed []place
		notes  []string
		err    error
	}
	passed time.Time // the time to undo
)

func (s sent) note() string { return strings.Join(s.notes, "; ") }

func (b *board) load() tea.Msg {
	var l loaded
	q := b.query
	for q.Limit = 500; ; {
		page, err := b.cl.Inbox(b.ctx, q)
		if err != nil {
			return loaded{err: err}
		}
		l.all = append(l.all, page.Questions...)
		if l.more = page.Next != ""; !l.more || len(l.all) >= maxBoard {
			return l
		}
		q.After = page.Next
	}
}

// send sends decisions one by one. Each is refused or accepted separately.
func (b *board) send(all []decision) (s sent) {
	accepted := 0
	for _, d := range all {
		s.places = append(s.places, d.place)
		_, err := b.cl.Reply(context.WithoutCancel(b.ctx), d.run, d.reply)
		if err == nil {
			accepted++
			continue
		}
		s.failed = append(s.failed, d.place)
		if errors.Is(err, lifecycle.ErrSettled) {
			err = winner(context.WithoutCancel(b.ctx), b.cl, d.run, d.number, err)
		}
		s.err = errors.Join(s.err, err)
		s.notes = append(s.notes, fmt.Sprintf("question %d of %s: %s", d.number, d.run, command.Words(err)))
	}
	if accepted > 0 {
		s.notes = append([]string{"✓ " + terminal.Many(accepted, "answer") + " sent"}, s.notes...)
	}
	return s
}

// sendPending sends the pending decisions in the background.
func (b *board) sendPending() tea.Cmd {
	all := b.pending
	b.pending, b.due = nil, time.Time{}
	if len(all) == 0 {
		return nil
	}
	return func() tea.Msg { return b.send(all) }
}

func (b *board) propose(all []decision, what string) tea.Cmd {
	before := b.sendPending()
	next := b.after(b.at)
	for _, d := range all {
		b.decided[d.place] = true
		delete(b.marked, d.place)
	}
	b.pending, b.due, b.proposed = all, time.Now().Add(undoTime), what+"; u takes it back"
	if b.decided[b.at] {
		b.moveTo(next)
	}
	return tea.Batch(before, tea.Tick(undoTime, func(t time.Time) tea.Msg { return passed(t) }))
}

func (b *board) undo() {
	if len(b.pending) == 0 {
		b.note = "there is nothing to take back"
		return
	}
	for _, d := range b.pending {
		delete(b.decided, d.place)
	}
	b.moveTo(b.pending[0].place)
	b.note = terminal.Many(len(b.pending), "answer") + " taken back"
	b.pending, b.due = nil, time.Time{}
}

func (b *board) Init() tea.Cmd { return b.load }

func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
	case changed:
		return b, b.load
	case loaded:
		b.refresh(msg)
	case passed:
		if !b.due.IsZero() && !time.Time(msg).Before(b.due) {
			return b, b.sendPending()
		}
	case sent:
		for _, p := range msg.failed { // it may still be open
			delete(b.decided, p)
		}
		b.note = msg.note()
		return b, b.load
	case tea.KeyMsg:
		return b, b.press(msg)
	}
	return b, nil
}

// press handles keys, of which fast ones arrive together. Pasted text decides nothing, and neither
// does a key that is held down.
func (b *board) press(msg tea.KeyMsg) tea.Cmd {
	switch {
	case b.mode.types():
		b.last = 0
		return b.typed(msg)
	case msg.Paste:
		return nil
	case msg.Type != tea.KeyRunes:
		b.last = 0
		return b.key(msg.String())
	}
	var cmds []tea.Cmd
	for i, r := range msg.Runes {
		if b.mode.types() {
			msg.Runes = msg.Runes[i:]
			return tea.Sequence(append(cmds, b.typed(msg))...)
		}
		held := r == b.last && time.Since(b.pressed) < heldKey
		b.last, b.pressed = r, time.Now()
		if !held || !strings.ContainsRune("ar", r) {
			cmds = append(cmds, b.key(string(r)))
		}
	}
	return tea.Sequence(cmds...)
}

// refresh shows a list that was read. The cursor stays on its question, or moves to the next.
func (b *board) refresh(l loaded) {
	if l.err != nil {
		b.note = command.Words(l.err)
		return
	}
	next := b.after(b.at)
	b.all, b.more = l.all, l.more
	open := make(map[place]bool, len(l.all))
	for i := range l.all {
		open[placeOf(&l.all[i])] = true
	}
	for _, places := range []map[place]bool{b.marked, b.decided} {
		for p := range places {
			if !open[p] {
				delete(places, p)
			}
		}
	}
	if b.index(b.at) < 0 {
		b.moveTo(next)
	}
}

// shown returns the open questions that contain the search, without decided ones.
func (b *board) shown() []*lifecycle.InboxQuestion {
	var all []*lifecycle.InboxQuestion
	for i := range b.all {
		if o := &b.all[i]; !b.decided[placeOf(o)] && contains(o, b.search) {
			all = append(all, o)
		}
	}
	return all
}

func contains(o *lifecycle.InboxQuestion, search string) bool {
	texts := []string{o.RunID, o.Title, o.Question.Prompt, o.Question.Context}
	if s := o.Question.Subject; s != nil {
		texts = append(texts, s.Title, s.Tool, s.Summary, string(s.Arguments))
	}
	search = strings.ToLower(search)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), search) })
}

func (b *board) index(p place) int {
	return slices.IndexFunc(b.shown(), func(o *lifecycle.InboxQuestion) bool { return placeOf(o) == p })
}

// after returns the question that follows in the list, or else the one before it.
func (b *board) after(p place) place {
	all := b.shown()
	switch i := b.index(p); {
	case len(all) == 0:
		return place{}
	case i < 0:
		return placeOf(all[0])
	case i+1 < len(all):
		return placeOf(all[i+1])
	default:
		return placeOf(all[max(0, i-1)])
	}
}

func (b *board) moveTo(p place) {
	if all := b.shown(); b.index(p) < 0 && len(all) > 0 {
		p = placeOf(all[0])
	}
	if b.at != p {
		b.at, b.below, b.file = p, 0, 0
	}
}

// current returns the selected question; nil if the list is empty.
func (b *board) current() *lifecycle.InboxQuestion {
	all := b.shown()
	if i := b.index(b.at); i >= 0 {
		return all[i]
	}
	return nil
}

// chosen returns the questions that a decision is for: the marked ones, or else the selected one.
func (b *board) chosen() []*lifecycle.InboxQuestion {
	all := slices.DeleteFunc(b.shown(), func(o *lifecycle.InboxQuestion) bool { return !b.marked[placeOf(o)] })
	if o := b.current(); len(all) == 0 && o != nil {
		all = append(all, o)
	}
	return all
}

// differences lists what distinguishes the arguments of several calls: for each, the members that
// are not the same in all.
func differences(all []*lifecycle.InboxQuestion) []string {
	members := make([]map[string]string, len(all))
	count := make(map[string]int) // of a member with its value
	for i, o := range all {
		members[i] = make(map[string]string)
		flatten(members[i], "", o.Question.Subject.Arguments)
		for path, value := range members[i] {
			count[path+"\x00"+value]++
		}
	}
	lines := make([]string, len(all))
	for i, o := range all {
		var parts []string
		for path, value := range members[i] {
			if count[path+"\x00"+value] < len(all) {
				parts = append(parts, terminal.Name(path)+" "+value)
			}
		}
		slices.Sort(parts)
		lines[i] = fmt.Sprintf("%s %d  %s", terminal.Name(o.RunID), o.Question.ID, strings.Join(parts, ", "))
	}
	return lines
}

// flatten stores each member that is not an object under its path.
func flatten(into map[string]string, path string, body json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || len(members) == 0 {
		into[path] = terminal.Inline(body)
		return
	}
	for name, value := range members {
		if name == "" || strings.ContainsAny(name, `."`) { // {"a.b":1} is another member than {"a":{"b":1}}
			name = strconv.Quote(name)
		}
		flatten(into, strings.TrimPrefix(path+"."+name, "."), value)
	}
}
