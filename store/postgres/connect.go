package postgres

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout limits connecting to one host, unless the connection string does
// (connect_timeout). A hung server accepts the connection and never responds.
const connectTimeout = 3 * time.Second

// hosts remembers which of several hosts accepted the last connection, to try it first: a
// connection string has a fixed order, and its first host may hang.
type hosts struct {
	mu    sync.Mutex
	last  host              // guarded by mu; the last connection's host; zero if none
	names map[string]string // guarded by mu; host names by address

	askedAt time.Time         // guarded by mu; when all hosts were asked
	uses    map[*pgx.Conn]use // guarded by mu; the connections in use

	ask    func(ctx context.Context) // asks all hosts; nil if there is only one
	asking sync.Mutex                // held while they are asked
}

// use is the use of a connection by one caller.
type use struct {
	since time.Time
	conn  net.Conn
	at    connLineage
}

type host struct {
	name string
	port uint16
}

// configure makes the pool try the last host first, and record each connection's host. When a
// connection breaks, for instance because a commit waits for a standby that was promoted, it asks
// all hosts for a newer primary than l knows: the old one may still accept connections.
func (h *hosts) configure(config *pgxpool.Config, l *lineage) {
	if config.ConnConfig.ConnectTimeout <= 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if !hasSeveralHosts(config.ConnConfig) {
		return
	}
	before, closing, release := config.BeforeConnect, config.BeforeClose, config.AfterRelease
	plain := config.ConnConfig.Copy()
	h.ask = func(ctx context.Context) { h.askAll(ctx, plain.Copy(), before, l) }
	h.uses = make(map[*pgx.Conn]use)
	config.AfterRelease = func(conn *pgx.Conn) bool {
		h.unused(conn)
		return release == nil || release(conn)
	}
	config.BeforeClose = func(conn *pgx.Conn) {
		h.unused(conn)
		if closing != nil {
			closing(conn)
		}
		if conn.IsClosed() { // it broke; else its lifetime is over, or the pool is closed
			h.check(context.Background())
		}
	}
	config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
		if before != nil {
			if err := before(ctx, c); err != nil {
				return err
			}
		}
		h.prefer(c)
		h.observe(c)
		return nil
	}
}

// used records that a caller uses the connection now. The caller may change the connection's custom
// data from here on, so its lineage is read before.
func (h *hosts) used(conn *pgx.Conn) {
	if h.ask == nil {
		return
	}
	at, _ := conn.PgConn().CustomData()[lineageKey].(connLineage) // the zero value for unknown lineages
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uses[conn] = use{time.Now(), conn.PgConn().Conn(), at}
}

func (h *hosts) unused(conn *pgx.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.uses, conn)
}

// slowUse is how long a call may last before all hosts are asked. Commits on a primary that was
// replaced, and still runs, wait for a standby that has left it.
const slowUse = 2 * time.Second

// due reports whether to ask all hosts: a call is slow, or the last time was a timeout ago. Reads on a
// replaced primary succeed, so a process that only reads notices nothing.
func (h *hosts) due(now time.Time, timeout time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	since := now.Sub(h.askedAt)
	if since >= timeout {
		return true
	}
	for _, u := range h.uses {
		if took := now.Sub(u.since); took >= slowUse && took <= timeout && since >= 2*slowUse {
			return true
		}
	}
	return false
}

// breakReplaced breaks the connections in use whose server is known to have been replaced. The
// outcome of the calls on them is unknown to the callers.
func (h *hosts) breakReplaced() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.uses {
		if u.at.replaced() != nil {
			_ = u.conn.Close() // the call in progress returns the error
		}
	}
}

const askedAgain = time.Second

// check asks all hosts, unless another call is asking or asked within askedAgain. It is limited by
// the connection timeout.
func (h *hosts) check(ctx context.Context) {
	if h.ask == nil || !h.asking.TryLock() {
		return
	}
	defer h.asking.Unlock()
	h.mu.Lock()
	recent := time.Since(h.askedAt) <= askedAgain
	h.mu.Unlock()
	if recent {
		return
	}
	h.ask(ctx)
	h.mu.Lock()
	h.askedAt = time.Now()
	h.mu.Unlock()
}

// watchHosts looks for a newer primary until the store is closed.
func (s *Store) watchHosts() {
	tick := time.NewTicker(slowUse / 2)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if s.hosts.due(now, s.o.Timeout) {
				s.hosts.check(s.live)
			}
		case <-s.live.Done():
			return
		}
	}
}

// askAll asks each host for its recovery state and timeline. A newer primary than the known one is
// recorded in l, which drops the connections to the others, and is tried first by the next ones.
func (h *hosts) askAll(ctx context.Context, c *pgx.ConnConfig,
	before func(context.Context, *pgx.ConnConfig) error, l *lineage) {
	ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	if before != nil && before(ctx, c) != nil {
		return // its error is returned by the pool's next connection
	}
	each := make(map[host][]*pgconn.FallbackConfig)
	for _, f := range append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}},
		c.Fallbacks...) {
		at := host{f.Host, f.Port}
		each[at] = append(each[at], f)
	}
	var all sync.WaitGroup
	for at, entries := range each {
		one := c.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = at.name, at.port, entries[0].TLSConfig, entries[1:]
		one.ValidateConnect = nil // standbys answer, too
		all.Go(func() {
			conn, err := pgconn.ConnectConfig(ctx, &one.Config)
			if err != nil {
				return
			}
			defer conn.Close(ctx) //nolint:errcheck // it only answered queries
			cluster, timeline, err := readLineage(ctx, conn)
			if err == nil && l.observesNewer(cluster, timeline) {
				h.mu.Lock()
				h.last = at
				h.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// closeReadOnly closes a connection that answers that its server is read-only: an address of a
// primary now leads to a standby, and the next connection may reach the new primary.
func closeReadOnly(c *pgx.ConnConfig) {
	before := c.OnPgError
	c.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != readOnly && (before == nil || before(conn, err))
	}
}

const readOnly = "25006"

func hasSeveralHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != c.Host || f.Port != c.Port
	})
}

// prefer puts the last host first. Its entries, with TLS and without, stay in order.
func (h *hosts) prefer(c *pgx.ConnConfig) {
	h.mu.Lock()
	last := h.last
	h.mu.Unlock()
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	slices.SortStableFunc(all, func(a, b *pgconn.FallbackConfig) int { return last.distance(a) - last.distance(b) })
	c.Host, c.Port, c.TLSConfig = all[0].Host, all[0].Port, all[0].TLSConfig
	c.Fallbacks = all[1:]
}

func (h host) distance(f *pgconn.FallbackConfig) int {
	if f.Host == h.name && f.Port == h.port {
		return 0
	}
	return 1
}

// observe records the connection's host. The driver tries hosts in turn, and cancels pending
// requests of an abandoned host on an extra connection: so the address comes from the established
// connection.
func (h *hosts) observe(c *pgx.ConnConfig) {
	lookup, validate := c.LookupFunc, c.ValidateConnect
	c.LookupFunc = func(ctx context.Context, name string) ([]string, error) {
		addresses, err := lookup(ctx, name)
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, address := range addresses {
			h.names[address] = name
		}
		return addresses, err
	}
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		h.connected(conn.Conn().RemoteAddr().String())
		return nil
	}
}

func (h *hosts) connected(address string) {
	name, text, err := net.SplitHostPort(address)
	if err != nil {
		return // a Unix socket
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if resolved, ok := h.names[name]; ok {
		name = resolved
	}
	h.last = host{name, uint16(port)}
}
