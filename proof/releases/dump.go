package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

// database is the place in which the runs are stored.
type database interface {
	name() string
	open(ctx context.Context) (store.Store, error)
	// fixTimes replaces the values that come from this machine or from a server's clock: the
	// identity of a node, the end of its lease, and the time at which it departed. The leases of
	// the remaining nodes end in the past.
	fixTimes(ctx context.Context, now time.Time) error
	// dump returns SQL that creates an equal database.
	dump(ctx context.Context) ([]byte, error)
}

// In the dumps, these values replace values that differ each time.
const (
	fixedIdentity = "00000000-0000-4000-8000-000000000000"
	otherMachine  = "another machine"
)

// sqliteFile is a file that is created if it does not exist.
type sqliteFile string

func (f sqliteFile) name() string { return "sqlite" }

func (f sqliteFile) open(ctx context.Context) (store.Store, error) {
	return sqlite.Open(ctx, string(f), sqlite.Options{})
}

func (f sqliteFile) fixTimes(ctx context.Context, now time.Time) error {
	db, err := sql.Open("sqlite", string(f))
	if err != nil {
		return err
	}
	defer db.Close()
	for _, change := range []string{`UPDATE nodes SET identity = '` + otherMachine + `', until = ?1`,
		`UPDATE store SET identity = '` + fixedIdentity + `' WHERE ?1 > 0`} {
		if _, err := db.ExecContext(ctx, change, now.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

func (f sqliteFile) dump(ctx context.Context) ([]byte, error) {
	db, err := sql.Open("sqlite", string(f))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var out bytes.Buffer
	for _, pragma := range []string{"user_version", "application_id"} {
		var value int
		if err := db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&value); err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "PRAGMA %s = %d;\n", pragma, value)
	}
	var tables []string
	var other bytes.Buffer // indexes and triggers, which come after the rows
	err = each(ctx, db, `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%'
		ESCAPE '\' ORDER BY rowid`, func(_ []string, row []any) {
		into := &other
		if row[0] == "table" {
			tables, into = append(tables, row[1].(string)), &out //nolint:forcetypeassert // the column is a name
		}
		fmt.Fprintf(into, "%s;\n", row[2])
	})
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		err := each(ctx, db, "SELECT * FROM "+table, func(columns []string, row []any) {
			values := make([]string, len(row))
			for i, v := range row {
				values[i] = literal(v)
			}
			fmt.Fprintf(&out, "INSERT INTO %s (%s) VALUES (\n\t%s);\n", table, strings.Join(columns, ", "),
				strings.Join(values, ",\n\t"))
		})
		if err != nil {
			return nil, err
		}
	}
	return append(out.Bytes(), other.Bytes()...), nil
}

// each calls fn with every row of a query.
func each(ctx context.Context, db *sql.DB, query string, fn func(columns []string, row []any)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		fn(columns, row)
	}
	return rows.Err()
}

// literal returns a value as SQLite reads it. Blobs become text if possible, so that a person can
// review them.
func literal(v any) string {
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		if utf8.Valid(v) && !bytes.ContainsRune(v, 0) {
			return "CAST(" + quoted(string(v)) + " AS BLOB)"
		}
		return fmt.Sprintf("X'%x'", v)
	case string:
		return quoted(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	panic(fmt.Sprintf("a value of type %T", v)) // no column has a value of another type
}

// postgresSchema is the default schema, in the database of the DSN.
type postgresSchema string

func (d postgresSchema) name() string { return "postgres" }

func (d postgresSchema) open(ctx context.Context) (store.Store, error) {
	return postgres.Open(ctx, string(d), postgres.Options{})
}

func (d postgresSchema) fixTimes(ctx context.Context, now time.Time) error {
	conn, err := pgx.Connect(ctx, string(d))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // an error does not matter: everything is done
	_, err = conn.Exec(ctx, fmt.Sprintf(`UPDATE interlude.nodes SET identity = '%s', until = %[3]d;
		UPDATE interlude.departed SET at = %[3]d WHERE at > %[3]d;
		UPDATE interlude.store SET identity = '%[2]s';
		UPDATE interlude.migrations SET applied_at = to_timestamp(%[3]d / 1e6)`, otherMachine, fixedIdentity,
		now.UnixMicro()), pgx.QueryExecModeSimpleProtocol)
	return err
}

// passing matches lines of pg_dump that some supported servers do not accept, or that differ from
// call to call.
var passing = regexp.MustCompile(`^(--|\\|SET transaction_timeout|$)`)

func (d postgresSchema) dump(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--schema=interlude",
		"--dbname="+string(d))
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("pg_dump: %w", err)
	}
	var out bytes.Buffer
	var rows []string // the rows of one table, which pg_dump writes in the order of its pages
	inBody := false   // inside a function no line may be dropped
	for line := range strings.Lines(string(text)) {
		if !inBody && passing.MatchString(strings.TrimRight(line, "\n")) {
			continue
		}
		if strings.HasPrefix(line, "INSERT INTO ") {
			rows = append(rows, line)
			continue
		}
		slices.Sort(rows)
		for _, row := range rows {
			out.WriteString(byteValue.ReplaceAllStringFunc(row, readable))
		}
		rows = rows[:0]
		out.WriteString(line)
		if strings.Count(line, "$$")%2 == 1 {
			inBody = !inBody
		}
	}
	return out.Bytes(), nil
}

// byteValue matches a value of type bytea as pg_dump writes it.
var byteValue = regexp.MustCompile(`'\\x[0-9a-f]*'`)

// readable returns the same value in PostgreSQL's escape format, which a person can review.
func readable(value string) string {
	raw, err := hex.DecodeString(value[len(`'\x`) : len(value)-1])
	if err != nil {
		panic(err) // the pattern guarantees it
	}
	var out strings.Builder
	for _, b := range raw {
		switch {
		case b == '\\':
			out.WriteString(`\\`)
		case b == '\'':
			out.WriteString(`''`)
		case b != '\n' && (b < ' ' || b > '~'):
			fmt.Fprintf(&out, `\%03o`, b)
		default:
			out.WriteByte(b)
		}
	}
	return "'" + out.String() + "'"
}
