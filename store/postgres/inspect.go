package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Inspect returns a database's schema version, and checks it: neither too old nor too new, made by
// known migrations, with every required table, column and index. The error lists all faults, and
// matches their kinds (ErrOlder, ErrNewer, ErrForeign; ErrRights if the role may not read). It
// changes nothing, and is fast at any size. An empty schema means "interlude".
func Inspect(ctx context.Context, dsn, schema string) (have Status, _ error) {
	err := withConn(ctx, dsn, schema, func(conn *pgx.Conn, schema string) (err error) {
		have, err = inspect(ctx, conn, schema, migrations)
		return err
	})
	if err != nil {
		return have, fmt.Errorf("postgres: inspect: %w", explain(err))
	}
	return have, nil
}

// Inspect is the function Inspect on the store's own connections.
func (s *Store) Inspect(ctx context.Context) (have Status, _ error) {
	within, done, err := s.beginCall(ctx)
	if err != nil {
		return have, err
	}
	defer done()
	conn, err := s.acquire(within)
	if err == nil {
		defer conn.Release()
		have, err = inspect(within, conn.Conn(), s.o.Schema, s.migrations)
	}
	switch {
	case err == nil:
		return have, nil
	case ctx.Err() != nil:
		return have, ctx.Err()
	}
	return have, fmt.Errorf("postgres: inspect: %w", explain(err))
}

func inspect(ctx context.Context, conn *pgx.Conn, schema string, known []Migration) (Status, error) {
	have, err := readStatus(ctx, conn, schema)
	if err == nil {
		err = have.checkVersion(len(known))
	}
	if err == nil {
		have.Lacks, err = missingRights(ctx, conn, schema)
	}
	if err != nil {
		return have, err
	}
	wrong := have.checkRecorded(known)
	indexes := expectedIndexes(known)
	if have.Filling {
		indexes = slices.DeleteFunc(indexes, func(name string) bool { return name == "states_ready_engine" })
	}
	unfit, err := checkIndexes(ctx, conn, schema, indexes)
	if err != nil {
		return have, err
	}
	unprepared, err := checkStatements(ctx, conn, schema)
	return have, errors.Join(append(append(wrong, unfit...), append(unprepared, err)...)...)
}

// These find the objects that migrations create and drop. A migration has each CREATE and DROP on a
// separate line, and a primary key on its column's line or on a line of its table.
var (
	madeTable   = regexp.MustCompile(`(?s)CREATE TABLE interlude\.(\w+) \((.*?)\n\)`)
	madeIndex   = regexp.MustCompile(`CREATE (?:UNIQUE )?INDEX (\w+)`)
	madeKey     = regexp.MustCompile(`PRIMARY KEY`)
	madeUnique  = regexp.MustCompile(`(?m)^\s*(\w+)[^,\n]*\bUNIQUE\b`)
	goneIndexes = regexp.MustCompile(`DROP INDEX interlude\.(\w+)`)
)

func expectedIndexes(known []Migration) (indexes []string) {
	for _, m := range known {
		for _, table := range madeTable.FindAllStringSubmatch(m.text, -1) {
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
	return indexes
}

// checkIndexes returns an error for each missing or unfinished index. Additional indexes are
// allowed.
func checkIndexes(ctx context.Context, conn *pgx.Conn, schema string, names []string) (wrong []error, _ error) {
	rows, err := conn.Query(ctx, `SELECT v.name, i.indexrelid IS NOT NULL FROM unnest($2::text[]) AS v (name)
		LEFT JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
			AND s.nspname = $1::text) ON c.relname = v.name
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

const neededRights = `(VALUES
	('migrations', ARRAY['SELECT']), ('store', ARRAY['SELECT']), ('pools', ARRAY['SELECT', 'INSERT', 'UPDATE']),
		('nodes', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
	('departed', ARRAY['SELECT', 'INSERT', 'DELETE']),
	('states', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']), ('runs', ARRAY['SELECT', 'INSERT', 'DELETE']),
	('events', ARRAY['SELECT', 'INSERT', 'DELETE']), ('settled', ARRAY['SELECT', 'INSERT', 'DELETE']),
	('asked', ARRAY['SELECT', 'INSERT', 'DELETE']), ('usage', ARRAY['SELECT', 'INSERT', 'DELETE']),
	('journal', ARRAY['SELECT', 'INSERT', 'DELETE']), ('voted', ARRAY['SELECT', 'INSERT', 'DELETE']),
	('feed', ARRAY['SELECT', 'DELETE']),
	('feeds', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']))`

func missingRights(ctx context.Context, conn *pgx.Conn, schema string) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT r.what || ' on ' || v.name FROM `+neededRights+
		` AS v (name, rights) CROSS JOIN unnest(v.rights) AS r (what)
		JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace AND s.nspname = $1::text)
			ON c.relname = v.name
		WHERE NOT has_table_privilege(c.oid, r.what) ORDER BY 1`, schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// checkStatements returns an error for each statement that the server cannot prepare.
func checkStatements(ctx context.Context, conn *pgx.Conn, schema string) (wrong []error, _ error) {
	all := textsIn(schema)
	q := store.Query{
		Pool: "p", Key: "k", Labels: map[string]string{"a": "b"}, Limit: 1, After: store.Cursor{ID: "a"}.String(),
	}
	runs, _, err := runsListText(q)
	if err != nil {
		return nil, err
	}
	waiting, _, err := waitingText(store.WaitingQuery{Query: q, For: &interaction.Actor{ID: "a"}})
	if err != nil {
		return nil, err
	}
	all = append(all, inSchema(runs, schema), inSchema(waiting, schema))
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
