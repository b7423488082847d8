package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/store"
)

// AnswersQuery selects a page of a person's own answers.
type AnswersQuery struct {
	// By is the person; its ID may not be empty. Names are compared as in audiences (Actor.Is).
	By Actor
	// After is the Next of the page before; empty begins with the newest run.
	After string
	// Limit is the size of a page, from 1 to 1000; 0 means 100. A page contains all answers of its
	// last run, so it can have up to 99 more.
	Limit int
}

// AnswersPage is a page of answers, the newest run and question first. If Next is set, there may be
// more, even if the page has few: a call examines MaxAnswersRead runs at most, and stops after
// MaxSearchTime, or when the page has 4 MiB.
type AnswersPage struct {
	Answers []GivenAnswer
	Next    string
	// Searched is how many runs the call has examined.
	Searched int
}

// GivenAnswer is a question that a person has answered, with the run as it is now.
type GivenAnswer struct {
	Record Record
	Run    Run
}

const (
	// MaxAnswersRead is how many runs one call of Answers examines.
	MaxAnswersRead = 1000
	// answersOfRun is how many questions of a run, the newest, a call examines.
	answersOfRun = 100
)

// Answers lists the settled questions that a person has answered or voted on, also under an earlier
// spelling of the name. It reads the newest runs one by one, without an index: see AnswersPage.
// Authorize is asked once with ActionList and an InboxQuery for the person, and with ActionView for
// each run with an answer; runs that it refuses are omitted.
func (c *Client) Answers(ctx context.Context, query AnswersQuery) (page AnswersPage, _ error) {
	limit := cmp.Or(query.Limit, 100)
	runs := Query{Newest: true, After: query.After, Limit: store.MaxBatch / 10}
	if err := cmp.Or(c.check(ctx), validateQuery(&runs), validatePerson("query.By", query.By)); err != nil {
		return page, err
	}
	if query.By.ID == "" {
		return page, &ArgumentError{"query.By.ID", quote(""), "the ID of a person", nil}
	}
	if limit < 1 || limit > store.MaxBatch {
		return page, &ArgumentError{"query.Limit", fmt.Sprint(query.Limit),
			fmt.Sprintf("1 to %d, or 0 for 100", store.MaxBatch), nil}
	}
	if err := c.allowInbox(ctx, &InboxQuery{For: query.By}); err != nil {
		return page, err
	}
	begun, size := time.Now(), 0
	for {
		found, err := c.proc.Store.Runs(ctx, runs)
		if err != nil {
			return AnswersPage{}, err
		}
		for i := range found.Runs {
			run := &found.Runs[i]
			given, err := c.answersIn(ctx, run, query.By)
			if err != nil {
				return AnswersPage{}, err
			}
			page.Answers, page.Searched = append(page.Answers, given...), page.Searched+1
			runs.After = store.Cursor{At: run.CreatedAt, ID: run.ID}.String()
			size += answersSize(given)
			if len(page.Answers) >= limit || page.Searched >= MaxAnswersRead || size > store.MaxPage ||
				time.Since(begun) > MaxSearchTime {
				page.Next = runs.After
				return page, nil
			}
		}
		if runs.After = found.Next; found.Next == "" {
			return page, nil
		}
	}
}

// answersSize is the memory that a page needs for the answers in one run, in bytes.
func answersSize(given []GivenAnswer) (size int) {
	for i := range given {
		if i == 0 {
			size = len(given[i].Run.FinalText) + len(given[i].Run.Output)
		}
		size += recordSize(&given[i].Record)
	}
	return size
}

// answersIn returns the person's answers in a run, if the caller may view it.
func (c *Client) answersIn(ctx context.Context, run *Run, by Actor) ([]GivenAnswer, error) {
	if run.Interactions <= len(run.Open) {
		return nil, nil
	}
	now, page, err := c.readHistory(ctx, run.ID, store.HistoryQuery{Newest: true, Limit: answersOfRun})
	if errors.Is(err, ErrNotFound) { // deleted since it was listed
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	given := slices.DeleteFunc(page.Records, func(r Record) bool {
		return r.Resolution == "" || !by.Is(r.Actor) && r.Question.VoteOf(by) == nil
	})
	if len(given) == 0 {
		return nil, nil
	}
	err = c.allow(ctx, ActionView, &now, now.FirstOpen())
	if errors.Is(err, ErrNotAllowed) || errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	answers := make([]GivenAnswer, len(given))
	for i := range given {
		answers[i] = GivenAnswer{given[i], now}
	}
	return answers, err
}
