package slack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Message records where a question was posted. Its content comes from the store of runs.
type Message struct {
	Run      string
	Question int
	// Place is the channel or user from Config.Places.
	Place string
	// Channel and TS identify the message in Slack; empty while it is being posted.
	Channel string
	TS      string
	// Shown identifies the content, so that a repeated event writes nothing.
	Shown string
	// Reminded is the number of the last event in its thread.
	Reminded uint64
}

// Messages stores where questions were posted, until their runs end. Its methods are safe for
// concurrent use, also by several processes.
type Messages interface {
	// Of returns the messages of a question, or of all questions of the run if question is 0, ordered by
	// question and place.
	Of(ctx context.Context, run string, question int) ([]Message, error)
	// Save adds or replaces the message of a question at a place.
	Save(ctx context.Context, m Message) error
	// Forget removes the messages of the run.
	Forget(ctx context.Context, run string) error
}

// Memory is Messages in memory, for tests: after a restart, questions are posted again.
type Memory struct {
	mu  sync.Mutex
	all []Message // guarded by mu; ordered by run, question and place
}

func (m *Memory) find(of *Message) (int, bool) {
	return slices.BinarySearchFunc(m.all, of, func(a Message, b *Message) int {
		if c := strings.Compare(a.Run, b.Run); c != 0 {
			return c
		}
		if a.Question != b.Question {
			return a.Question - b.Question
		}
		return strings.Compare(a.Place, b.Place)
	})
}

// Of implements Messages.
func (m *Memory) Of(_ context.Context, run string, question int) (all []Message, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, _ := m.find(&Message{Run: run, Question: question})
	for ; at < len(m.all) && m.all[at].Run == run && (question == 0 || m.all[at].Question == question); at++ {
		all = append(all, m.all[at])
	}
	return all, nil
}

// Save implements Messages.
func (m *Memory) Save(_ context.Context, saved Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.find(&saved)
	if !found {
		m.all = slices.Insert(m.all, at, saved)
	}
	m.all[at] = saved
	return nil
}

// Forget implements Messages.
func (m *Memory) Forget(_ context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(one Message) bool { return one.Run == run })
	return nil
}

// SQL stores Messages in the table interlude_slack_messages of the host's database, with any
// driver. The host closes the database.
type SQL struct {
	db       *sql.DB
	numbered bool // the placeholders are $1, $2, …, not ?
}

// Schema creates the table. OpenSQLite and OpenPostgreSQL execute it.
const Schema = `CREATE TABLE IF NOT EXISTS interlude_slack_messages (
	run TEXT NOT NULL,
	question BIGINT NOT NULL,
	place TEXT NOT NULL,     -- a channel or user
	channel TEXT NOT NULL,   -- of the message; empty while it is being posted
	ts TEXT NOT NULL,
	shown TEXT NOT NULL,     -- identifies the content
	reminded BIGINT NOT NULL,
	PRIMARY KEY (run, question, place)
)`

// OpenSQLite returns the messages in a SQLite database, and creates the table if necessary. It may be
// the database of notify.OpenSQLite; see there.
func OpenSQLite(ctx context.Context, db *sql.DB) (*SQL, error) {
	s := &SQL{db: db}
	return s, s.migrate(ctx)
}

// OpenPostgreSQL returns the messages in a PostgreSQL database, in the first schema of its search
// path, and creates the table if necessary.
func OpenPostgreSQL(ctx context.Context, db *sql.DB) (*SQL, error) {
	s := &SQL{db: db, numbered: true}
	return s, s.migrate(ctx)
}

func (s *SQL) migrate(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("slack: table interlude_slack_messages: %w", err)
	}
	if s.numbered { // serializes concurrent creation
		_, err = tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(7243392512)`)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, Schema)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("slack: table interlude_slack_messages: %w", err), tx.Rollback())
	}
	return tx.Commit()
}

// Of implements Messages.
func (s *SQL) Of(ctx context.Context, run string, question int) (all []Message, _ error) {
	rows, err := s.db.QueryContext(ctx, s.text(`SELECT run, question, place, channel, ts, shown, reminded
	FROM interlude_slack_messages WHERE run = ? AND (question = ? OR ? = 0) ORDER BY question, place`), run, question,
		question)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has its error
	for rows.Next() {
		var m Message
		err := rows.Scan(&m.Run, &m.Question, &m.Place, &m.Channel, &m.TS, &m.Shown, &m.Reminded)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

// Save implements Messages.
func (s *SQL) Save(ctx context.Context, m Message) error {
	_, err := s.db.ExecContext(ctx, s.text(`INSERT INTO interlude_slack_messages
	(run, question, place, channel, ts, shown, reminded) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (run, question, place) DO UPDATE SET channel = excluded.channel, ts = excluded.ts,
		shown = excluded.shown, reminded = excluded.reminded`), m.Run, m.Question, m.Place, m.Channel, m.TS, m.Shown,
		m.Reminded)
	return err
}

// Forget implements Messages.
func (s *SQL) Forget(ctx context.Context, run string) error {
	_, err := s.db.ExecContext(ctx, s.text(`DELETE FROM interlude_slack_messages WHERE run = ?`), run)
	return err
}

func (s *SQL) text(statement string) string {
	if !s.numbered {
		return statement
	}
	parts := strings.Split(statement, "?")
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}
