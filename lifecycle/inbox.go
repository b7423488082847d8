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
	// For asks for the questions that this person may answer, by ID or group: those for everybody,
	// too, and none that excepts the person, or that the person has voted on. The zero Actor asks
	// for all open questions.
	For Actor
	// Labels filters by the labels of the questions' runs; all must match.
	Labels map[string]string
	// Pool and Key filter by the questions' runs.
	Pool string
	Key  string
	// Kinds are the accepted kinds of question.
	Kinds []Kind
	// DueBefore selects the questions of runs with a Run.Deadline before this time: when the next step
	// or end of one of their questions' waits falls due.
	DueBefore time.Time
	// After is the Next of the page before; empty starts with the oldest question.
	After string
	// Limit is the most questions to return, from 1 to 1000; 0 means 100.
	Limit int
}

// InboxPage is one page of an inbox, the oldest question first. If Next is empty, no question
// follows. With Next, there may be more: a call reads about MaxInboxRead runs at most, so that a
// page may have fewer questions than the limit, or none, although others follow.
type InboxPage struct {
	Questions []InboxQuestion
	Next      string
}

// InboxQuestion is an open question, with the information about its run that a respondent needs.
type InboxQuestion struct {
	RunID string
	// Ancestors are the runs above it, from the root of its tree down to its parent; nil for a
	// run that no other has started.
	Ancestors []string
	Title     string
	Labels    map[string]string
	Pool      string
	Key       string
	// Question is the question, with its time (AskedAt) and audience (To; nil: everybody).
	Question Question
	// Due is the Run.Deadline: when the next step or end of one of the run's questions' waits falls
	// due; zero if none does. A question with a Wait has its end in Question.EndsAt.
	Due time.Time
	// Then is what happens to the question without a reply, and EndsAt when; zero: it waits without
	// limit. See Run.EndOf.
	Then   Then
	EndsAt time.Time
}

// InboxCount is how many questions an inbox has. If More is set, there may be more than these.
type InboxCount struct {
	Questions int
	More      bool
}

// MaxInboxRead is about how many runs one call of Inbox or CountInbox reads.
const MaxInboxRead = 10_000

// Inbox lists open questions, the oldest first, and questions of one run in the order of their
// numbers. Across pages, each question that stays open is listed once, regardless of concurrent
// changes. Its cost does not grow with the number of runs that wait for other people, or for none.
//
// Kinds is checked question by question: if few of many questions have the kind, pages are short.
// Pages of large questions end at about 4 MiB. Authorize is asked once, with the query as
// Access.Inbox.
func (c *Client) Inbox(ctx context.Context, query InboxQuery) (InboxPage, error) {
	r := inboxReader{query: &query, limit: cmp.Or(query.Limit, 100)}
	err := c.readInbox(ctx, &r)
	return r.page, err
}

// readInbox fills the reader's page.
func (c *Client) readInbox(ctx context.Context, r *inboxReader) (err error) {
	if r.place, err = c.checkInbox(ctx, r.query); err != nil {
		return err
	}
	if err := c.allowInbox(ctx, r.query); err != nil {
		return err
	}
	waiting := r.query.waiting()
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
			if !r.add(&found.Runs[i]) {
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

// CountInbox counts the questions that Inbox lists, from query.After on; Limit is not used. It
// counts at most 1000, of large ones fewer, and says whether there are more.
func (c *Client) CountInbox(ctx context.Context, query InboxQuery) (InboxCount, error) {
	query.Limit = store.MaxBatch
	r := inboxReader{query: &query, limit: query.Limit, counts: true}
	err := c.readInbox(ctx, &r)
	return InboxCount{r.count, r.page.Next != ""}, err
}

// waiting is the query for the runs that may have such questions.
func (q *InboxQuery) waiting() store.WaitingQuery {
	w := store.WaitingQuery{Query: store.Query{Pool: q.Pool, Key: q.Key, Labels: q.Labels}, DueBefore: q.DueBefore}
	if !q.For.IsZero() {
		w.For = &q.For
	}
	return w
}

// matches reports whether a question passes the filters that are about questions.
func (q *InboxQuery) matches(o *Question) bool {
	mine := q.For.IsZero() || o.To.Admits(q.For) && (q.For.ID == "" || o.VoteOf(q.For) == nil)
	return mine && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, o.Kind))
}

// inboxReader fills a page.
type inboxReader struct {
	query *InboxQuery
	limit int
	// counts: the questions are only counted, and the page stays empty.
	counts bool
	page   InboxPage
	count  int
	size   int        // of the page, in bytes
	place  inboxPlace // the end of the last page
}

// full reports whether the page has no room for another question.
func (r *inboxReader) full() bool { return r.count == r.limit || r.size > store.MaxPage }

// add adds the questions of the next run. It returns false once there is no room.
func (r *inboxReader) add(run *Run) bool {
	for i := -1; i < len(run.Siblings); i++ {
		o := run.Pending
		if i >= 0 {
			o = &run.Siblings[i]
		}
		if run.ID == r.place.runID && o.ID <= r.place.question || !r.query.matches(o) {
			continue
		}
		if r.full() {
			return false
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
			Then: then, EndsAt: at})
	}
	r.place = inboxPlace{after: store.Cursor{At: run.Pending.AskedAt, ID: run.ID}.String()}
	return true
}

// inboxPlace is a place in an inbox: after a waiting run, and, unless the run's id is empty, after
// a question of the next run.
type inboxPlace struct {
	after    string
	runID    string
	question int
}

// String is the opaque form of a place, for InboxPage.Next.
func (p inboxPlace) String() string {
	if p.runID == "" {
		return p.after
	}
	return p.after + "." + strconv.Itoa(p.question) + "." + p.runID
}

var errNoInboxPlace = errors.New("not the Next of a page")

// readInboxPlace reads the opaque form.
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

// questionKinds are the kinds of question.
var questionKinds = []Kind{ChooseOne, Confirm, FillFields, OpenText,
	RiskAck, Approval}

// checkInbox checks the arguments of Inbox, and reads the place where the page begins.
func (c *Client) checkInbox(ctx context.Context, q *InboxQuery) (place inboxPlace, _ error) {
	all := Query{Labels: q.Labels, Pool: q.Pool, Key: q.Key, Limit: q.Limit}
	if err := cmp.Or(c.check(ctx), validateQuery(&all)); err != nil {
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

// validatePerson returns an error if the person of a filter is not a valid actor.
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
