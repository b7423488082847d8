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
}

type host struct {
	name string
	port uint16
}

// configure makes the pool try the last host first, and record each connection's host.
func (h *hosts) configure(config *pgxpool.Config) {
	if config.ConnConfig.ConnectTimeout <= 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if !hasSeveralHosts(config.ConnConfig) {
		return
	}
	before := config.BeforeConnect
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
