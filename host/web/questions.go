package web

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

type Inbox struct {
	Questions []OpenQuestion `json:"questions" nullable:"false"`
	Next      string         `json:"next,omitempty" doc:"The after of the next page; missing at the end."`
	Searched  int            `json:"searched,omitempty" doc:"The number of questions that a search (q) has examined so far; with next, it stopped there."`
}

type inboxInput struct {
	InboxFilter
	Paging
	Q string `query:"q" maxLength:"256" doc:"A text that the question must contain, ignoring case: in its prompt, context, tool or arguments, or in the title or id of its run. One request examines at most 10,000 questions or 200 ms."`
}

type countInput struct {
	InboxFilter
	After string `query:"after" doc:"The next of a page: counts the questions after it."`
}

// InboxFilter selects the questions of an inbox.
type InboxFilter struct {
	All       bool      `query:"all" doc:"All open questions, not only those for the caller."`
	Label     []string  `query:"label,explode" doc:"name=value that the run must have; may be repeated."`
	Pool      string    `query:"pool"`
	Key       string    `query:"key"`
	Kind      []string  `query:"kind,explode" doc:"A kind of question to include; may be repeated."`
	DueBefore time.Time `query:"due_before"`
}

func (f *InboxFilter) query(actor lifecycle.Actor) (lifecycle.InboxQuery, error) {
	labels, err := readLabels(f.Label)
	q := lifecycle.InboxQuery{For: actor, Labels: labels, Pool: f.Pool, Key: f.Key, DueBefore: f.DueBefore}
	if f.All {
		q.For = lifecycle.Actor{}
	}
	for _, kind := range f.Kind {
		q.Kinds = append(q.Kinds, lifecycle.Kind(kind))
	}
	return q, err
}

func (d *Server) inbox(ctx context.Context, c *caller, in *inboxInput) (*body[Inbox], error) {
	q, err := in.query(c.actor)
	if err != nil {
		return nil, err
	}
	q.After, q.Limit, q.Text = in.After, in.Limit, in.Q
	if q.Text != "" {
		left, err := d.countSearch(c)
		if err != nil {
			return nil, err
		}
		defer left()
	}
	page, err := c.client.Inbox(ctx, q)
	if err != nil {
		return nil, err
	}
	shown := showInbox(page.Questions, c.client.WithPrincipals(ctx, c.actor), c.client.Now())
	d.addNames(ctx, peopleOf(shown))
	return &body[Inbox]{Inbox{shown, page.Next, page.Searched}}, nil
}

// Answers is a page of the caller's own answers.
type Answers struct {
	Answers  []GivenAnswer `json:"answers" nullable:"false"`
	Next     string        `json:"next,omitempty" doc:"The after of the next page; missing at the end."`
	Searched int           `json:"searched" doc:"The number of runs examined, the newest first; with next, there are more."`
}

// GivenAnswer is an answer of the caller, with the run's result.
type GivenAnswer struct {
	RunID      string            `json:"run_id"`
	Title      string            `json:"title,omitempty" doc:"The run's title."`
	Labels     map[string]string `json:"labels,omitempty"`
	Record     Record            `json:"record"`
	State      string            `json:"state" enum:"queued,running,waiting_user,succeeded,failed,canceled" doc:"The run's state now."`
	FinishedAt time.Time         `json:"finished_at,omitzero"`
	Result     string            `json:"result,omitempty" doc:"The beginning of the run's final text, or why it failed or was canceled."`
}

type answersInput struct{ Paging }

