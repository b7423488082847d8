package slack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
	// Add adds the message of a question at a place. If there is one already, it stays.
	Add(ctx context.Context, m Message) error
	// Save replaces the message of a question at a place. If there is none, Save does nothing:
	// another process has forgotten the run.
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

func (m *Memory) Of(_ context.Context, run string, question int) (all []Message, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, _ := m.find(&Message{Run: run, Question: question})
	for ; at < len(m.all) && m.all[at].Run == run && (question == 0 || m.all[at].Question == question); at++ {
		all = append(all, m.all[at])
	}
	return all, nil
}

func (m *Memory) Add(_ context.Context, added Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, found := m.find(&added); !found {
		m.all = slices.Insert(m.all, at, added)
	}
	return nil
}

func (m *Memory) Save(_ context.Context, saved Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, found := m.find(&saved); found {
		m.all[at] = saved
	}
	return nil
}

func (m *Memory) Forget(_ context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(one Message) bool { return one.Run == run })
	return nil
}

// SQL stores Messages in the table interlude_slack_messages of the host's database, with any
// driver. The host closes the database.
type SQL struct {
	// SQLite numbers parameters by their first appearance, so each statement names $1, $2, … in order.
	db *sql.DB
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
	s := &SQL{db}
	return s, s.migrate(ctx, Schema)
}

// OpenPostgreSQL returns the messages in a PostgreSQL database, in the first schema of its search
// path, and creates the table if necessary.
func OpenPostgreSQL(ctx context.Context, db *sql.DB) (*SQL, error) {
	s := &SQL{db}
	// The lock serializes processes that create the table at the same time.
	return s, s.migrate(ctx, `SELECT pg_advisory_xact_lock(7243392513)`, Schema)
}

func (s *SQL) migrate(ctx context.Context, statements ...string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("slack: table interlude_slack_messages: %w", err)
	}
	for _, statement := range statements {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("slack: table interlude_slack_messages: %w", err), tx.Rollback())
	}
	return tx.Commit()
}

func (s *SQL) Of(ctx context.Context, run string, question int) (all []Message, _ error) {
	rows, err := s.db.QueryContext(ctx, `SELECT run, question, place, channel, ts, shown, reminded
	FROM interlude_slack_messages WHERE run = $1 AND (question = $2 OR $3 = 0) ORDER BY question, place`, run, question,
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

func (s *SQL) Add(ctx context.Context, m Message) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO interlude_slack_messages
	(run, question, place, channel, ts, shown, reminded) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (run, question, place) DO NOTHING`, m.Run, m.Question, m.Place, m.Channel, m.TS, m.Shown, m.Reminded)
	return err
}

func (s *SQL) Save(ctx context.Context, m Message) error {
	_, err := s.db.ExecContext(ctx, `UPDATE interlude_slack_messages SET channel = $1, ts = $2, shown = $3, reminded = $4
	WHERE run = $5 AND question = $6 AND place = $7`, m.Channel, m.TS, m.Shown, m.Reminded, m.Run, m.Question, m.Place)
	return err
}

func (s *SQL) Forget(ctx context.Context, run string) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM interlude_slack_messages WHERE run = $1`, run)
	return err
}
