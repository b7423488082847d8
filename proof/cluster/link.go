package main

import (
	"context"
	"net"
	"sync"
)

// link is a proxy between the clients (nodes and people) and one server. Its address stays the same
// when the server behind it is replaced, and it can fail as networks do.
type link struct {
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	to     string            // guarded by mu; the server's address
	fault  linkFault         // guarded by mu
	change *sync.Cond        // uses mu; signals each change of fault
	conns  map[net.Conn]bool // guarded by mu; both sides; nil once the link is closed
}

// linkFault is the way in which a link fails.
type linkFault int

const (
	passes linkFault = iota // the link works
	cut                     // connections break, and no new one is made
	hung                    // nothing passes and no connection breaks, as with a pulled cable
	mute                    // requests pass, and the server's answers do not
)

func newLink(ctx context.Context, to string) (*link, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, to: to, conns: make(map[net.Conn]bool)}
	l.change = sync.NewCond(&l.mu)
	l.work.Go(l.accept)
	return l, nil
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		fault, to := l.fault, l.to
		l.mu.Unlock()
		if fault == cut {
			_ = client.Close()
			continue
		}
		l.work.Go(func() { l.connect(client, to) })
	}
}

// connect copies the data of a new connection in both directions.
func (l *link) connect(client net.Conn, to string) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp4", to)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	open := l.conns != nil
	if open {
		l.conns[client], l.conns[server] = true, true
	}
	l.mu.Unlock()
	if !open {
		_, _ = client.Close(), server.Close()
		return
	}
	l.work.Go(func() { l.pass(client, server, hung, hung) })
	l.pass(server, client, hung, mute)
}

// pass copies the data of one direction, except during a fault of the link.
func (l *link) pass(from, to net.Conn, faults ...linkFault) {
	defer l.drop(from, to)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		for l.conns[from] && (l.fault == faults[0] || l.fault == faults[1]) {
			l.change.Wait()
		}
		open := l.conns[from]
		l.mu.Unlock()
		if n > 0 && open {
			_, werr := to.Write(buf[:n])
			open = werr == nil
		}
		if err != nil || !open {
			return
		}
	}
}

func (l *link) drop(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}

// fail sets the link's fault.
func (l *link) fail(f linkFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
	if f == cut {
		l.breakAll()
	}
	l.change.Broadcast()
}

// lead makes the link pass everything to a server again. The existing connections are closed.
func (l *link) lead(to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.to = passes, to
	l.breakAll()
	l.change.Broadcast()
}

// breakAll closes the connections. The caller holds mu.
func (l *link) breakAll() {
	for c := range l.conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}

func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.breakAll()
	l.conns = nil
	l.change.Broadcast()
	l.mu.Unlock()
	l.work.Wait()
}