func (d *Server) answers(ctx context.Context, c *caller, in *answersInput) (*body[Answers], error) {
	left, err := d.countSearch(c)
	if err != nil {
		return nil, err
	}
	defer left()
	page, err := c.client.Answers(ctx, lifecycle.AnswersQuery{By: c.actor, After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := Answers{make([]GivenAnswer, len(page.Answers)), page.Next, page.Searched}
	for i := range page.Answers {
		r, run := &page.Answers[i].Record, &page.Answers[i].Run
		out.Answers[i] = GivenAnswer{run.ID, run.Title, run.Labels, showRecord(r, c.actor, c.client.Now()),
			string(run.State), run.FinishedAt, beginning(run)}
	}
	d.addNames(ctx, peopleOf(out.Answers))
	return &body[Answers]{out}, nil
}

// maxBeginning is the longest Result, in bytes.
const maxBeginning = 500

func beginning(run *lifecycle.Run) string {
	text := run.FinalText
	switch {
	case run.Error != nil:
		text = run.Error.Message
	case run.CancelReason != "":
		text = run.CancelReason
	}
	if len(text) > maxBeginning {
		text = strings.ToValidUTF8(text[:maxBeginning], "") + "…"
	}
	return text
}

// InboxCount is the number of questions in an inbox.
type InboxCount struct {
	Questions int  `json:"questions"`
	More      bool `json:"more" doc:"There may be more: counting stopped at this number."`
}

func (d *Server) countInbox(ctx context.Context, c *caller, in *countInput) (*body[InboxCount], error) {
	q, err := in.query(c.actor)
	if err != nil {
		return nil, err
	}
	q.After = in.After
	n, err := c.client.CountInbox(ctx, q)
	if err != nil {
		return nil, err
	}
	return &body[InboxCount]{InboxCount(n)}, nil
}

type Questions struct {
	Questions []Question `json:"questions" nullable:"false"`
}

func (d *Server) questions(ctx context.Context, c *caller, in *RunPath) (*body[Questions], error) {
	run, err := c.client.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all := showQuestions(&run, c.client.WithPrincipals(ctx, c.actor), c.client.Now())
	d.addNames(ctx, peopleOf(all))
	return &body[Questions]{Questions{all}}, nil
}

// History is a page of the questions of a run, in order.
type History struct {
	Records []Record `json:"records" nullable:"false"`
	Next    string   `json:"next,omitempty" doc:"The after of the next page; missing at the end."`
}

type historyInput struct {
	RunPath
	Paging
	Newest bool `query:"newest" doc:"The newest first."`
}

func (in *historyInput) query() lifecycle.HistoryQuery {
	return lifecycle.HistoryQuery{Newest: in.Newest, After: in.After, Limit: in.Limit}
}

func (d *Server) history(ctx context.Context, c *caller, in *historyInput) (*body[History], error) {
	page, err := c.client.HistoryPage(ctx, in.ID, in.query())
	return d.showHistory(ctx, c, page, err)
}

func (d *Server) inherited(ctx context.Context, c *caller, in *historyInput) (*body[History], error) {
	page, err := c.client.InheritedPage(ctx, in.ID, in.query())
	return d.showHistory(ctx, c, page, err)
}

func (d *Server) showHistory(ctx context.Context, c *caller, page lifecycle.HistoryPage, err error) (*body[History],
	error) {
	if err != nil {
		return nil, err
	}
	out := History{make([]Record, len(page.Records)), page.Next}
	for i := range page.Records {
		out.Records[i] = showRecord(&page.Records[i], c.actor, c.client.Now())
	}
	d.addNames(ctx, peopleOf(out.Records))
	return &body[History]{out}, nil
}

// NewReply is an answer: a value for a form, a decision for an approval, a text otherwise.
type NewReply struct {
	Text     string          `json:"text,omitempty"`
	Value    json.RawMessage `json:"value,omitempty" doc:"A form's value, or edited arguments. Numbers stay as written."`
	Decision string          `json:"decision,omitempty" enum:"approve,edit,reject,respond"`
	Seen     string          `json:"seen,omitempty" doc:"The digest of the question as it was shown."`

	AcceptRisk bool `json:"accept_risk,omitempty" doc:"The person acknowledges the risk; required to accept one."`

	For string `json:"for,omitempty" doc:"The absent person whose deputy the caller is."`

	Remember *Remember `json:"remember,omitempty" doc:"The approval also counts for later calls of the run, if the host allows it."`
}

// Remember lets an approval also count for later calls of the tool in the run: without equal, most and any,
// for calls with the same arguments.
type Remember struct {
	Until   time.Time `json:"until,omitzero" doc:"The end; or give seconds."`
	Seconds int       `json:"seconds,omitempty" minimum:"1" doc:"The length; or give until."`
	Equal   []string  `json:"equal,omitempty" nullable:"false" maxItems:"16" doc:"JSON pointers to arguments that must be equal."`
	Most    []Limit   `json:"most,omitempty" nullable:"false" maxItems:"16" doc:"Upper limits of numeric arguments."`
	Any     bool      `json:"any,omitempty" doc:"Any arguments."`
}

func (r *NewReply) reply(now time.Time) lifecycle.Reply {
	reply := lifecycle.Reply{Text: r.Text, Value: r.Value, Decision: lifecycle.Decision(r.Decision), Seen: r.Seen,
		AcceptRisk: r.AcceptRisk}
	if m := r.Remember; m != nil {
		remember := lifecycle.Remember{Until: m.Until, Equal: m.Equal, Any: m.Any}
		if m.Until.IsZero() && m.Seconds > 0 {
			remember.Until = now.Add(time.Duration(min(m.Seconds, maxMemory)) * time.Second)
		}
		for _, l := range m.Most {
			remember.Most = append(remember.Most, lifecycle.Limit(l))
		}
		reply.Remember = &remember
	}
	return reply
}

const maxMemory = math.MaxInt32 // seconds, so that no duration overflows

// actingFor returns the caller's client as the deputy of a person; empty: for themselves.
func (c *caller) actingFor(person string) *lifecycle.Client {
	if person == "" {
		return c.client
	}
	as := c.actor
	as.For = person
	return c.client.As(as)
}

type Receipt struct {
	RunID      string    `json:"run_id"`
	Question   int       `json:"question"`
	AcceptedAt time.Time `json:"accepted_at"`
	Replayed   bool      `json:"replayed" doc:"The same reply was accepted before; this request changed nothing."`
}

type replyInput struct {
	QuestionPath
	Key  string `header:"Idempotency-Key" doc:"The same reply with the same key again gets the first receipt."`
	Body NewReply
}

func (d *Server) reply(ctx context.Context, c *caller, in *replyInput) (*created[Receipt], error) {
	if m := in.Body.Remember; m != nil && !m.Until.IsZero() && m.Seconds != 0 {
		return nil, newProblem(http.StatusBadRequest, "INVALID_ARGUMENT",
			"remember needs either until or seconds, not both.")
	}
	reply := in.Body.reply(c.client.Now())
	reply.ID, reply.Key = in.Question, in.Key
	r, err := c.actingFor(in.Body.For).Reply(ctx, in.ID, reply)
	if err != nil {
		return nil, d.withWinner(ctx, c, in.ID, err)
	}
	return newOrKnown(r.Replayed, in.url(d), Receipt{r.RunID, r.ID, r.AcceptedAt, r.Replayed}), nil
}

func (d *Server) question(ctx context.Context, c *caller, in *QuestionPath) (*body[Record], error) {
	record, err := c.client.Question(ctx, in.ID, in.Question)
	if err != nil {
		return nil, err
	}
	shown := showRecord(&record, c.client.WithPrincipals(ctx, c.actor), c.client.Now())
	d.addNames(ctx, shown.people)
	return &body[Record]{shown}, nil
}

// withWinner adds to a SettledError who settled the question, if the caller may view the run.
func (d *Server) withWinner(ctx context.Context, c *caller, id string, err error) error {
	var settled *lifecycle.SettledError
	if !errors.As(err, &settled) {
		return err
	}
	p := d.problem(c, err)
	if r, err := c.client.Question(ctx, id, settled.ID); err == nil {
		p.Settled.Actor, p.Settled.Via, p.Settled.At = r.Actor, r.Via, r.ResolvedAt
		d.addNames(ctx, p.people)
	}
	return p
}

// maxNames limits the suggested people, and the suggested groups.
const maxNames = 20

// Names are people and groups of the host's directory.
type Names struct {
	People []Name   `json:"people" nullable:"false"`
	Groups []string `json:"groups" nullable:"false"`
}

// Name is a person of the host's directory.
type Name struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

type namesInput struct {
	QuestionPath
	Q string `query:"q" required:"true" minLength:"1" maxLength:"64" doc:"The beginning of an id or of a word of a name, ignoring case. At most 20 people and 20 groups are suggested."`
}

func (d *Server) names(ctx context.Context, c *caller, in *namesInput) (*body[Names], error) {
	left, err := d.countSearch(c)
	if err != nil {
		return nil, err
	}
	defer left()
	record, err := c.client.Question(ctx, in.ID, in.Question)
	if err != nil {
		return nil, err
	}
	actor := c.client.WithPrincipals(ctx, c.actor)
	if record.Resolution != "" || !record.Question.To.AdmitsAny(actor) {
		return nil, newProblem(http.StatusForbidden, "NOT_ALLOWED", "Names are suggested only to people who are asked "+
			"this question now.")
	}
	out := Names{[]Name{}, []string{}}
	if d.opts.Directory == nil {
		return &body[Names]{out}, nil
	}
	found, err := d.opts.Directory.People(ctx, in.Q, "", maxNames)
	if grouped, ok := d.opts.Directory.(people.Grouped); ok && err == nil {
		out.Groups, err = grouped.Groups(ctx, in.Q, maxNames)
	}
	if err != nil {
		d.log.Warn("web: the directory cannot be searched", "err", err)
		return nil, newProblem(http.StatusServiceUnavailable, "UNAVAILABLE", "The directory cannot be searched now.")
	}
	for i := range found[:min(len(found), maxNames)] {
		out.People = append(out.People, Name{found[i].ID, found[i].Name})
	}
	out.Groups = append([]string{}, out.Groups[:min(len(out.Groups), maxNames)]...)
	return &body[Names]{out}, nil
}

type claimInput struct {
	QuestionPath
	Body struct {
		Until   time.Time `json:"until,omitzero" doc:"The end of the claim; or give seconds."`
		Seconds int       `json:"seconds,omitempty" minimum:"1" maximum:"2678400" doc:"The length of the claim; or give until."`
		For     string    `json:"for,omitempty" doc:"The absent person whose deputy the caller is."`
	}
}

func (d *Server) claim(ctx context.Context, c *caller, in *claimInput) error {
	until := in.Body.Until
	if until.IsZero() == (in.Body.Seconds == 0) {
		return newProblem(http.StatusBadRequest, "INVALID_ARGUMENT", "A claim needs either until or seconds, not both.")
	}
	if until.IsZero() {
		until = c.client.Now().Add(time.Duration(in.Body.Seconds) * time.Second)
	}
	return d.withWinner(ctx, c, in.ID, c.actingFor(in.Body.For).Claim(ctx, in.ID, in.Question, until))
}

// NoteReceipt confirms a note.
type NoteReceipt struct {
	Note     int       `json:"note" doc:"The number of the note, from 1 for each question."`
	NotedAt  time.Time `json:"noted_at"`
	Replayed bool      `json:"replayed" doc:"The same note was accepted before; this request changed nothing."`
}

type noteInput struct {
	QuestionPath
	Key  string `header:"Idempotency-Key" doc:"The same note with the same key again gets the first receipt."`
	Body struct {
		Text string `json:"text" doc:"The note, at most 4,096 bytes."`
		For  string `json:"for,omitempty" doc:"The absent person whose deputy the caller is."`
	}
}

func (d *Server) note(ctx context.Context, c *caller, in *noteInput) (*created[NoteReceipt], error) {
	r, err := c.actingFor(in.Body.For).Note(ctx, in.ID, in.Question, lifecycle.Note{Text: in.Body.Text, Key: in.Key})
	if err != nil {
		return nil, d.withWinner(ctx, c, in.ID, err)
	}
	return newOrKnown(r.Replayed, in.url(d), NoteReceipt{r.Number, r.NotedAt, r.Replayed}), nil
}

func (d *Server) release(ctx context.Context, c *caller, in *QuestionPath) error {
	return d.withWinner(ctx, c, in.ID, c.client.Release(ctx, in.ID, in.Question))
}

func (d *Server) forget(ctx context.Context, c *caller, in *QuestionPath) error {
	return c.client.Forget(ctx, in.ID, in.Question)
}

type reassignInput struct {
	QuestionPath
	Body struct {
		From *Audience `json:"from,omitempty" doc:"The audience that the caller saw; missing: everybody."`
		To   Audience  `json:"to"`
		For  string    `json:"for,omitempty" doc:"The absent person whose deputy the caller is."`
	}
}

func (d *Server) reassign(ctx context.Context, c *caller, in *reassignInput) error {
	err := c.actingFor(in.Body.For).Reassign(ctx, in.ID, in.Question, in.Body.From.audience(), *in.Body.To.audience())
	return d.withWinner(ctx, c, in.ID, err)
}

type extendInput struct {
	QuestionPath
	Body struct {
		Until time.Time `json:"until"`
	}
}

func (d *Server) extend(ctx context.Context, c *caller, in *extendInput) error {
	return d.withWinner(ctx, c, in.ID, c.client.Extend(ctx, in.ID, in.Question, in.Body.Until))
}
