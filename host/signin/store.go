package signin

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Store keeps the keys of cookies, ended sessions and tokens in three tables of a database. It is
// safe for concurrent use, also by several processes. The host closes the database.
type Store struct {
	// SQLite numbers parameters by their first appearance, so each statement names $1, $2, … in order.
	db *sql.DB

	mu     sync.Mutex           // guards the fields below
	loaded time.Time            // when the fields below were read
	keys   []key                // newest first
	ended  map[string]time.Time // sessions issued before that time are over
	left   map[string]bool      // people who have left, folded
	tokens map[string]Token     // by hash
}

type key struct {
	id      string
	secret  []byte
	created time.Time
}

// schema is executed by Open functions. Times are microseconds since 1970.
const schema = `CREATE TABLE IF NOT EXISTS interlude_signin_keys (
	id TEXT PRIMARY KEY,
	secret BLOB NOT NULL,
	created BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS interlude_signin_ended (
	what TEXT PRIMARY KEY,   -- a session, a person's sessions, a person who left, or the state of a used sign-in
	at BIGINT NOT NULL,
	until BIGINT NOT NULL    -- the row is not needed afterwards
);
CREATE TABLE IF NOT EXISTS interlude_signin_tokens (
	id TEXT PRIMARY KEY,
	hash TEXT NOT NULL UNIQUE,
	person TEXT NOT NULL,
	groups_of TEXT NOT NULL, -- one per line
	scope TEXT NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL  -- 0: never
)`

// OpenSQLite returns the store in a SQLite database, and creates its tables if they are missing. Use
// any file except the one used by store/sqlite.
func OpenSQLite(ctx context.Context, db *sql.DB) (*Store, error) {
	return (&Store{db: db}).migrate(ctx, schema)
}

// OpenPostgreSQL returns the store in a PostgreSQL database, in the first schema of its search path,
// and creates its tables if they are missing.
func OpenPostgreSQL(ctx context.Context, db *sql.DB) (*Store, error) {
	// The lock serializes processes that create the tables at the same time.
	return (&Store{db: db}).migrate(ctx, "SELECT pg_advisory_xact_lock(7243392512);\n"+
		strings.Replace(schema, "BLOB", "BYTEA", 1))
}

func (s *Store) migrate(ctx context.Context, schema string) (*Store, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("signin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	for statement := range strings.SplitSeq(schema, ";\n") {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement)
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return nil, fmt.Errorf("signin: create tables: %w", err)
	}
	return s, nil
}

// fresh is how long a process uses the rows that it has read.
const fresh = 5 * time.Second

func (s *Store) view(ctx context.Context, now time.Time, maxAge time.Duration, fn func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := now.Sub(s.loaded); s.loaded.IsZero() || age < 0 || age >= maxAge {
		if err := s.load(ctx, now); err != nil {
			return fmt.Errorf("signin: read sessions and tokens: %w", err)
		}
	}
	fn()
	return nil
}

// load reads all rows that count. The caller holds mu.
func (s *Store) load(ctx context.Context, now time.Time) error {
	var keys []key
	err := s.each(ctx, `SELECT id, secret, created FROM interlude_signin_keys ORDER BY created DESC, id`, nil,
		func(scan func(...any) error) error {
			var k key
			var created int64
			err := scan(&k.id, &k.secret, &created)
			k.created = time.UnixMicro(created)
			keys = append(keys, k)
			return err
		})
	ended, left := make(map[string]time.Time), make(map[string]bool)
	if err == nil {
		// States of used sign-ins are not loaded: they are only inserted, and can be many.
		err = s.each(ctx, `SELECT what, at FROM interlude_signin_ended WHERE until > $1 AND what NOT LIKE 'state:%'`,
			[]any{now.UnixMicro()},
			func(scan func(...any) error) error {
				var what string
				var at int64
				err := scan(&what, &at)
				if person, gone := strings.CutPrefix(what, "left:"); gone {
					left[person] = true
				}
				ended[what] = time.UnixMicro(at)
				return err
			})
	}
	tokens := make(map[string]Token)
	if err == nil {
		var all []Token
		all, err = s.Tokens(ctx)
		for _, t := range all {
			tokens[t.hash] = t
		}
	}
	if err != nil {
		return err
	}
	s.keys, s.ended, s.left, s.tokens, s.loaded = keys, ended, left, tokens, now
	return nil
}

