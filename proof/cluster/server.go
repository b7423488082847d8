package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// server is the nodes' shared PostgreSQL server: the caller's, or a private one, which can be
// killed.
type server struct {
	dsn, schema string
	own         *pglocal.Server // nil if the caller named the server, or if there are replicas
	replicas    *replicas       // nil if there is one server
	keepSchema  bool

	mu   sync.Mutex
	away []span // guarded by mu; the times in which the server did not run
}

// newServer starts a server unless the caller names one.
func newServer(ctx context.Context, o options) (*server, error) {
	s := &server{dsn: o.dsn, schema: o.schema, keepSchema: o.keepSchema}
	if s.schema == "" {
		s.schema = "cluster_" + strings.ToLower(rand.Text()[:12])
	}
	if s.dsn != "" {
		return s, s.unused(ctx)
	}
	if o.standbys > 0 {
		r, err := startReplicas(ctx, o.standbys, o.asynchronous)
		if err != nil {
			return nil, err
		}
		s.replicas = r
		if s.dsn, err = r.dsn(); err != nil {
			return nil, errors.Join(err, r.stop())
		}
		return s, nil
	}
	own, err := pglocal.Start(ctx, pglocal.Options{Settings: map[string]string{"shared_buffers": "256MB",
		"max_wal_size": "2GB"}})
	if err != nil {
		return nil, err
	}
	s.own, s.dsn = own, own.DSN("")
	return s, nil
}

// unused refuses an existing schema: dropping it at the end could destroy other data.
func (s *server) unused(ctx context.Context) error {
	conn, err := s.connect(ctx, "interlude-cluster")
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`,
		s.schema).Scan(&there); err != nil {
		return err
	}
	if there {
		return fmt.Errorf("schema %s is there already: name one that is not", s.schema)
	}
	return nil
}

// bounce stops the program's own server for a while: in good order, or with kill -9.
func (s *server) bounce(ctx context.Context, crash bool, down time.Duration) error {
	return s.during(func() error {
		end := s.own.Halt
		if crash {
			end = s.own.Kill
		}
		if err := end(); err != nil {
			return err
		}
		cast.Pause(ctx, down)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
		defer cancel()
		return s.own.Resume(ctx)
	})
}

// during runs a function that takes the server away, and records the time that this takes.
func (s *server) during(do func() error) error {
	s.mu.Lock()
	s.away = append(s.away, span{from: time.Now()})
	s.mu.Unlock()
	err := do()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[len(s.away)-1].to = time.Now()
	return err
}

// outages returns the times in which the server did not run.
func (s *server) outages() []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]span(nil), s.away...)
}

// connect opens a separate connection, for reading the tables without the library.
func (s *server) connect(ctx context.Context, name string) (*pgx.Conn, error) {
	dsn, err := connectionString(s.dsn, map[string]string{"application_name": name})
	if err != nil {
		return nil, err
	}
	return pgx.Connect(ctx, dsn)
}

// exec executes one statement on a separate connection. SCHEMA in it is replaced by the schema.
func (s *server) exec(ctx context.Context, text string, args ...any) (int64, error) {
	conn, err := s.connect(ctx, "interlude-cluster")
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tag, err := conn.Exec(ctx, s.in(text), args...)
	return tag.RowsAffected(), err
}

// in puts the schema's name into a statement.
func (s *server) in(text string) string {
	return strings.ReplaceAll(text, "SCHEMA", pgx.Identifier{s.schema}.Sanitize())
}

// cut closes all connections of a node.
func (s *server) cut(ctx context.Context, name string) error {
	_, err := s.exec(ctx,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1
			AND pid <> pg_backend_pid()`, name)
	return err
}

// leave removes what newServer and the program have created.
func (s *server) leave() error {
	if s.replicas != nil {
		return s.replicas.stop()
	}
	if s.own != nil {
		if s.keepSchema {
			fmt.Fprintln(os.Stderr, "the server ends with this program: -keep keeps the schema of one that is named "+
				"with -dsn")
		}
		return s.own.Stop()
	}
	if s.keepSchema {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := s.exec(ctx, `drop schema if exists SCHEMA cascade`)
	return err
}
