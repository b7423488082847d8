package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/store"
)

// Bounds of a search with InboxQuery.Text or SearchQuery.Text.
const (
	// MaxSearchText is the longest text, in bytes.
	MaxSearchText = 256
	// MaxSearchTime is the time after which a call returns its results so far, if it has examined a
	// hundred.
	MaxSearchTime = 200 * time.Millisecond

	leastSearched = 100 // so that a process that was stopped does not return an empty page
)

// SearchQuery selects a page of runs by a text and the time of their creation. Zero fields do not
// filter.
type SearchQuery struct {
	Query
	// Text selects the runs that contain it, ignoring case: in the id, title, labels, result, error or
	// reason of a cancellation, or in the prompt of an open question; at most MaxSearchText bytes.
	Text string
	// From and Until select the runs that were created in this time, without Until itself.
	From, Until time.Time
}

// SearchPage is a page of runs. If Next is set, there may be more, even if the page has few: a call
// examines MaxInboxRead runs at most, and reads no more after MaxSearchTime.
type SearchPage struct {
	Page
	// Searched is how many runs the call has examined.
	Searched int
}

// SearchRuns lists runs in the order of Runs. It has no index of texts, and examines the runs of the
// time one by one: see SearchPage. Authorize is asked once, with ActionList and the Query.
func (c *Client) SearchRuns(ctx context.Context, query SearchQuery) (page SearchPage, _ error) {
	runs := query.Query
	if err := cmp.Or(c.check(ctx), validateQuery(&runs), validateText(query.Text),
		validateTime("query.From", query.From), validateTime("query.Until", query.Until)); err != nil {
		return page, err
	}
	if err := c.allowQuery(ctx, &query.Query); err != nil {
		return page, err
	}
	s, size := search{text: strings.ToLower(query.Text), begun: time.Now()}, 0
	runs.After = cmp.Or(runs.After, query.startCursor())
	limit := cmp.Or(runs.Limit, 100)
	for runs.Limit = limit; ; runs.Limit = min(2*runs.Limit, store.MaxBatch, MaxInboxRead-s.read) {
		found, err := c.proc.Store.Runs(ctx, runs)
		if err != nil {
			return SearchPage{}, err
		}
		for i := range found.Runs {
			run := &found.Runs[i]
			if query.endsBefore(run) {
				return page, nil
			}
			s.read++
			page.Searched = s.read
			if !s.inRun(run) {
				continue
			}
			page.Runs = append(page.Runs, *run)
			if size += runSize(run); len(page.Runs) == limit || size > store.MaxPage {
				if page.Next = found.Next; i+1 < len(found.Runs) {
					page.Next = store.Cursor{At: run.CreatedAt, ID: run.ID}.String()
				}
				return page, nil
			}
		}
		if runs.After = found.Next; found.Next == "" || s.spent() {
			page.Next = found.Next
			return page, nil
		}
	}
}

// startCursor is the place before the first run of the time; empty without a bound. Stores keep
// microseconds.
func (q *SearchQuery) startCursor() string {
	at := q.From
	if q.Newest {
		at = q.Until
	}
	if at.IsZero() {
		return ""
	}
	return store.Cursor{At: at.Add(time.Microsecond - 1).Truncate(time.Microsecond)}.String()
}

// endsBefore reports whether the run, and so those that follow it, are after the other end of the time.
func (q *SearchQuery) endsBefore(run *Run) bool {
	if q.Newest {
		return run.CreatedAt.Before(q.From)
	}
	return !q.Until.IsZero() && !run.CreatedAt.Before(q.Until)
}

// runSize is the memory that a page needs for a run, in bytes.
func runSize(run *Run) int {
	size := len(run.FinalText) + len(run.Output)
	for i := range run.Open {
		size += questionSize(&run.Open[i])
	}
	return size
}

func validateText(text string) error {
	if len(text) > MaxSearchText || !utf8.ValidString(text) {
		return &ArgumentError{"query.Text", quote(text), fmt.Sprintf("at most %d bytes of UTF-8", MaxSearchText), nil}
	}
	return nil
}

// search examines questions or runs for a text.
type search struct {
	text  string // in lower case
	begun time.Time
	read  int // questions or runs examined
}

func (s *search) spent() bool {
	return s != nil && (s.read >= MaxInboxRead || s.read >= leastSearched && time.Since(s.begun) > MaxSearchTime)
}

// finds reports whether the question has the reader's text, or no text is searched for.
func (r *inboxReader) finds(run *Run, q *Question) bool {
	if r.query.Text == "" {
		return true
	}
	if r.search == nil { // a watch examines the questions of one run at a time
		r.search = &search{text: strings.ToLower(r.query.Text)}
	}
	r.search.read++
	r.page.Searched = r.search.read
	return r.search.in(run.ID, run.Title, q.Prompt, q.Context) || q.Subject != nil &&
		(r.search.in(q.Subject.Tool, q.Subject.Title, q.Subject.Risk) || r.search.inJSON(q.Subject.Arguments))
}

// inRun reports whether a run has the text; each has the empty one.
func (s *search) inRun(run *Run) bool {
	if s.in(run.ID, run.Title, run.FinalText, run.CancelReason) || s.inJSON(run.Output) ||
		run.Error != nil && s.in(run.Error.Message) {
		return true
	}
	for name, value := range run.Labels {
		if s.in(name + "=" + value) {
			return true
		}
	}
	for i := range run.Open {
		if s.in(run.Open[i].Prompt) {
			return true
		}
	}
	return false
}

func (s *search) in(texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), s.text) {
			return true
		}
	}
	return false
}

// inJSON searches the text as written, and its names and strings without their escapes.
func (s *search) inJSON(raw json.RawMessage) bool {
	if s.in(string(raw)) {
		return true
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return false
	}
	for dec := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if text, ok := token.(string); ok && s.in(text) {
			return true
		}
	}
}
