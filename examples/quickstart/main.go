// Quickstart plans a garden party. An agent works in turns and asks you; whatever happens in
// between (Ctrl-C, kill -9, three weeks), the same command goes on where it was. It is a whole host
// to copy from: a store, an engine, and somebody who follows the events and replies.
//
//	quickstart                                   answer; leave with Ctrl-C, whenever you like
//	quickstart -decide 2s </dev/null             nobody answers in time: the agent decides
//	quickstart -kill-after user.input.required   kill -9 itself right after such an event
//	quickstart -events                           the events as they are stored, a JSON line each
//
// Answers are read from the terminal, or as lines from standard input. The exit status is 0 when
// the run succeeded or is parked, 1 when it failed, 2 for a wrong command line, 130 after Ctrl-C.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

var (
	file   = flag.String("db", "garden-party.db", "SQLite `file` of the run, removed at its end")
	decide = flag.Duration("decide", 0, "have the agent decide after so long without an answer; whole seconds")
	events = flag.Bool("events", false, "print the events as they are stored, and the rest to standard error")
	strike = flag.String("kill-after", "", "kill -9 itself right after an `event` of that type")
)

// eventTypes are those that -kill-after knows.
var eventTypes = []string{
	lifecycle.TypeStarted, lifecycle.TypeStateChanged, lifecycle.TypeReplyAccepted, lifecycle.TypeAutoDecided,
	lifecycle.TypeInputRequired, lifecycle.TypeMessageFinal, lifecycle.TypeMessageIntermediate, lifecycle.TypeWarning,
}

func main() {
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		misusedf("there is no argument %q, only flags; see -help", flag.Arg(0))
	case *decide < 0 || *decide%time.Second != 0:
		misusedf("-decide is %s, want whole seconds", *decide)
	case *strike != "" && !slices.Contains(eventTypes, *strike):
		misusedf("-kill-after is %q, want one of\n  %s", *strike, strings.Join(eventTypes, "\n  "))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	err := host(ctx)
	switch {
	case ctx.Err() != nil:
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func misusedf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "quickstart: "+format+"\n", args...)
	os.Exit(2)
}

// host serves the run of the file until it ends, or the person leaves it.
func host(ctx context.Context) error {
	st, err := sqlite.Open(ctx, *file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: st, Engine: engine.Func(planner), Logger: slog.New(slog.DiscardHandler),
		Forgiving: true, // ordinary days fail no run
		Grace:     -1,   // Ctrl-C does not wait for the turn: it is repeated
	})
	if err != nil {
		return err
	}
	defer lc.Close()
	spec := lifecycle.Spec{ID: "garden-party", Prompt: "Plan a garden party.", Repeatable: true}
	spec.AutoDecide, spec.SessionTimeout = *decide > 0, *decide
	run, err := lc.Submit(ctx, spec) // the run of that id, where the file has it already
	if errors.Is(err, lifecycle.ErrSpecConflict) {
		run, err = lc.Get(ctx, spec.ID) // it was begun with another -decide, and goes on as it began
	}
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(serving) }() // claims and executes turns, fires deadlines, recovers

	c := newChat(lc, run)
	talking, leave := context.WithCancel(ctx)
	go c.answer(talking, leave)
	err = c.follow(talking)
	stop()
	ended, ending := c.ending(context.WithoutCancel(ctx))
	err = errors.Join(err, <-served, ending, st.Close())
	if ended {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(*file + suffix) // SQLite has removed the others
		}
	}
	return err
}

// chat shows what happens and puts the questions to a person.
type chat struct {
	lc     *lifecycle.Lifecycle
	run    lifecycle.Run // as it was found
	out    *os.File
	open   chan *lifecycle.Question // the open question, once
	typed  bool                     // on a terminal, which shows what is typed
	colour bool
}

// The colours.
const bold, dim, red, green, amber = "1", "2", "31", "32", "33"

