package store

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Normal checks a query, applies defaults and removes duplicate states, which bounds its size; the
// error matches ErrInvalid.
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
	if q.Query, err = q.Query.Normal(); err == nil && q.For != nil {
		names := len(q.For.Groups)
		for i := range q.For.Principals {
			names += 1 + len(q.For.Principals[i].Groups)
		}
		if names > MaxBatch {
			err = fmt.Errorf("%w: %d groups and principals, want at most %d", ErrInvalid, names, MaxBatch)
		}
	}
	q.DueBefore = q.DueBefore.Truncate(time.Microsecond)
	return q, err
}

// Matches reports whether the run waits and passes the filters.
func (q WaitingQuery) Matches(r *Run) bool {
	if len(r.Open) == 0 || !q.Query.Matches(r) {
		return false
	}
	if !q.DueBefore.IsZero() && (r.Deadline.IsZero() || !r.Deadline.Before(q.DueBefore)) {
		return false
	}
	for i := range r.Open {
		if o := &r.Open[i]; !o.Hidden(q.VisibleAt) && (q.For == nil || o.To.AdmitsAny(*q.For)) {
			return true
		}
	}
	return false
}

// NewPage makes a page of the runs that match: an index may find more. Errors as from
// Found.NewPage.
func (q WaitingQuery) NewPage(found *Found) (Page, error) {
	page, err := found.page(q.Query, func(r *Run) (asked time.Time) {
		if open := r.FirstOpen(); open != nil { // else the record differs from the index
			asked = open.AskedAt
		}
		return asked
	})
	matching := page.Runs[:0]
	for i := range page.Runs {
		if q.Matches(&page.Runs[i]) {
			matching = append(matching, page.Runs[i])
		}
	}
	clear(page.Runs[len(matching):])
	page.Runs = matching
	return page, err
}

// Found collects a page's runs in order: at most Limit, and no more once their records exceed
// MaxPage bytes. Stores look for one run more than the limit.
type Found struct {
	Limit int
	runs  []Run
	size  int
	more  bool
}

// Full reports whether there is no room for another run.
func (f *Found) Full() bool { return len(f.runs) == f.Limit || f.size > MaxPage }

// Add adds the next run, whose record has this size. It returns false without room: the store can
// stop.
func (f *Found) Add(r Run, size int) bool {
	if f.more = f.more || f.Full(); f.more {
		return false
	}
	f.runs, f.size = append(f.runs, r), f.size+size
	return true
}

func (f *Found) Runs() []Run { return f.runs }

// Fills reports whether others may follow the runs returned for this limit: there are as many, or
// their records may fill a page.
func Fills(runs []Run, limit int) bool {
	var record []byte
	size := 0
	for i := range runs {
		record, _ = AppendRun(record[:0], &runs[i]) // stored runs can be encoded
		size += len(record)
	}
	return len(runs) == limit || size > MaxPage/2 // an earlier release may have written longer ones
}

// NewPage makes a page of the runs found, listed in order of creation. It returns ErrCorrupt if a
// record differs from the index that found it, so that the next page would not come after this
// page.
func (f *Found) NewPage(q Query) (Page, error) {
	return f.page(q, func(r *Run) time.Time { return r.CreatedAt })
}

// page makes a page. key is the time that orders the listing.
func (f *Found) page(q Query, key func(*Run) time.Time) (Page, error) {
	page := Page{Runs: f.runs}
	if !f.more {
		return page, nil
	}
	last := &f.runs[len(f.runs)-1]
	next, err := Cursor{At: key(last), ID: last.ID}.After(q)
	page.Next = next.After
	return page, err
}

// After is the query for the runs after this place, the last place that q found. It returns
// ErrCorrupt if the place is not after q's own place.
func (c Cursor) After(q Query) (Query, error) {
	if q.After != "" {
		before, err := ReadCursor(q.After)
		if err != nil {
			return q, err
		}
		order := cmp.Or(cmp.Compare(before.At.UnixMicro(), c.At.UnixMicro()), strings.Compare(before.ID, c.ID))
		if order == 0 || q.Newest == (order < 0) {
			return q, fmt.Errorf("%w: the record of run %s differs from the index that lists it", ErrCorrupt, c.ID)
		}
	}
	q.After = c.String()
	return q, nil
}

// Cursor is a place in a listing ordered by a time and the run's id.
type Cursor struct {
	At time.Time
	ID string
}

func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.At.UnixMicro(), 10) + " " + c.ID))
}

// ReadCursor parses the opaque form; the error matches ErrInvalid.
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
