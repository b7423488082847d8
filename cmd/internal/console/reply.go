package console

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var replyVerb = command.Verb{
	Name: "reply", Args: "RUN [TEXT]", Does: "answer an open question of a run",
	More: "Without an answer it shows the question and asks on a terminal; elsewhere it reads a text from standard " +
		"input. An option's number selects it. A form takes -value, an approval -decision.",
	Prepare: func(f *flag.FlagSet) command.Action {
		a := &answering{db: NewDatabase(f).withDirectory(f), who: newPerson(f, self())}
		f.StringVar(&a.who.of, "for", "", "the absent `person` whose deputy answers; needs -directory")
		asJSON, columns := jsonFlag(f), columnsFlag(f)
		f.IntVar(&a.number, "question", 0, "the `number` of the question; optional if only one is open")
		f.StringVar(&a.text, "text", "", "the answer as a `text`, or a comment on a decision")
		f.StringVar(&a.value, "value", "", "the value of a form, or edited arguments, as `JSON`")
		f.StringVar(&a.decision, "decision", "", "the `word` for an approval: approve, edit, reject or respond")
		f.StringVar(&a.key, "key", "", "the same reply with the same `key` again changes nothing, and succeeds")
		f.BoolVar(&a.acceptRisk, "accept-risk", false, "acknowledge the risk: needed to accept one")
		a.remember.flags(f)
		f.StringVar(&a.seen, "seen", "", "the `digest` of the question as it was seen: refused if it has changed since")
		return func(ctx context.Context, c command.Call) (int, error) {
			if err := a.read(c.Args); err != nil {
				return command.Misused, err
			}
			p := newPrinter(c.Out, *asJSON)
			p.columns = *columns
			return a.db.with(ctx, once, func(cl *client) error { return a.reply(ctx, c, cl, p) })
		}
	},
}

type answering struct {
	db  *Database
	who *person

	run, text, value, decision, key, seen string
	number                                int
	acceptRisk                            bool
	flagged                               bool // the text comes from -text
	remember                              remembering
}

// read reads the arguments and makes the checks that need no database.
func (a *answering) read(args []string) error {
	switch {
	case len(args) == 0:
		return command.Misusef("want a run: interlude inbox lists open questions; then interlude reply RUN")
	case len(args) > 2:
		return command.Misusef("want RUN and one TEXT, got %d arguments: put the text in quotes", len(args))
	case len(args) == 2 && a.text != "":
		return command.Misusef("the text is given twice, with -text and as an argument: leave one of them out")
	case len(args) == 2:
		a.text = args[1]
	}
	a.flagged = len(args) < 2
	a.run = args[0]
	decisions := []lifecycle.Decision{lifecycle.Approve, lifecycle.Edit, lifecycle.Reject, lifecycle.Respond}
	if a.decision != "" && !slices.Contains(decisions, lifecycle.Decision(a.decision)) {
		return command.Misusef("-decision is %.80q, want approve, edit, reject or respond", a.decision)
	}
	if a.value != "" && !json.Valid([]byte(a.value)) {
		return command.Misusef("-value is not valid JSON: %.80q (write a text \"in quotes\")", a.value)
	}
	return a.remember.check()
}

func (a *answering) given() bool { return a.text != "" || a.value != "" || a.decision != "" }

func (a *answering) reply(ctx context.Context, c command.Call, cl *client, p *printer) error {
	actor, err := a.who.actor()
	if err != nil {
		return err
	}
	run, err := cl.Get(ctx, a.run)
	if err != nil {
		return err
	}
	q, repeated, err := a.repeated(ctx, cl)
	if err == nil && !repeated {
		q, err = a.question(&run)
	}
	if err != nil {
		return err
	}
	if repeated && !a.given() && terminal.Is(c.In) {
		return winner(ctx, cl, a.run, q.ID, command.Refusef("question %d of %s is settled", q.ID, a.run))
	}
	r, err := a.answer(ctx, c, cl, p, q)
	if err != nil {
		return err
	}
	r.Actor, r.Key, r.Remember = actor, a.key, a.remember.request(cl.Now())
	if a.seen != "" {
		r.Seen = a.seen
	}
	receipt, err := cl.Reply(ctx, a.run, r)
	if err != nil {
		if errors.Is(err, lifecycle.ErrSettled) {
			return winner(ctx, cl, a.run, r.ID, err)
		}
		return err
	}
	p.receipt(receipt)
	return p.err
}

