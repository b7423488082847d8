package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// HistoryQuery selects a page of a run's questions. The zero value is the first page.
type HistoryQuery struct {
	// Newest reverses the order.
	Newest bool
	// After is the Next of the previous page; empty for the first page.
	After string
	// Limit is the maximum number of records, from 1 to 1000; 0 means 100.
	Limit int
}

// HistoryPage is a page of a run's questions, of fewer records than the limit if they are large. Next
// is empty at the end.
type HistoryPage struct {
	Records []Record
	Next    string
}

// HistoryPage returns a page of the run's questions by number, with their resolutions; open
// questions have none. A page takes about 256 KiB of memory, plus its largest record.
func (c *Client) HistoryPage(ctx context.Context, id string, query HistoryQuery) (HistoryPage, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return HistoryPage{}, err
	}
	q, err := query.forStore()
	if err != nil {
		return HistoryPage{}, err
	}
	run, page, err := c.readHistory(ctx, id, q)
	if err == nil {
		err = c.allow(ctx, ActionView, &run, run.FirstOpen())
	}
	if err != nil {
		return HistoryPage{}, err
	}
	return page, nil
}

// History returns all pages of HistoryPage at once, possibly thousands of questions, which may be
// settled while it reads.
func (c *Client) History(ctx context.Context, id string) (all []Record, _ error) {
	for q := (HistoryQuery{Limit: store.MaxBatch}); ; {
		page, err := c.HistoryPage(ctx, id, q)
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Records...); page.Next == "" {
			return all, nil
		}
		q.After = page.Next
	}
}

func (q HistoryQuery) forStore() (store.HistoryQuery, error) {
	s := store.HistoryQuery{Newest: q.Newest, Limit: cmp.Or(q.Limit, 100)}
	if s.Limit < 1 || s.Limit > store.MaxBatch {
		return s, &ArgumentError{"query.Limit", fmt.Sprint(q.Limit),
			fmt.Sprintf("1 to %d, or 0 for 100", store.MaxBatch), nil}
	}
	if q.After == "" {
		return s, nil
	}
	var err error
	if s.After, err = strconv.Atoi(q.After); err != nil || s.After < 1 {
		return s, &ArgumentError{"query.After", quote(q.After),
			"the Next of a page, or nothing for the first page", nil}
	}
	return s, nil
}

func (c *Client) readHistory(ctx context.Context, id string, q store.HistoryQuery) (Run, HistoryPage, error) {
	run, settled, err := c.proc.Store.History(ctx, id, q)
	if err == nil {
		err = store.CheckHistory(ctx, c.proc.Store, &run, q, settled)
	}
	if err != nil {
		return run, HistoryPage{}, err
	}
	return run, historyPage(&run, q, settled), nil
}

// historyPage merges the run's open questions into the settled ones.
func historyPage(run *Run, q store.HistoryQuery, settled []Record) (page HistoryPage) {
	number, step := q.After+1, 1
	if q.Newest {
		number, step = cmp.Or(q.After, run.Interactions+1)-1, -1
	}
	for ; 1 <= number && number <= run.Interactions; number += step {
		open := run.OpenQuestion(number)
		switch {
		case len(page.Records) == q.Limit || open == nil && len(settled) == 0:
			page.Next = strconv.Itoa(number - step)
			return page
		case open != nil:
			page.Records = append(page.Records, Record{Question: *open})
		default:
			page.Records, settled = append(page.Records, withoutHandles(settled[0])), settled[1:]
		}
	}
	return page
}

// withoutHandles removes the data for engines and Fork.
func withoutHandles(r Record) Record {
	r.Session, r.Journal = nil, 0
	return r
}

// InheritedPage returns a page of the history that a fork inherited, up to the answer with which it
// began. Questions keep their original numbers. It is empty for a run that is no fork.
func (c *Client) InheritedPage(ctx context.Context, id string, query HistoryQuery) (page HistoryPage, _ error) {
	if err := c.checkRun(ctx, id); err != nil {
		return page, err
	}
	q, err := query.forStore()
	if err != nil {
		return page, err
	}
	all, err := c.Inherited(ctx, id)
	if err != nil {
		return page, err
	}
	// The place is an index, since a fork of a fork may have a question's number twice.
	place, step := q.After+1, 1
	if q.Newest {
		place, step = cmp.Or(q.After, len(all)+1)-1, -1
	}
	for size := 0; 1 <= place && place <= len(all); place += step {
		if len(page.Records) == q.Limit || size > store.MinPage {
			page.Next = strconv.Itoa(place - step)
			break
		}
		size += recordSize(&all[place-1])
		page.Records = append(page.Records, all[place-1])
	}
	return page, nil
}

