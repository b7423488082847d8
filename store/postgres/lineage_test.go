//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// unfence lets a primary acknowledge commits without its standby, as one does that was cut off.
func unfence(t *testing.T, primary *pglocal.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), primary.DSN(""))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, sql := range []string{`ALTER SYSTEM RESET synchronous_standby_names`, `SELECT pg_reload_conf()`} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
}

// switched gives a pool whose new connections go to the server that is set.
func switched(t *testing.T, server *pglocal.Server) (pool *pgxpool.Pool, set func(*pglocal.Server)) {
	t.Helper()
	config, err := pgxpool.ParseConfig(server.DSN(""))
	require.NoError(t, err)
	var address atomic.Value
	set = func(s *pglocal.Server) { address.Store(s.Addr()) }
	set(server)
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, address.Load().(string))
	}
	postgres.ConfigurePool(config)
	pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool, set
}

// J9: split brain. A standby was promoted, and the old primary comes back without being fenced,
// when the new one is away: a process that has seen the new one writes nothing to the old one, says
// so, and continues automatically when the new one is back.
func TestConnectRefusesAnOldPrimary(t *testing.T) {
	primary, standby := replicated(t)
	u, err := url.Parse(primary.DSN(""))
	require.NoError(t, err)
	u.Host += "," + standby.Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	s, err := postgres.Open(t.Context(), u.String(), quiet)
	require.NoError(t, err)
	defer s.Close()
	w := &world{t, primary.DSN(""), "interlude"}
	w.furnish(s)
	w.commit(s, created("before"))

	unfence(t, primary)
	require.NoError(t, standby.Promote(t.Context()))
	require.NoError(t, primary.Halt())
	goesOn := func(id string) {
		t.Helper()
		require.Eventually(t, func() bool { return w.try(s, created(id)) == nil }, patience, 10*time.Millisecond)
	}
	goesOn("after")

	require.NoError(t, primary.Resume(t.Context()))
	require.NoError(t, standby.Halt())
	var refused error
	require.Eventually(t, func() bool { // the first call finds that its connection is broken
		refused = w.try(s, created("refused"))
		require.Error(t, refused)
		return errors.Is(refused, postgres.ErrWrongServer)
	}, patience, 10*time.Millisecond)
	require.ErrorContains(t, refused, "timeline 1, and a primary on 2 was seen: fence it")
	_, err = s.Run(t.Context(), "before")
	require.ErrorIs(t, err, postgres.ErrWrongServer, "nor is anything read there")

	require.NoError(t, standby.Resume(t.Context()))
	goesOn("later")
	old := opened(t, primary, quiet)
	_, err = old.Run(t.Context(), "refused")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// J9: a transaction was in progress on the old primary when the process learned of the new one: the
// old one's acknowledgement does not count, and its connections are closed.
func TestConfirmOnAnOldPrimaryIsNotAcknowledged(t *testing.T) {
	primary, standby := replicated(t)
	opened(t, primary, quiet)
	unfence(t, primary)
	require.NoError(t, standby.Promote(t.Context()))

	var s *postgres.Store
	var pool *pgxpool.Pool
	var set func(*pglocal.Server)
	nothing := func(store.Reader) error { return nil }
	err := inTime(func() (err error) {
		pool, set = switched(t, primary)
		s, err = postgres.New(t.Context(), pool, quiet)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s.Confirm(t.Context(), func(store.Reader) error {
			pool.Reset() // idle connections; this call's stays
			set(standby)
			return s.Confirm(t.Context(), nothing) // of a new connection
		})
	})
	require.ErrorIs(t, err, postgres.ErrWrongServer)
	require.ErrorContains(t, err, "outcome unknown")

	set(primary)
	require.NoError(t, s.Confirm(t.Context(), nothing), "by the connection to the new primary")
	pool.Reset()
	require.ErrorIs(t, s.Confirm(t.Context(), nothing), postgres.ErrWrongServer)
	set(standby)
	require.NoError(t, s.Confirm(t.Context(), nothing))
}

// J9: an address that suddenly leads to another database cluster is refused.
func TestConnectRefusesAnotherCluster(t *testing.T) {
	small := pglocal.Options{Settings: map[string]string{"shared_buffers": "16MB"}}
	first, err := pglocal.Start(t.Context(), small)
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Stop()) }()
	second, err := pglocal.Start(t.Context(), small)
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Stop()) }()
	login, err := pgx.ParseConfig(first.DSN(""))
	require.NoError(t, err)
	admin, err := pgx.Connect(t.Context(), second.DSN(""))
	require.NoError(t, err)
	defer admin.Close(context.Background())
	_, err = admin.Exec(t.Context(), `ALTER USER CURRENT_USER PASSWORD '`+login.Password+`'`)
	require.NoError(t, err)

	pool, set := switched(t, first)
	s, err := postgres.New(t.Context(), pool, quiet)
	require.NoError(t, err)
	defer s.Close()
	set(second)
	pool.Reset()
	_, err = s.Run(t.Context(), "r")
	require.ErrorIs(t, err, postgres.ErrWrongServer)
	require.ErrorContains(t, err, "system identifier")
	set(first)
	_, err = s.Run(t.Context(), "r")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// R5: a standby was promoted, and the old primary still lives and is reachable: its commits wait for