func newChat(lc *lifecycle.Lifecycle, run lifecycle.Run) *chat {
	c := &chat{lc: lc, run: run, out: os.Stdout, open: make(chan *lifecycle.Question, 1)}
	if *events {
		c.out = os.Stderr
	}
	c.typed = terminal(os.Stdin)
	c.colour = terminal(c.out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return c
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// follow shows the events until the run has ended or the context ends.
func (c *chat) follow(ctx context.Context) error {
	if c.run.Attempt == 0 {
		c.say(bold, "A garden party is to be planned. Leave with Ctrl-C whenever you like.")
	} else {
		c.say(bold, "The garden party goes on.")
	}
	if c.run.Pending != nil {
		c.ask(c.run)
	}
	for ev, err := range c.lc.Events(ctx, c.run.ID, 0) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.show(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

// show says what an event is about. What this person has seen before is not said again.
func (c *chat) show(ctx context.Context, ev lifecycle.Event) error {
	if *events {
		body, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		fmt.Println(string(body))
	}
	var data struct{ Text, Trigger string }
	if err := json.Unmarshal(ev.Data, &data); err != nil || ev.Seq <= c.run.Seq && c.run.Attempt > 0 {
		return err
	}
	switch {
	case data.Trigger == string(lifecycle.TriggerTurnStarted):
		c.say(bold, fmt.Sprintf("\n▸ Turn %d", ev.Meta.Attempt))
	case data.Trigger == string(lifecycle.TriggerRestartRequeue):
		c.say(amber, "↻ The turn was interrupted, and is repeated.")
	case ev.Type == lifecycle.TypeMessageIntermediate:
		c.say("", "  "+data.Text)
	case ev.Type == lifecycle.TypeReplyAccepted:
		c.say(green, "✓ Your answer is stored.")
	case ev.Type == lifecycle.TypeAutoDecided:
		c.say(amber, "\n! Nobody has answered in time: the agent decides.")
	case ev.Type == lifecycle.TypeInputRequired:
		run, err := c.lc.Get(ctx, c.run.ID)
		if err != nil || run.Pending == nil { // somebody else was faster
			return err
		}
		c.ask(run)
	}
	if ev.Type == *strike {
		c.say(red, "\n\n✗ kill -9, right after "+*strike)
		c.say("", "  Go on with the same command, without -kill-after.")
		self, err := os.FindProcess(os.Getpid())
		return errors.Join(err, self.Kill())
	}
	return nil
}

// ask puts the open question as a person would like to be asked it.
func (c *chat) ask(run lifecycle.Run) {
	q := run.Pending
	c.say(bold, "\n  "+q.Prompt)
	hint := map[lifecycle.Kind]string{lifecycle.Confirm: "yes or no", lifecycle.OpenText: "in your own words",
		lifecycle.ChooseOne: "a number, or your own words"}[q.Kind]
	for i, option := range q.Options {
		c.say("", fmt.Sprintf("    %d  %s", i+1, option.Label))
	}
	if !run.Deadline.IsZero() {
		hint += "; at " + run.Deadline.Local().Format(time.TimeOnly) + " the agent decides"
	}
	c.say(dim, "  "+hint)
	fmt.Fprint(c.out, "  > ")
	for sent := false; !sent; {
		select {
		case c.open <- q:
			sent = true
		case <-c.open: // nobody has answered that one
		}
	}
}

// answer replies with the lines of standard input. When there are no more, a run that would wait
// for one is left.
func (c *chat) answer(ctx context.Context, leave func()) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		shown := c.typed && len(c.open) > 0 // behind the prompt; what is typed earlier is not
		q := <-c.open
		text := strings.TrimSpace(lines.Text())
		if !shown {
			c.say("", text)
		}
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && n > 0 && n <= len(q.Options):
			text = q.Options[n-1].Value
		case err == nil && c.typed && q.Kind != lifecycle.OpenText: // a slip, although a reply may be any text
			c.askAgain(q, strconv.Itoa(n)+" is no answer here.")
			continue
		}
		_, err = c.lc.Reply(ctx, c.run.ID, lifecycle.Reply{ID: q.ID, Text: text,
			Actor: lifecycle.Actor{ID: "quickstart"}})
		switch {
		case errors.Is(err, lifecycle.ErrInvalidReply):
			c.askAgain(q, "That is no answer.")
		case err != nil && ctx.Err() == nil:
			c.say(amber, "  "+err.Error())
		}
	}
	<-c.open
	if c.run.Strict {
		leave()
	}
}

// askAgain puts a question once more, unless another one is open by now.
func (c *chat) askAgain(q *lifecycle.Question, why string) {
	fmt.Fprint(c.out, "  "+why+" Once more, please:\n  > ")
	select {
	case c.open <- q:
	default:
	}
}

// ending says how the run stands, and reports whether it has ended.
func (c *chat) ending(ctx context.Context) (ended bool, _ error) {
	run, err := c.lc.Get(ctx, c.run.ID)
	switch {
	case err != nil:
		return false, err
	case run.Error != nil:
		return true, fmt.Errorf("the run has failed: %s: %s", run.Error.Code, run.Error.Message)
	case run.State.Terminal():
		c.say(green, fmt.Sprintf("\n✓ The party is planned, in %d turns.", run.Attempt))
		c.say("", "  "+strings.ReplaceAll(run.FinalText, "\n", "\n  "))
		return true, nil
	case run.State == lifecycle.StateWaitingUser:
		c.say(green, "\n\n‖ Parked. The question waits, for weeks if need be; nothing runs meanwhile.")
	default:
		c.say(green, "\n‖ Interrupted. The turn will be repeated.")
	}
	c.say("", "  Go on with the same command: the run is in "+*file+".")
	return false, nil
}

// say shows a text, in colour where that can be seen. What a terminal would obey is made visible.
func (c *chat) say(colour, text string) {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
	if c.colour && colour != "" {
		text = "\x1b[" + colour + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(c.out, text)
}