// Inherited returns all pages of InheritedPage at once: at most 16 MiB.
func (c *Client) Inherited(ctx context.Context, id string) ([]Record, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return nil, err
	}
	if err := c.allowView(ctx, id); err != nil {
		return nil, err
	}
	body, err := c.proc.Store.Spec(ctx, id)
	if err != nil {
		return nil, err
	}
	_, from, err := decodeSubmitted(id, body)
	if err != nil || from == nil {
		return nil, err
	}
	return from.History, nil
}

// Question returns one question of the run; an open one has no resolution. A person without the right
// to view the run may read an open question whose audience includes them, or an absent person for
// whom they act, if Authorize allows ActionReply. ErrNotFound: no such run or question.
func (c *Client) Question(ctx context.Context, id string, question int) (Record, error) {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return Record{}, err
	}
	run, err := c.proc.Store.Run(ctx, id)
	if err != nil {
		return Record{}, err
	}
	q := run.OpenQuestion(question)
	if err := c.allow(ctx, ActionView, &run, run.FirstOpen()); err != nil && !c.isAsked(ctx, &run, q) {
		return Record{}, err
	}
	if q != nil {
		return Record{Question: *q}, nil
	}
	record, err := c.proc.Store.Interaction(ctx, id, question)
	if errors.Is(err, ErrNotFound) && 1 <= question && question <= run.Interactions {
		err = cmp.Or(lostRecord(ctx, c.proc.Store, id, question), err)
	}
	return withoutHandles(record), err
}

// isAsked reports whether the actor may answer the open question now, or could without a claim or
// an earlier vote. q may be nil.
func (c *Client) isAsked(ctx context.Context, run *Run, q *Question) bool {
	now := c.proc.Now()
	if q == nil || q.Hidden(now) {
		return false
	}
	actor := c.WithPrincipals(ctx, c.caller())
	if !q.To.AdmitsAny(actor) {
		return false
	}
	by, _ := q.Represents(actor, now)
	return c.allowActor(ctx, by, ActionReply, run, q) == nil
}

// QuestionWithKey returns the question that accepted a reply or vote with this idempotency key, or
// ErrNotFound.
func (c *Client) QuestionWithKey(ctx context.Context, id, key string) (Record, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return Record{}, err
	}
	run, err := c.proc.Store.Run(ctx, id)
	if err == nil {
		err = c.allow(ctx, ActionView, &run, run.FirstOpen())
	}
	if err != nil {
		return Record{}, err
	}
	record, err := c.proc.Store.Settled(ctx, id, key)
	if !errors.Is(err, ErrNotFound) || run.Votes == 0 || key == "" {
		return withoutHandles(record), err
	}
	voted, vote, reading := voteWithKey(ctx, c.proc.Store, &run, key)
	if vote != nil || reading != nil {
		return withoutHandles(voted), reading
	}
	return Record{}, err
}

// Proposal returns an approval of the run, open or settled, as Config.Policy gets it, to try a
// policy on it. Errors: ErrNotFound (also for a question that was never asked), ErrNotAllowed, and
// an *ArgumentError for a question that is no approval.
func (c *Client) Proposal(ctx context.Context, id string, question int) (Proposal, error) {
	if err := c.checkQuestionCall(ctx, id, question); err != nil {
		return Proposal{}, err
	}
	run, err := c.proc.Store.Run(ctx, id)
	if err != nil {
		return Proposal{}, err
	}
	if err := c.allow(ctx, ActionView, &run, run.OpenQuestion(question)); err != nil {
		return Proposal{}, err
	}
	q := run.OpenQuestion(question)
	if q == nil {
		settled, err := c.proc.Store.Interaction(ctx, id, question)
		if err != nil {
			return Proposal{}, err
		}
		q = &settled.Question
	}
	if q.Subject == nil {
		return Proposal{}, &ArgumentError{"question", strconv.Itoa(question), "an approval", nil}
	}
	return node.NewProposal(ctx, c.proc.Store, specs{}, &run, q)
}
