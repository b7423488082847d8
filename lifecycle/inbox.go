package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/store"
)

// InboxQuery filters and pages an inbox. Zero fields do not filter.
type InboxQuery struct {
	// For selects the questions that this person may answer, also as a deputy, and has not voted on.
	// The zero Actor selects all open questions.
	For Actor
	// Labels filters by the labels of the questions' runs; all must match.
	Labels map[string]string
	Pool   string
	Key    string
	Kinds  []Kind
	// Text selects the questions that contain it, ignoring case: in the prompt, the context, the
	// subject's tool, arguments, title or risk, or the title or id of the run; at most MaxSearchText
	// bytes. A search has no index: a call examines MaxInboxRead questions at most, and stops after
	// MaxSearchTime; see InboxPage.
	Text string
	// DueBefore selects questions of runs with a Run.Deadline before this time.
	DueBefore time.Time
	// After is the Next of the previous page; empty starts with the oldest question.
	After string
	// Limit is the maximum number of questions, from 1 to 1000; 0 means 100.
	Limit int
}

// InboxPage is one page of an inbox, oldest question first. Unless Next is empty, more may follow, even
// if the page has few or no questions: a call reads about MaxInboxRead runs at most.
type InboxPage struct {
	Questions []InboxQuestion
	Next      string
	// Searched is how many questions a call with InboxQuery.Text has examined.
	Searched int
}

// InboxQuestion is an open question, with the data of its run for a respondent.
type InboxQuestion struct {
	RunID string
	// Ancestors are the runs above it, from the tree's root to its parent; nil without a parent.
	Ancestors []string
	Title     string
	Labels    map[string]string
	Pool      string
	Key       string
	Question  Question
	// Due is the Run.Deadline: the next step or end of a wait of the run's questions; zero if none.
	Due time.Time
	// Then is the action at EndsAt; zero: the question waits without limit. See Run.EndOf.
	Then   Then
	EndsAt time.Time
	// For is the person for whom InboxQuery.For may answer as a deputy: pass it as Actor.For. Empty: as
	// themselves.
	For string
}

// InboxCount counts an inbox's questions. If More is set, there may be more.
type InboxCount struct {
	Questions int
	More      bool
}

// MaxInboxRead is the approximate limit of the runs that one call of Inbox, CountInbox or SearchRuns
// reads.
const MaxInboxRead = 10_000

// Inbox lists open questions, oldest first, and by number within a run. Across pages, each question
// that stays open is listed once. Its cost does not grow with the runs that wait for other people.
//
// An approval is hidden while the host's policy decides about it (Question.HiddenUntil). Pages end at
// about 4 MiB. Authorize is asked once, with the query as Access.Inbox.
func (c *Client) Inbox(ctx context.Context, query InboxQuery) (InboxPage, error) {
	r := inboxReader{query: &query, limit: cmp.Or(query.Limit, 100)}
	err := c.readInbox(ctx, &r)
	return r.page, err
}

func (c *Client) readInbox(ctx context.Context, r *inboxReader) (err error) {
	if r.place, err = c.checkInbox(ctx, r.query); err != nil {
		return err
	}
	if err := c.allowInbox(ctx, r.query); err != nil {
		return err
	}
	r.now = c.proc.Now()
	c.deputies.findForList(ctx, &r.query.For, r.now)
	if r.query.Text != "" {
		r.search = &search{text: strings.ToLower(r.query.Text), begun: time.Now()}
	}
	waiting := r.query.waiting(r.now)
	for read := 0; read < MaxInboxRead; read += waiting.Limit {
		waiting.After = r.place.after
		// one more than there is room for shows whether another question follows
		waiting.Limit = min(max(r.limit+1, 2*waiting.Limit), store.MaxBatch)
		found, err := c.proc.Store.Waiting(ctx, waiting)
		if err != nil {
			r.page = InboxPage{}
			return err
		}
		if !r.counts {
			r.page.Questions = slices.Grow(r.page.Questions, min(len(found.Runs), r.limit-r.count))
		}
		for i := range found.Runs {
			if !r.add(&found.Runs[i]) || r.search.spent() {
				r.page.Next = r.place.String()
				return nil
			}
		}
		if found.Next == "" {
			return nil
		}
		if r.full() {
			break
		}
		r.place = inboxPlace{after: found.Next}
	}
	r.page.Next = r.place.String()
	return nil
}

// CountInbox counts the questions that Inbox lists after query.After; Limit is ignored. It counts
// at most 1000, fewer large ones, and says whether there are more.
func (c *Client) CountInbox(ctx context.Context, query InboxQuery) (InboxCount, error) {
	query.Limit = store.MaxBatch
	r := inboxReader{query: &query, limit: query.Limit, counts: true}
	err := c.readInbox(ctx, &r)
	return InboxCount{r.count, r.page.Next != ""}, err
}

// waiting is the query for runs that may have matching questions.
func (q *InboxQuery) waiting(now time.Time) store.WaitingQuery {
	w := store.WaitingQuery{Query: store.Query{Pool: q.Pool, Key: q.Key, Labels: q.Labels}, DueBefore: q.DueBefore,
		VisibleAt: now}
	if !q.For.IsZero() {
		w.For = &q.For
	}
	return w
}

