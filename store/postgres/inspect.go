package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// Inspect says how far the schema of a database is, and whether it is as this package needs it: not too old or too new, made by the
// migrations that it knows, with every table, column and index that it uses, and with the rights that the role needs. The error names all that is
// wrong, and matches what is (ErrOlder, ErrNewer, ErrForeign, ErrRights). It changes nothing, and is quick at any size. An empty schema is
// "interlude".
func Inspect(ctx context.Context, dsn, schema string) (have Status, _ error) {
	err := within(ctx, dsn, schema, func(conn *pgx.Conn, schema string) (err error) {
		have, err = inspect(ctx, conn, schema, migrations)
		return err
	})
	if err != nil {
		return have, fmt.Errorf("postgres: inspect: %w", explain(err))
	}
	return have, nil
}

// Validate is Inspect on the store's own connections.
func (s *Store) Validate(ctx context.Context) error {
	within, done, err := s.call(ctx)
	if err != nil {
		return err
	}
	defer done()
	conn, err := s.acquire(within)
	if err == nil {
		defer conn.Release()
		_, err = inspect(within, conn.Conn(), s.o.Schema, s.versions)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("postgres: validate: %w", explain(err))
}

func inspect(ctx context.Context, conn *pgx.Conn, schema string, known []Migration) (Status, error) {
	have, err := status(ctx, conn, schema)
	if err == nil {
		err = have.fits(len(known))
	}
	if err != nil {
		return have, err
	}
	var wrong []error
	for i, m := range known {
		if a := have.Applied[i]; a.Version != m.Version || a.Name != m.Name || a.Sum != m.Sum {
			wrong = append(wrong, fmt.Errorf("%w: migration %d is recorded as %d, %s (%s), this package's is %s (%s)", ErrForeign, m.Version, a.Version, a.Name, a.Sum, m.Name, m.Sum))
		}
	}
	for _, look := range []func(context.Context, *pgx.Conn, string, []Migration) ([]error, error){indexes, rights, statements} {
		more, err := look(ctx, conn, schema, known)
		if err != nil {
			return have, err
		}
		wrong = append(wrong, more...)
	}
	return have, errors.Join(wrong...)
}

// Migrations name what they make in a line of its own each, a primary key in that of its column or of the table.
var (
	madeTable   = regexp.MustCompile(`(?s)CREATE TABLE interlude\.(\w+) \((.*?)\n\)`)
	madeIndex   = regexp.MustCompile(`CREATE (?:UNIQUE )?INDEX (\w+)`)
	madeKey     = regexp.MustCompile(`PRIMARY KEY`)
	madeUnique  = regexp.MustCompile(`(?m)^\s*(\w+)[^,\n]*\bUNIQUE\b`)
	goneIndexes = regexp.MustCompile(`DROP INDEX interlude\.(\w+)`)
)

// made are the tables and indexes that the migrations leave.
func made(known []Migration) (tables, indexes []string) {
	for _, m := range known {
		for _, table := range madeTable.FindAllStringSubmatch(m.text, -1) {
			tables = append(tables, table[1])
			if madeKey.MatchString(table[2]) {
				indexes = append(indexes, table[1]+"_pkey")
			}
			for _, column := range madeUnique.FindAllStringSubmatch(table[2], -1) {
				indexes = append(indexes, table[1]+"_"+column[1]+"_key")
			}
		}
		for _, index := range madeIndex.FindAllStringSubmatch(m.text, -1) {
			indexes = append(indexes, index[1])
		}
		for _, gone := range goneIndexes.FindAllStringSubmatch(m.text, -1) {
			indexes = slices.DeleteFunc(indexes, func(name string) bool { return name == gone[1] })
		}
	}
	return tables, indexes
}

// indexes says which are missing or unfinished. One more, of an operator's own, is no fault.
func indexes(ctx context.Context, conn *pgx.Conn, schema string, known []Migration) (wrong []error, _ error) {
	_, names := made(known)
	rows, err := conn.Query(ctx, `SELECT v.name, i.indexrelid IS NOT NULL FROM unnest($2::text[]) AS v (name)
		LEFT JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace AND s.nspname = $1::text) ON c.relname = v.name
		LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
		WHERE i.indexrelid IS NULL OR NOT (i.indisvalid AND i.indisready) ORDER BY v.name`, schema, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (error, error) {
		var name string
		var there bool
		err := row.Scan(&name, &there)
		if there {
			return fmt.Errorf("%w: index %s was not finished: REINDEX it", ErrForeign, name), err
		}
		return fmt.Errorf("%w: index %s is missing", ErrForeign, name), err
	})
}

// rights says which of those that the store needs the role has not.
func rights(ctx context.Context, conn *pgx.Conn, schema string, known []Migration) (wrong []error, _ error) {
	tables, _ := made(known)
	rows, err := conn.Query(ctx, `SELECT current_user::text, w.what, c.relname::text FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace AND s.nspname = $1::text
		CROSS JOIN unnest(ARRAY ['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS w (what)
		WHERE c.relname = ANY ($2::text[]) AND NOT has_table_privilege(c.oid, w.what) ORDER BY 3, 2`, schema, tables)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (error, error) {
		var role, what, table string
		err := row.Scan(&role, &what, &table)
		return fmt.Errorf("%w: %s may not %s on table %s", ErrRights, role, what, table), err
	})
}

// statements says which of the package's the server cannot make sense of.
func statements(ctx context.Context, conn *pgx.Conn, schema string, _ []Migration) (wrong []error, _ error) {
	all := namespaced(schema)
	for _, l := range []listing{byCreation, byQuestion} {
		text, _, err := l.text(store.Query{
			Pool: "p", Key: "k", Labels: map[string]string{"a": "b"}, Limit: 1, After: store.Cursor{ID: "a"}.String(),
		})
		if err != nil {
			return nil, err
		}
		all = append(all, inSchema(text, schema))
	}
	for _, text := range all {
		_, err := conn.PgConn().Prepare(ctx, "", text, nil)
		if err == nil {
			continue
		}
		if conn.IsClosed() || ctx.Err() != nil {
			return nil, err
		}
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		wrong = append(wrong, fmt.Errorf("%w: %w: in %.80s…", ErrForeign, explain(err), first))
	}
	return wrong, nil
}
