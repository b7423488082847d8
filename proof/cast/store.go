package cast

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

// OnSQLite reports whether OpenStore takes the name for a SQLite file.
func OnSQLite(name string) bool { return strings.HasSuffix(name, ".db") }

// OpenStore opens a SQLite file, whose name ends with .db, or PostgreSQL by its connection string.
func OpenStore(ctx context.Context, name string) (store.Store, error) {
	return StoreOptions{}.Open(ctx, name)
}

// StoreOptions are the options of a store, whichever it is.
type StoreOptions struct {
	SQLite   sqlite.Options
	Postgres postgres.Options
}

// Open opens the store with this name, as OpenStore does.
func (o StoreOptions) Open(ctx context.Context, name string) (store.Store, error) {
	if OnSQLite(name) {
		return sqlite.Open(ctx, name, o.SQLite)
	}
	return postgres.Open(ctx, name, o.Postgres)
}

// Runs lists the runs of a query, page by page. A store and a client have the function list.
func Runs(ctx context.Context, list func(context.Context, store.Query) (store.Page, error),
	q store.Query) iter.Seq2[store.Run, error] {
	return func(yield func(store.Run, error) bool) {
		for q.Limit = store.MaxBatch; ; {
			page, err := list(ctx, q)
			if err != nil {
				yield(store.Run{}, err)
				return
			}
			for _, r := range page.Runs {
				if !yield(r, nil) {
					return
				}
			}
			if q.After = page.Next; q.After == "" {
				return
			}
		}
	}
}

// ReadLog returns the events of a run, of which there must be as many as its record says. The error
// has the first finding of the contract's checker.
func ReadLog(ctx context.Context, s store.Reader, r *store.Run) (log []store.Event, _ error) {
	var lines bytes.Buffer
	for e, err := range Events(ctx, s, r.ID) {
		if err != nil {
			return log, err
		}
		lines.Write(append(slices.Clone(e.Body), '\n'))
		log = append(log, e)
	}
	if uint64(len(log)) != r.Seq {
		return log, fmt.Errorf("%d events, and the record says %d", len(log), r.Seq)
	}
	report, err := audit.Check(bytes.NewReader(lines.Bytes()))
	if err == nil && report.First() != nil {
		err = fmt.Errorf("%w\n%s", report.First(), lines.String())
	}
	return log, err
}

// Events lists the events of a run.
func Events(ctx context.Context, s store.Reader, id string) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for after := uint64(0); ; {
			page, err := s.Events(ctx, id, after, 500)
			if err != nil || len(page) == 0 {
				if err != nil {
					yield(store.Event{}, err)
				}
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
		}
	}
}