// answer returns the answer, without its author, from the command line, the terminal or standard
// input. If the question is not open (nil), the client decides about an answer of the command line:
// it may repeat an accepted one.
func (a *answering) answer(ctx context.Context, c command.Call, cl *client, p *printer, q *lifecycle.Question) (
	lifecycle.Reply, error) {
	switch {
	case q == nil && a.given():
		return a.asGiven(&lifecycle.Question{ID: a.number})
	case q == nil:
		closed := fmt.Errorf("run %s has no open question %d: interlude show %[1]s", a.run, a.number)
		return lifecycle.Reply{}, winner(ctx, cl, a.run, a.number, command.Refusef("%w", closed))
	case a.given():
		return a.asGiven(q)
	case terminal.Is(c.In) && terminal.Live(c.Out) && !p.json:
		p.asks, p.named = true, cl.named(ctx)
		p.question(q, cl.Now())
		return asker{ctx: ctx, in: c.In, out: c.Out, columns: p.columns}.ask(q)
	case terminal.Is(c.In):
		return lifecycle.Reply{}, command.Misusef("want an answer: interlude reply %s TEXT, or -value or -decision",
			a.run)
	default:
		return a.piped(q, c.In)
	}
}

func (p *printer) receipt(r lifecycle.Receipt) {
	if p.json {
		p.object(web.Receipt{RunID: r.RunID, Question: r.ID, AcceptedAt: r.AcceptedAt, Replayed: r.Replayed})
		return
	}
	text := fmt.Sprintf("✓ question %d of %s is answered", r.ID, r.RunID)
	if r.Replayed {
		text += ", as before"
	}
	p.line(terminal.Green, text)
}

// question returns the question of the command line; nil if it is not open.
func (a *answering) question(run *lifecycle.Run) (*lifecycle.Question, error) {
	if a.number == 0 && len(run.Open) == 0 {
		if run.State.Terminal() {
			return nil, command.Refusef("run %s has ended (%s): it has no open question", run.ID, run.State)
		}
		return nil, command.Refusef("run %s has no open question now (%s): follow it with interlude events -f", run.ID,
			run.State)
	}
	number, err := theOnly(a.number, run.ID, "open questions", openNumbers(run))
	if err != nil {
		return nil, err
	}
	a.number = number
	return run.OpenQuestion(number), nil
}

// repeated returns the question for which a reply with this key was accepted, so that the same
// command repeats the same reply even if other questions are open now.
func (a *answering) repeated(ctx context.Context, cl *client) (*lifecycle.Question, bool, error) {
	if a.key == "" {
		return nil, false, nil
	}
	record, err := cl.QuestionWithKey(ctx, a.run, a.key)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil, false, nil
	}
	repeated := err == nil && (a.number == 0 || a.number == record.Question.ID)
	return &record.Question, repeated, err
}

func (a *answering) asGiven(q *lifecycle.Question) (lifecycle.Reply, error) {
	text, err := Option(q.Options, a.text)
	if err != nil && !a.flagged {
		return lifecycle.Reply{}, fmt.Errorf("%w, or -text %s for the text itself", err, a.text)
	}
	r := lifecycle.Reply{ID: q.ID, Text: text, Decision: lifecycle.Decision(a.decision),
		AcceptRisk: a.acceptRisk}
	if a.value != "" {
		r.Value = json.RawMessage(a.value)
	}
	return r, nil
}

// Option replaces the number of an option by its value, unless an option has that value. A number
// without an option is returned with an error.
func Option(options []lifecycle.Option, text string) (string, error) {
	for _, o := range options {
		if o.Value == text {
			return text, nil
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange) || len(options) == 0:
		return text, nil
	case n < 1 || n > len(options):
		return text, command.Misusef("there is no option %s: want 1 to %d", strings.TrimSpace(text), len(options))
	}
	return options[n-1].Value, nil
}

func (a *answering) piped(q *lifecycle.Question, in io.Reader) (lifecycle.Reply, error) {
	body, err := io.ReadAll(io.LimitReader(in, 2*lifecycle.MaxReplyText))
	if err != nil {
		return lifecycle.Reply{}, err
	}
	text := strings.TrimSpace(string(body))
	switch {
	case text == "":
		return lifecycle.Reply{}, command.Misusef("want an answer on standard input, got none: interlude reply %s "+
			"TEXT, or -value or -decision", a.run)
	case q.Subject == nil && len(q.Schema) > 0 && json.Valid([]byte(text)):
		return lifecycle.Reply{ID: q.ID, Value: json.RawMessage(text)}, nil // a form states no risk
	}
	text, err = Option(q.Options, text)
	return lifecycle.Reply{ID: q.ID, Text: text, AcceptRisk: a.acceptRisk}, err
}

// winner returns an error that names who settled the question; err itself if it is open.
func winner(ctx context.Context, cl *client, id string, number int, err error) error {
	if r, reading := cl.Question(ctx, id, number); reading == nil && r.Resolution != "" {
		return command.Refusef("too late: question %d of %s was settled by %s", number, id, settlement(&r))
	}
	return err
}
