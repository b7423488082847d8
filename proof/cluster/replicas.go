package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// replicas is a primary with its standbys, each behind a separate link. Commits wait for any of the
// standbys, unless they are asynchronous. It fails over as an operator or a tool would: it fences
// the old primary, promotes the standby that has received most, makes the others follow it, and
// replaces the old primary with a new standby.
type replicas struct {
	options pglocal.Options
	seats   []*seat
	primary *seat

	// works makes a write as the library does, on connections from before the failover.
	works func(context.Context) error
	// accepted returns the number of replies that were accepted.
	accepted func() int64

	asynchronous bool
	longest      time.Duration // the longest time from a promotion until the library wrote again
}

// seat is the place of a server, which can be replaced by another one.
type seat struct {
	link   *link
	server *pglocal.Server
}

// startReplicas starts a primary and its standbys.
func startReplicas(ctx context.Context, standbys int, asynchronous bool) (_ *replicas, err error) {
	r := &replicas{asynchronous: asynchronous, options: pglocal.Options{Settings: map[string]string{
		"shared_buffers": "64MB", "max_wal_size": "1GB", "wal_receiver_timeout": "2s",
		"wal_retrieve_retry_interval": "100ms",
	}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	first, err := pglocal.Start(ctx, r.options)
	if err != nil {
		return nil, err
	}
	if err := r.seat(ctx, first); err != nil {
		return nil, errors.Join(err, first.Stop())
	}
	r.primary = r.seats[0]
	for range standbys {
		next, err := first.Standby(ctx, r.options)
		if err != nil {
			return nil, err
		}
		if err := r.seat(ctx, next); err != nil {
			return nil, errors.Join(err, next.Stop())
		}
	}
	if asynchronous {
		return r, nil
	}
	return r, r.configureAll(ctx)
}

func (r *replicas) seat(ctx context.Context, s *pglocal.Server) error {
	l, err := newLink(ctx, s.Addr())
	if err == nil {
		r.seats = append(r.seats, &seat{link: l, server: s})
	}
	return err
}

// configureAll configures each server so that, as a primary, its commits wait for any of the
// standbys.
func (r *replicas) configureAll(ctx context.Context) error {
	for _, s := range r.seats {
		if err := execOn(ctx, s.server, `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'`,
			`SELECT pg_reload_conf()`); err != nil {
			return err
		}
	}
	return nil
}

// dsn names all hosts, for clients that choose the writable one.
func (r *replicas) dsn() (string, error) {
	config, err := pgx.ParseConfig(r.primary.server.DSN(""))
	if err != nil {
		return "", err
	}
	var hosts, ports []string
	for _, s := range r.seats {
		host, port, err := net.SplitHostPort(s.link.listener.Addr().String())
		if err != nil {
			return "", err
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	return fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s sslmode=disable "+
		"target_session_attrs=read-write connect_timeout=2", strings.Join(hosts, ","), strings.Join(ports, ","),
		config.User, config.Password, config.Database), nil
}

// failover harms the primary and replaces it. It returns once the library writes again and every
// seat has a server. An old primary comes back only after the library has written to the new one: a
// process that does not know of that cannot tell the two apart. A primary that lives on is not fenced.
func (r *replicas) failover(ctx context.Context, h harm, long time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience) // it is always completed
	defer cancel()
	old := r.primary
	if err := r.strike(ctx, old, h, long); err != nil {
		return err
	}
	if h != returning && h != surviving { // the old primary is fenced: no client reaches it
		if err := old.server.Kill(); err != nil {
			return err
		}
	}
	next, err := r.promote(ctx, old)
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	promoted := time.Now()
	r.primary = next
	if err := r.wroteAgain(ctx); err != nil {
		return err
	}
	r.longest = max(r.longest, time.Since(promoted))
	if h == returning { // it comes back and still takes itself for the primary
		old.link.lead(old.server.Addr())
		cast.Pause(ctx, long)
		if err := r.wroteAgain(ctx); err != nil {
			return err
		}
	}
	return r.rebuild(ctx, old)
}

// strike does harm to the primary, for a while.
func (r *replicas) strike(ctx context.Context, old *seat, h harm, long time.Duration) error {
	switch h {
	case losing:
		err := old.server.Kill()
		cast.Pause(ctx, long)
		return err
	case lagging:
		return r.lag(ctx, old, long)
	case hanging:
		old.link.fail(hung)
	case muting:
		old.link.fail(mute)
	case severing, returning:
		old.link.fail(cut)
	}
	cast.Pause(ctx, long)
	return nil
}

// lag makes the standbys miss the last commits of the primary, and then kills it.
func (r *replicas) lag(ctx context.Context, old *seat, long time.Duration) error {
	var all errgroup.Group
	for _, s := range r.seats {
		if s != old {
			all.Go(s.server.Kill)
		}
	}
	if err := all.Wait(); err != nil {
		return err
	}
	before, end := r.accepted(), time.Now().Add(30*time.Second)
	cast.Pause(ctx, long)
	for r.asynchronous && r.accepted() < before+5 && time.Now().Before(end) {
		cast.Pause(ctx, 10*time.Millisecond)
	}
	if err := old.server.Kill(); err != nil {
		return err
	}
	for _, s := range r.seats {
		if s != old {
			all.Go(func() error { return s.server.Resume(ctx) })
		}
	}
	return all.Wait()
}

// promote promotes the standby that has received most, and makes the others follow it. Before it
// compares them, it has them all stop receiving: a standby that received more afterwards, from a
// surviving old primary, could not follow the new one, whose commits would wait for it without end.
func (r *replicas) promote(ctx context.Context, old *seat) (best *seat, _ error) {
	var most int64 = -1
	for _, s := range r.seats {
		if s == old {
			continue
		}
		if err := stopReceiving(ctx, s.server); err != nil {
			return nil, err
		}
		var received int64
		if err := queryOn(ctx, s.server, &received, `SELECT pg_wal_lsn_diff(greatest(pg_last_wal_receive_lsn(),
			pg_last_wal_replay_lsn()), '0/0')::bigint`); err != nil {
			return nil, err
		}
		if received > most {
			best, most = s, received
		}
	}
	if err := best.server.Promote(ctx); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(best.server.DSN(""))
	if err != nil {
		return nil, err
	}
	for _, s := range r.seats {
		if s == old || s == best {
			continue
		}
		if err := follow(ctx, s.server, fmt.Sprintf("host=%s port=%d user=%s password=%s sslmode=disable",
			config.Host, config.Port, config.User, config.Password)); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// follow makes a standby receive from the server with the connection string; from none if it is
// empty.
func follow(ctx context.Context, standby *pglocal.Server, conninfo string) error {
	return execOn(ctx, standby, fmt.Sprintf(`ALTER SYSTEM SET primary_conninfo = '%s'`, conninfo),
		`SELECT pg_reload_conf()`)
}

// stopReceiving makes a standby receive nothing more.
func stopReceiving(ctx context.Context, standby *pglocal.Server) error {
	if err := follow(ctx, standby, ""); err != nil {
		return err
	}
	for receives := true; receives; cast.Pause(ctx, 5*time.Millisecond) {
		if err := queryOn(ctx, standby, &receives, `SELECT current_setting('primary_conninfo') <> '' OR EXISTS
			(SELECT FROM pg_stat_wal_receiver)`); err != nil {
			return err
		}
	}
	return nil
}

// wroteAgain waits until the library has written to the new primary.
func (r *replicas) wroteAgain(ctx context.Context) error {
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); cast.Pause(ctx, 20*time.Millisecond) {
		within, done := context.WithTimeout(ctx, 2*time.Second)
		err = r.works(within)
		done()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("the library did not write within %s of the promotion: %w", patience, err)
}

// rebuild replaces the old primary with a new standby.
func (r *replicas) rebuild(ctx context.Context, old *seat) error {
	old.link.fail(cut)
	if err := old.server.Kill(); err != nil {
		return err
	}
	if err := old.server.Stop(); err != nil {
		return err
	}
	next, err := r.primary.server.Standby(ctx, r.options)
	if err != nil {
		return err
	}
	old.server = next
	old.link.lead(next.Addr())
	return nil
}

func (r *replicas) stop() error {
	var errs []error
	for _, s := range r.seats {
		s.link.close()
		errs = append(errs, s.server.Kill(), s.server.Stop())
	}
	return errors.Join(errs...)
}

// execOn executes statements on a server directly, not through its link.
func execOn(ctx context.Context, s *pglocal.Server, texts ...string) error {
	conn, err := pgx.Connect(ctx, s.DSN(""))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, text := range texts {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// queryOn reads one value from a server directly, not through its link.
func queryOn(ctx context.Context, s *pglocal.Server, value any, text string) error {
	conn, err := pgx.Connect(ctx, s.DSN(""))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, text).Scan(value)
}
