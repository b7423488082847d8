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
	// MaxSearchText is the maximum length of the text, in bytes.
	MaxSearchText = 256
	// MaxSearchTime limits the time of a call. A call that has examined at least 100 runs or questions
	// then returns its results so far.
	MaxSearchTime = 200 * time.Millisecond

	leastSearched = 100 // a suspended process must not return an empty page
)

// SearchQuery selects a page of runs by text and creation time. Zero fields do not filter.
type SearchQuery struct {
	Query
	// Text selects runs with this text in the id, title, labels, result, error, cancellation reason or
	// the prompt of an open question. Case is ignored. At most MaxSearchText bytes.
	Text string
	// From (inclusive) and Until (exclusive) select runs by creation time.
	From, Until time.Time
}

// SearchPage is a page of runs. If Next is set, there may be more runs, even if the page is short: a
// call examines at most MaxInboxRead runs, and stops reading after MaxSearchTime.
type SearchPage struct {
	Page
	// Searched is the number of examined runs.
	Searched int
}

// SearchRuns lists runs in the order of Runs. There is no text index: it examines each run in the time
// range, within the limits of SearchPage. Authorize is called once, with ActionList and the Query.
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

// startCursor returns the cursor before the first run of the time range; empty without a bound. Stores
// keep microseconds.
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

// endsBefore reports whether the run is outside the time range. The listing is sorted by time, so all
// later runs are too.
func (q *SearchQuery) endsBefore(run *Run) bool {
	if q.Newest {
		return run.CreatedAt.Before(q.From)
	}
	return !q.Until.IsZero() && !run.CreatedAt.Before(q.Until)
}

// runSize returns the approximate memory of a run in a page, in bytes.
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

// finds reports whether the question contains the query's text; true without a text.
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

// inRun reports whether a run contains the text; true for the empty text.
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

// inJSON searches the raw JSON, and its names and strings after decoding.
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
