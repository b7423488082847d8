package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/postgres"
)

// nodeConfig is the configuration of a node.
type nodeConfig struct {
	DSN       string        `json:"dsn"`
	Schema    string        `json:"schema"`
	Name      string        `json:"name"`
	Journal   string        `json:"journal"`
	Lease     time.Duration `json:"lease"`
	Timeout   time.Duration `json:"timeout"`
	Listen    string        `json:"listen"`
	Elsewhere bool          `json:"elsewhere"`
}

// serve executes runs until the process is asked to stop. The node does not give up, whatever
// happens to the server.
func (c nodeConfig) serve(ctx context.Context) error {
	j, err := openJournal(c.Journal)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	st, err := persist(ctx, logger, func() (*postgres.Store, error) {
		return c.open(ctx, c.Name, 10)
	})
	if err != nil {
		return quiet(ctx, err)
	}
	defer st.Close()
	z := newZombie(st, j, c)
	defer z.walks.Wait()
	resumes, stays := newAgent(fsm.ProfileResumable, j), newAgent(fsm.ProfileStickyProcess, j)
	defer stays.deaths.Wait()
	lc, err := persist(ctx, logger, func() (*lifecycle.Lifecycle, error) {
		return lifecycle.New(lifecycle.Config{
			Store: z, Engine: resumes, Engines: map[string]engine.Engine{residentEngine: stays},
			Concurrency: 32, Lease: c.Lease, Grace: 300 * time.Millisecond, Logger: logger,
		})
	})
	if err != nil {
		return quiet(ctx, err)
	}
	defer lc.Close()
	_, err = persist(ctx, logger, func() (struct{}, error) { return struct{}{}, lc.Serve(ctx) })
	return quiet(ctx, err)
}

// persist calls fn until it succeeds or ctx ends, as a supervisor would start a host again.
func persist[T any](ctx context.Context, logger *slog.Logger, fn func() (T, error)) (v T, _ error) {
	return v, cast.Insist(ctx, unsureWait, func(err error) bool {
		logger.Error("trying again", "err", err)
		return false
	}, func() (err error) {
		v, err = fn()
		return err
	})
}

// quiet returns nil for an error that only says that the context has ended.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// open opens the store with named connections, so that they can be found and closed.
func (c nodeConfig) open(ctx context.Context, name string, conns int) (*postgres.Store, error) {
	dsn, err := connectionString(c.DSN, map[string]string{"application_name": name,
		"pool_max_conns": strconv.Itoa(conns)})
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, dsn, postgres.Options{Schema: c.Schema, Timeout: c.Timeout, ListenDSN: c.Listen})
}

// connectionString adds settings to a URL or to key=value pairs.
func connectionString(dsn string, settings map[string]string) (string, error) {
	if _, err := pgx.ParseConfig(dsn); err != nil { // its error quotes the string, which may hold a password
		return "", errors.New("-dsn cannot be read: want postgres://user:password@host:port/database, or key=value " +
			"pairs")
	}
	if !strings.Contains(dsn, "://") {
		for k, v := range settings {
			dsn += fmt.Sprintf(" %s='%s'", k, v)
		}
		return dsn, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("-dsn is a URL that cannot be read") // it may hold a password
	}
	query := u.Query()
	for k, v := range settings {
		query.Set(k, v)
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}