func (s *Store) each(ctx context.Context, query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *Store) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("signin: %w", err)
	}
	return result.RowsAffected()
}

// keyAge is how long new cookies get a key. It is accepted for as long as a session lasts after.
const keyAge = 30 * 24 * time.Hour

// newestKey returns the key for new cookies, and makes one if the newest is too old.
func (s *Store) newestKey(ctx context.Context, now time.Time, lifetime time.Duration) (newest key, err error) {
	err = s.view(ctx, now, fresh, func() {
		if len(s.keys) > 0 {
			newest = s.keys[0]
		}
	})
	if err != nil || newest.secret != nil && now.Sub(newest.created) < keyAge {
		return newest, err
	}
	newest = key{rand.Text(), make([]byte, 32), now}
	_, _ = rand.Read(newest.secret) // never fails
	_, err = s.exec(ctx, `INSERT INTO interlude_signin_keys (id, secret, created) VALUES ($1, $2, $3)`, newest.id,
		newest.secret, now.UnixMicro())
	if err == nil {
		_, err = s.exec(ctx, `DELETE FROM interlude_signin_keys WHERE created < $1`,
			now.Add(-keyAge-lifetime).UnixMicro())
	}
	s.forget()
	return newest, err
}

// forget makes the next call read the tables.
func (s *Store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = time.Time{}
}

// keyOf returns the key with an id; false if it is unknown. A key that another node has just made is
// looked up at most ten times a second.
func (s *Store) keyOf(ctx context.Context, id string, now time.Time) (found key, ok bool, err error) {
	for _, age := range []time.Duration{fresh, unknown} {
		err = s.view(ctx, now, age, func() {
			for _, k := range s.keys {
				if k.id == id {
					found, ok = k, true
				}
			}
		})
		if ok || err != nil {
			break
		}
	}
	return found, ok, err
}

// end records that something is over from now on; false if it was before.
func (s *Store) end(ctx context.Context, what string, now, until time.Time) (first bool, _ error) {
	n, err := s.exec(ctx, `INSERT INTO interlude_signin_ended (what, at, until) VALUES ($1, $2, $3) ON CONFLICT (what)
	DO NOTHING`, what, now.UnixMicro(), until.UnixMicro())
	if err == nil {
		_, err = s.exec(ctx, `DELETE FROM interlude_signin_ended WHERE until <= $1`, now.UnixMicro())
	}
	if !strings.HasPrefix(what, "state:") { // states of sign-ins are not loaded
		s.forget()
	}
	return n > 0, err
}

// EndSessions ends all sessions of a person, by the ID in Actor.ID in any spelling (FoldID), and
// revokes the person's tokens. New sign-ins are the provider's decision: see Leave.
func (s *Store) EndSessions(ctx context.Context, person string, now time.Time) error {
	folded := FoldID(person)
	_, err := s.exec(ctx, `INSERT INTO interlude_signin_ended (what, at, until) VALUES ($1, $2, $3) ON CONFLICT (what)
	DO UPDATE SET at = excluded.at, until = excluded.until`, "person:"+folded, now.UnixMicro(),
		now.Add(maxLifetime).UnixMicro())
	tokens, listed := s.Tokens(ctx)
	err = errors.Join(err, listed)
	for _, t := range tokens {
		if FoldID(t.Person) == folded {
			_, revoked := s.exec(ctx, `DELETE FROM interlude_signin_tokens WHERE id = $1`, t.ID)
			err = errors.Join(err, revoked)
		}
	}
	s.forget()
	return err
}

// FoldID returns the same text for all spellings of an ID that differ only in case or in the encoding
// of accents: Unicode's case folding, in normalization form C. Use it as lifecycle.Actor.Fold.
func FoldID(id string) string {
	// Lower case comes first because cases.Fold swaps the cases of Cherokee letters.
	return norm.NFC.String(cases.Fold().String(strings.ToLower(norm.NFD.String(id))))
}

func (s *Store) isOver(ctx context.Context, c *session, now time.Time) (over bool, _ error) {
	err := s.view(ctx, now, fresh, func() {
		_, out := s.ended["session:"+c.ID]
		folded := FoldID(c.Person)
		at, some := s.ended["person:"+folded]
		over = out || s.left[folded] || some && !c.Began.After(at)
	})
	return over, err
}
