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

// connectTimeout bounds the connecting to one host, where the connection string says nothing
// (connect_timeout). A server that hangs takes the connection and says nothing for ever.
const connectTimeout = 3 * time.Second

// hosts remembers which of several hosts let the last connection in, so that the next is made there
// first: a connection string names them in a fixed order, and its first one may hang.
type hosts struct {
	mu    sync.Mutex
	good  host              // guarded by mu; zero when none has
	names map[string]string // guarded by mu; by address: what was looked up
}

// host is one of a connection string.
type host struct {
	name string
	port uint16
}

// watch has the pool's connections tell where they were made, and be made there.
func (h *hosts) watch(config *pgxpool.Config) {
	if config.ConnConfig.ConnectTimeout <= 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if !several(config.ConnConfig) {
		return
	}
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		h.prefer(c)
		h.learn(c)
		return nil
	}
}

// several reports whether there is more than one place to connect to.
func several(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != c.Host || f.Port != c.Port
	})
}

// prefer puts the good host first. One host may have several entries, with TLS and without, which
// stay in their order.
func (h *hosts) prefer(c *pgx.ConnConfig) {
	h.mu.Lock()
	good := h.good
	h.mu.Unlock()
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	slices.SortStableFunc(all, func(a, b *pgconn.FallbackConfig) int { return good.distance(a) - good.distance(b) })
	c.Host, c.Port, c.TLSConfig = all[0].Host, all[0].Port, all[0].TLSConfig
	c.Fallbacks = all[1:]
}

func (h host) distance(f *pgconn.FallbackConfig) int {
	if f.Host == h.name && f.Port == h.port {
		return 0
	}
	return 1
}

// learn notes the host that the connection is made to. The driver tries one after the other.
func (h *hosts) learn(c *pgx.ConnConfig) {
	var dialed string
	lookup, dial, validate := c.LookupFunc, c.DialFunc, c.ValidateConnect
	c.LookupFunc = func(ctx context.Context, name string) ([]string, error) {
		addresses, err := lookup(ctx, name)
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, address := range addresses {
			h.names[address] = name
		}
		return addresses, err
	}
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = address
		return dial(ctx, network, address)
	}
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		h.made(dialed)
		return nil
	}
}

// made notes that a server at the address let a connection in.
func (h *hosts) made(address string) {
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
	if known, ok := h.names[name]; ok {
		name = known
	}
	h.good = host{name, uint16(port)}
}
