package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Status is how far a schema is.
type Status struct {
	// Version is that of the last migration that was applied; 0 when there is none.
	Version int
	// Oldest is the version for which a package must be made at least to work with it.
	Oldest int
	// Applied are the migrations that were applied, in order, as they were recorded then.
	Applied []Migration
	// Lacks are the rights that a node needs and the role has not, as "DELETE on events". Processes
	// that only submit, or only look, do with less. Set by Inspect.
	Lacks []string
}

// status reads it. Most roles may look whether a table is there; its content needs the right.
func status(ctx context.Context, q querier, schema string) (s Status, _ error) {
	var exists bool
	err := q.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migrations')`,
		schema).Scan(&exists)
	if err != nil || !exists {
		return s, err
	}
	rows, err := q.Query(ctx, inSchema(`SELECT version, name, oldest, sum FROM interlude.migrations ORDER BY version`,
		schema))
	if err != nil {
		return s, err
	}
	s.Applied, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Migration, _ error) {
		err := row.Scan(&m.Version, &m.Name, &m.Oldest, &m.Sum)
		return m, err
	})
	for _, m := range s.Applied {
		s.Version, s.Oldest = m.Version, max(s.Oldest, m.Oldest)
	}
	return s, err
}

// recorded says which of the migrations that were applied have another text than this package's.
func (s Status) recorded(known []Migration) (wrong []error) {
	for i, m := range known[:min(len(known), len(s.Applied))] {
		if a := s.Applied[i]; a.Version != m.Version || a.Name != m.Name || a.Sum != m.Sum {
			wrong = append(wrong, fmt.Errorf("%w: migration %d is recorded as %d, %s (%s), this package's is %s "+
				"(%s): a development version from before the first "+
				"release made the tables, or they were changed by hand: use the version that made them, or another "+
				"schema (Options.Schema)",
				ErrForeign, m.Version, a.Version, a.Name, a.Sum, m.Name, m.Sum))
		}
	}
	return wrong
}

// fits says whether this package, which knows so many versions, can work with the schema as it is.
func (s Status) fits(known int) error {
	switch {
	case s.Version < known:
		return fmt.Errorf("%w: it is at version %d, this package needs %d: call Migrate, with a role that may change "+
			"tables", ErrOlder, s.Version, known)
	case s.Oldest > known:
		return fmt.Errorf("%w: it is at version %d and needs a package for %d at least, this one is for %d", ErrNewer,
			s.Version, s.Oldest, known)
	}
	return nil
}
