package postgres_test

import (
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// proxy connects a store and its server, and can be cut and frozen.
type proxy struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu     sync.Mutex
	thawed *sync.Cond        // of mu
	frozen bool              // guarded by mu
	conns  map[net.Conn]bool // guarded by mu; both sides; nil when it is closed
	armed  bool              // guarded by mu; killAfter was called
	left   int               // guarded by mu; answers until the client is killed, if armed
	killed bool              // guarded by mu
}

// newProxy gives a proxy to the server of the connection string, and the string to connect through
// it.
func newProxy(tb testing.TB, dsn string) (*proxy, string) {
	tb.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(tb, err)
	p := &proxy{server: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), conns: make(map[net.Conn]bool)}
	p.thawed = sync.NewCond(&p.mu)
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	p.running.Go(p.serve)
	tb.Cleanup(func() {
		_ = p.listener.Close()
		p.mu.Lock()
		all := p.conns
		p.conns, p.frozen = nil, false
		p.thawed.Broadcast()
		p.mu.Unlock()
		for c := range all {
			_ = c.Close()
		}
		p.running.Wait()
	})
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: p.listener.Addr().String(),
		Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		closed, killed := p.conns == nil, p.killed
		if !closed {
			p.conns[client], p.conns[server] = true, true
		}
		p.mu.Unlock()
		if closed {
			_, _ = client.Close(), server.Close()
			return
		}
		if killed {
			p.forget(client, server)
			continue
		}
		p.running.Go(func() { p.pass(client, server, false) })
		p.running.Go(func() { p.pass(server, client, true) })
	}
}

// pass forwards data, unless the proxy is frozen.
func (p *proxy) pass(from, to net.Conn, answers bool) {
	defer p.forget(from, to)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for p.frozen {
			p.thawed.Wait()
		}
		if n > 0 && answers && p.armed {
			p.killed = p.killed || p.left == 0
			p.left--
		}
		killed := p.killed
		p.mu.Unlock()
		if killed {
			p.cut()
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) forget(conns ...io.Closer) {
	for _, c := range conns {
		_ = c.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c.(net.Conn))
	}
}

// cut breaks all connections; new ones can be made.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

// killAfter forwards n more answers of the server. Instead of forwarding the next answer it closes all
// connections, and it accepts no new ones: the client's process was killed before it read that answer.
func (p *proxy) killAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.left = true, n
}

// disarm ends killAfter, and reports whether the client was killed.
func (p *proxy) disarm() (killed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	return p.killed
}

// freeze lets nothing through, and closes nothing: as when a cable is pulled.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = false
	p.thawed.Broadcast()
}
