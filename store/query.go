package store

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Normal checks a query, fills in its defaults and leaves each state once, so that its size is
// bounded; the error matches ErrInvalid.
func (q Query) Normal() (Query, error) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 1 || q.Limit > MaxBatch {
		return q, fmt.Errorf("%w: limit is %d, want 1 to %d", ErrInvalid, q.Limit, MaxBatch)
	}
	q.States = slices.Compact(slices.Sorted(slices.Values(q.States)))
	if len(q.States) > MaxBatch || len(q.Labels) > MaxBatch {
		return q, fmt.Errorf("%w: %d states and %d labels, want at most %d of each", ErrInvalid, len(q.States),
			len(q.Labels), MaxBatch)
	}
	if q.After != "" {
		if _, err := ReadCursor(q.After); err != nil {
			return q, err
		}
	}
	return q, nil
}

// Matches reports whether the run passes the query's filters.
func (q Query) Matches(r *Run) bool {
	if len(q.States) > 0 && !slices.Contains(q.States, r.State) || q.Pool != "" && r.Pool != q.Pool || q.Key != "" &&
		r.Key != q.Key {
		return false
	}
	if q.Held && !r.Held() || q.ForkedFrom != "" && (r.ForkedFrom == nil || r.ForkedFrom.RunID != q.ForkedFrom) {
		return false
	}
	if q.Parent != "" && r.Parent() != q.Parent {
		return false
	}
	for k := range maps.Keys(q.Labels) {
		if have, ok := r.Labels[k]; !ok || have != q.Labels[k] {
			return false
		}
	}
	return true
}

// Normal is Query.Normal, and also checks the additional filters. Times are kept to the
// microsecond.
func (q WaitingQuery) Normal() (WaitingQuery, error) {
	var err error
	if q.Query, err = q.Query.Normal(); err == nil && q.For != nil && len(q.For.Groups) > MaxBatch {
		err = fmt.Errorf("%w: %d groups, want at most %d", ErrInvalid, len(q.For.Groups), MaxBatch)
	}
	q.DueBefore = q.DueBefore.Truncate(time.Microsecond)
	return q, err
}

// Matches reports whether the run waits and passes the query's filters.
func (q WaitingQuery) Matches(r *Run) bool {
	if r.Pending == nil || !q.Query.Matches(r) {
		return false
	}
	if !q.DueBefore.IsZero() && (r.Deadline.IsZero() || !r.Deadline.Before(q.DueBefore)) {
		return false
	}
	admits := q.For == nil || r.Pending.To.Admits(*q.For)
	for i := 0; i < len(r.Siblings) && !admits; i++ {
		admits = r.Siblings[i].To.Admits(*q.For)
	}
	return admits
}

// NewPage makes a page of the runs that a store found for the query, as the function NewPage does.
// It leaves out the runs that do not match the query, since an index may find more than these.
func (q WaitingQuery) NewPage(found []Run) Page {
	more := len(found) > q.Limit
	var last Cursor
	if more {
		last = found[len(found)-1].askedCursor()
	}
	page := Page{Runs: found[:0]}
	for i := range found {
		if q.Matches(&found[i]) {
			page.Runs = append(page.Runs, found[i])
		}
	}
	clear(found[len(page.Runs):])
	if len(page.Runs) > q.Limit {
		page.Runs = page.Runs[:q.Limit]
		last = page.Runs[q.Limit-1].askedCursor()
	}
	if more {
		page.Next = last.String()
	}
	return page
}

// askedCursor returns a waiting run's place in the order of questions.
func (r *Run) askedCursor() Cursor { return Cursor{At: r.Pending.AskedAt, ID: r.ID} }

// NewPage makes a page of the runs that a listing found. Stores look for one run more than the
// limit: if it is there, another page follows. Key is the time that the listing is ordered by.
func NewPage(found []Run, limit int, key func(*Run) time.Time) Page {
	if len(found) <= limit {
		return Page{Runs: found}
	}
	last := &found[limit-1]
	return Page{Runs: found[:limit], Next: Cursor{At: key(last), ID: last.ID}.String()}
}

// Cursor is a place in a listing that is ordered by a time and the run's id.
type Cursor struct {
	At time.Time
	ID string
}

// String is the cursor's opaque form, for Page.Next.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.At.UnixMicro(), 10) + " " + c.ID))
}

// ReadCursor reads the opaque form; the error matches ErrInvalid.
func ReadCursor(s string) (Cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		if at, id, ok := strings.Cut(string(raw), " "); ok {
			if micros, err := strconv.ParseInt(at, 10, 64); err == nil && validName(id) {
				return Cursor{time.UnixMicro(micros).UTC(), id}, nil
			}
		}
	}
	return Cursor{}, fmt.Errorf("%w: cursor %.40q was not returned by a listing", ErrInvalid, s)
}
