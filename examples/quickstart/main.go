// Quickstart plans a garden party. An agent works in turns and asks you; after an interruption
// (Ctrl-C, kill -9, three weeks), the same command continues the run. Copy it as a complete host: a
// store, an engine, and a person who follows the events and replies.
//
//	quickstart                                   answer; leave with Ctrl-C at any time
//	quickstart -decide 2s </dev/null             without an answer in time, the agent decides
//	quickstart -kill-after user.input.required   kill -9 itself after this type of event
//	quickstart -events                           the events as stored, one JSON line each
//
// Answers are read from the terminal, or as lines of standard input. The exit status is 0 if the
// run succeeded or is parked, 1 if it failed, 2 for an invalid command line, 130 after Ctrl-C.
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
	decide = flag.Duration("decide", 0, "let the agent decide after this time without an answer; whole seconds")
	events = flag.Bool("events", false, "print the events as stored, and the rest to standard error")
	strike = flag.String("kill-after", "", "kill -9 itself immediately after this type of `event`")
)

// eventTypes are the values of -kill-after.
var eventTypes = []string{
	lifecycle.TypeStarted, lifecycle.TypeStateChanged, lifecycle.TypeReplyAccepted, lifecycle.TypeAutoDecided,
	lifecycle.TypeInputRequired, lifecycle.TypeMessageFinal, lifecycle.TypeMessageIntermediate, lifecycle.TypeWarning,
}

func main() {
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		misusedf("unexpected argument %q, want only flags; see -help", flag.Arg(0))
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

// host serves the run of the file until it ends, or the person leaves.
func host(ctx context.Context) error {
	st, err := sqlite.Open(ctx, *file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: st, Engine: engine.Func(planner), Logger: slog.New(slog.DiscardHandler),
		Forgiving: true, // rate limits, deploys and missing sessions do not fail runs
		Grace:     -1,   // Ctrl-C does not wait for the turn, which is then repeated
	})
	if err != nil {
		return err
	}
	defer lc.Close()
	spec := lifecycle.Spec{ID: "garden-party", Prompt: "Plan a garden party.", Repeatable: true}
	spec.AutoDecide, spec.SessionTimeout = *decide > 0, *decide
	run, err := lc.Submit(ctx, spec) // returns the run with this id if the file has one
	if errors.Is(err, lifecycle.ErrSpecConflict) {
		run, err = lc.Get(ctx, spec.ID) // it began with a different -decide, and keeps it
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

// chat shows events and asks a person the questions.
type chat struct {
	lc     *lifecycle.Lifecycle
	run    lifecycle.Run // at the program's start
	out    *os.File
	open   chan *lifecycle.Question // the open question, once
	typed  bool                     // on a terminal, which shows typed text
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
		c.say(bold, "The agent plans a garden party. Leave with Ctrl-C at any time.")
	} else {
		c.say(bold, "Continuing the garden party.")
	}
	if len(c.run.Open) > 0 {
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

// show describes an event, unless this person has seen it before.
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
		c.say(amber, "\n! There was no answer in time: the agent decides.")
	case ev.Type == lifecycle.TypeInputRequired:
		run, err := c.lc.Get(ctx, c.run.ID)
		if err != nil || len(run.Open) == 0 { // already answered elsewhere
			return err
		}
		c.ask(run)
	}
	if ev.Type == *strike {
		c.say(red, "\n\n✗ kill -9, immediately after "+*strike)
		c.say("", "  Continue with the same command, without -kill-after.")
		self, err := os.FindProcess(os.Getpid())
		return errors.Join(err, self.Kill())
	}
	return nil
}

// ask shows the open question with its options and a hint.
func (c *chat) ask(run lifecycle.Run) {
	q := run.FirstOpen()
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
		case <-c.open: // replaces an unanswered question
		}
	}
}

// answer replies with the lines of standard input. At the end of the input, it leaves a run that
// would wait for a reply.
func (c *chat) answer(ctx context.Context, leave func()) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		shown := c.typed && len(c.open) > 0 // after the prompt; earlier typing is not shown
		q := <-c.open
		text := strings.TrimSpace(lines.Text())
		if !shown {
			c.say("", text)
		}
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && n > 0 && n <= len(q.Options):
			text = q.Options[n-1].Value
		case err == nil && c.typed && q.Kind != lifecycle.OpenText: // a typing error, although a reply may be any text
			c.askAgain(q, strconv.Itoa(n)+" is not one of the options.")
			continue
		}
		_, err = c.lc.Reply(ctx, c.run.ID, lifecycle.Reply{ID: q.ID, Text: text,
			Actor: lifecycle.Actor{ID: "quickstart"}})
		switch {
		case errors.Is(err, lifecycle.ErrInvalidReply):
			c.askAgain(q, "The answer is empty or too long.")
		case err != nil && ctx.Err() == nil:
			c.say(amber, "  "+err.Error())
		}
	}
	<-c.open
	if c.run.Strict {
		leave()
	}
}

// askAgain repeats a question unless a different one is open now.
func (c *chat) askAgain(q *lifecycle.Question, why string) {
	fmt.Fprint(c.out, "  "+why+" Please answer again:\n  > ")
	select {
	case c.open <- q:
	default:
	}
}

// ending prints the state of the run, and reports whether it has ended.
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
		c.say(green, "\n\n‖ Parked. The question stays open, for weeks if needed; no process runs.")
	default:
		c.say(green, "\n‖ Interrupted. The turn will be repeated.")
	}
	c.say("", "  Continue with the same command: the run is in "+*file+".")
	return false, nil
}

// say prints a text, in colour on a terminal. Characters that control a terminal are replaced.
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