// matches reports whether a question passes the question filters, and who would answer it.
func (q *InboxQuery) matches(o *Question, now time.Time) (by Actor, ok bool) {
	if o.Hidden(now) || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, o.Kind) {
		return by, false
	}
	if q.For.IsZero() {
		return by, true
	}
	return o.Represents(q.For, now)
}

type inboxReader struct {
	query *InboxQuery
	limit int
	// counts: the page stays empty.
	counts bool
	search *search // nil: every question is listed
	page   InboxPage
	now    time.Time // hides questions that the host's policy decides
	count  int
	size   int        // of the page, in bytes
	place  inboxPlace // the end of the last page
}

func (r *inboxReader) full() bool { return r.count == r.limit || r.size > store.MaxPage }

// add adds the questions of the next run. It returns false without room.
func (r *inboxReader) add(run *Run) bool {
	for i := range run.Open {
		o := &run.Open[i]
		if run.ID == r.place.runID && o.ID <= r.place.question {
			continue
		}
		by, ok := r.query.matches(o, r.now)
		if !ok {
			continue
		}
		if r.full() {
			return false
		}
		if !r.finds(run, o) {
			continue
		}
		r.count++
		r.place.runID, r.place.question = run.ID, o.ID
		if r.counts {
			continue
		}
		r.size += questionSize(o)
		then, at := run.EndOf(o)
		r.page.Questions = append(r.page.Questions, InboxQuestion{RunID: run.ID, Ancestors: ancestorsOf(run),
			Title: run.Title, Labels: run.Labels, Pool: run.Pool, Key: run.Key, Question: *o, Due: run.Deadline,
			Then: then, EndsAt: at, For: by.For})
	}
	r.place = inboxPlace{after: store.Cursor{At: run.Open[0].AskedAt, ID: run.ID}.String()}
	return true
}

// questions returns the open questions of the run that the watched inbox lists. It needs w.mu.
func (w *InboxWatch) questions(run *Run) []InboxQuestion {
	if run == nil {
		return nil
	}
	waiting := w.waiting
	if waiting.VisibleAt = w.client.proc.Now(); !waiting.Matches(run) {
		return nil
	}
	r := inboxReader{query: &w.query, limit: len(run.Open), now: waiting.VisibleAt}
	r.add(run)
	return r.page.Questions
}

// inboxPlace is a place in an inbox: after a waiting run and, if the run's id is set, after a
// question of the next run.
type inboxPlace struct {
	after    string
	runID    string
	question int
}

func (p inboxPlace) String() string {
	if p.runID == "" {
		return p.after
	}
	return p.after + "." + strconv.Itoa(p.question) + "." + p.runID
}

var errNoInboxPlace = errors.New("not the Next of a page")

func readInboxPlace(text string) (p inboxPlace, _ error) {
	after, inside, has := strings.Cut(text, ".")
	if p.after = after; after != "" {
		if _, err := store.ReadCursor(after); err != nil {
			return p, errNoInboxPlace
		}
	}
	if !has {
		return p, nil
	}
	number, id, _ := strings.Cut(inside, ".")
	var err error
	if p.question, err = strconv.Atoi(number); err != nil || p.question < 1 || !idPattern.matches(id) {
		return p, errNoInboxPlace
	}
	p.runID = id
	return p, nil
}

var questionKinds = []Kind{ChooseOne, Confirm, FillFields, OpenText,
	RiskAck, Approval}

// checkInbox checks the arguments of Inbox, and parses the place where the page begins.
func (c *Client) checkInbox(ctx context.Context, q *InboxQuery) (place inboxPlace, _ error) {
	all := Query{Labels: q.Labels, Pool: q.Pool, Key: q.Key, Limit: q.Limit}
	if err := cmp.Or(c.check(ctx), validateQuery(&all)); err != nil {
		return place, err
	}
	if err := validateText(q.Text); err != nil {
		return place, err
	}
	place, err := readInboxPlace(q.After)
	if err != nil {
		return place, &ArgumentError{"query.After", quote(q.After), "the Next of a page, or nothing for the first page",
			nil}
	}
	if err := validatePerson("query.For", q.For); err != nil {
		return place, err
	}
	if len(q.Kinds) > store.MaxBatch {
		return place, &ArgumentError{"query.Kinds", entriesOf(len(q.Kinds)), fmt.Sprintf("at most %d", store.MaxBatch),
			nil}
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(questionKinds, kind) {
			return place, &ArgumentError{"query.Kinds", quote(string(kind)), fmt.Sprintf("kinds of %q", questionKinds),
				nil}
		}
	}
	return place, validateTime("query.DueBefore", q.DueBefore)
}

func validatePerson(argument string, a Actor) error {
	var fault *FieldError
	if err := a.Validate(); errors.As(err, &fault) {
		return &ArgumentError{argument + strings.TrimPrefix(fault.Field, "Actor"), fault.Value, fault.Want, fault}
	}
	return nil
}

func ancestorsOf(r *store.Run) []string {
	if r.Family == nil {
		return nil
	}
	return r.Family.Ancestors
}
