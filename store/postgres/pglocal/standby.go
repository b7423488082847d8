//go:build unix

package pglocal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// Standby copies a running server, and starts the copy as its streaming standby, with the same
// password: it can be read, and Promote makes it a primary. The options are as for Start; a Dir
// must be empty. The primary's synchronous_standby_names decides whether its commits wait for the
// standby.
func (s *Server) Standby(ctx context.Context, o Options) (*Server, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	h, err := newHome(ctx, o)
	if err != nil {
		return nil, err
	}
	standby := &Server{home: h, options: o, password: s.password}
	if err = h.copyOf(ctx, s, o); err == nil {
		err = standby.startSomewhere(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.leave(context.WithoutCancel(ctx)))
	}
	return standby, nil
}

func (h home) copyOf(ctx context.Context, primary *Server, o Options) error {
	// the folder may hold only links to these two programs
	initdb, err := filepath.EvalSymlinks(h.program("initdb"))
	if err != nil {
		return fmt.Errorf("pglocal: %w", err)
	}
	err = h.account.run(ctx, o.Log, h.watched(), filepath.Join(filepath.Dir(initdb), "pg_basebackup"), "--pgdata",
		h.data(), "--dbname", primary.DSN(""),
		"--write-recovery-conf", "--checkpoint", "fast", "--wal-method", "stream", "--no-sync")
	if err != nil {
		return err
	}
	return errors.Join(h.write(h.settings(), o.configuration()), h.write(h.password(), primary.password))
}

// Promote makes a standby a primary.
func (s *Server) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.DSN(""))
	if err != nil {
		return fmt.Errorf("pglocal: promote: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // only for this statement
	var promoted bool
	if err := conn.QueryRow(ctx, `SELECT pg_promote()`).Scan(&promoted); err != nil {
		return fmt.Errorf("pglocal: promote: %w", err)
	}
	if !promoted {
		return errors.New("pglocal: promote: the standby was not promoted within a minute")
	}
	return nil
}