// the standby that has left it. A process whose connection string names both leaves it after one
// timeout, acknowledges within five seconds more, and loses nothing.
func TestR5LeavesReplacedPrimaryThatLives(t *testing.T) {
	primary, standby := replicated(t)
	u, err := url.Parse(primary.DSN(""))
	require.NoError(t, err)
	u.Host += "," + standby.Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	const timeout = 2 * time.Second
	w := &world{t, primary.DSN(""), "interlude"}
	before := opened(t, primary, quiet)
	w.furnish(before)
	acknowledged := []string{"first"}
	w.commit(before, created("first"))
	s := openInTime(t, func() (*postgres.Store, error) {
		return postgres.Open(t.Context(), u.String(), postgres.Options{Timeout: timeout, NoNotify: true})
	})
	defer s.Close()

	require.NoError(t, standby.Promote(t.Context()))
	promoted := time.Now()
	for i := 0; len(acknowledged) < 3; i++ {
		require.Less(t, time.Since(promoted), timeout+5*time.Second+patience/10, "patience of a busy machine")
		id := fmt.Sprintf("later-%d", i)
		if w.try(s, created(id)) == nil {
			acknowledged = append(acknowledged, id)
		}
	}
	conn, err := pgx.Connect(t.Context(), standby.DSN(""))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	t.Log("acknowledged after ", time.Since(promoted))
	for _, id := range acknowledged {
		var stored bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM interlude.states WHERE id = $1)`,
			id).Scan(&stored))
		require.True(t, stored, id)
	}
	require.Eventually(t, func() bool { return second(s.Renew(t.Context(), "n", noon)) == nil }, patience,
		10*time.Millisecond, "its lease has another third after the promotion")
}

// R5: a process leaves a replaced primary that lives before its timeout, when a commit waits there for
// the standby that has left, and also when it only reads, since reads there succeed.
func TestR5LeavesReplacedPrimaryBeforeTheTimeout(t *testing.T) {
	primary, standby := replicated(t)
	u, err := url.Parse(primary.DSN(""))
	require.NoError(t, err)
	u.Host += "," + standby.Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	open := func(timeout time.Duration) *postgres.Store {
		s := openInTime(t, func() (*postgres.Store, error) {
			return postgres.Open(t.Context(), u.String(), postgres.Options{Timeout: timeout, NoListen: true,
				NoNotify: true, ClockInterval: time.Hour})
		})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	busy, idle := open(time.Hour), open(2*time.Second)
	w := &world{t, primary.DSN(""), "interlude"}
	w.furnish(busy)
	w.commit(busy, created("first"))
	require.Eventually(t, func() bool { return second(idle.Run(t.Context(), "first")) == nil }, patience,
		10*time.Millisecond)

	require.NoError(t, standby.Promote(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.try(busy, created("waits")) }() // unless it knows of the promotion
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("a commit waits on the replaced primary")
	}
	w.commit(busy, created("later"))
	require.Eventually(t, func() bool { return second(idle.Run(t.Context(), "later")) == nil }, patience,
		10*time.Millisecond)
}
