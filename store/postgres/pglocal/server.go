//go:build unix

package pglocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
)

// The superuser, and the database that is always there.
const (
	superuser    = "postgres"
	mainDatabase = "postgres"
)

// Server is a private PostgreSQL server. It is safe for concurrent use: methods that change its
// state take turns.
type Server struct {
	home     home
	options  Options
	password string
	port     int

	mu      sync.Mutex // guards what follows, and makes changes of state take turns
	process *process   // the last one
	stopped bool
}

// Start creates a server and waits until it accepts connections, which takes a second or two,
// mostly in initdb. Stop it when done. The context limits the start, not the server. Errors:
// ErrMissing, or the server's last log lines.
func Start(ctx context.Context, o Options) (*Server, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	h, err := newHome(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Server{home: h, options: o}
	s.password, err = h.prepare(ctx, o)
	if err == nil {
		err = s.startSomewhere(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.leave(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Addr returns the server's address: host and port.
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// DSN is the URL, as pgx reads it, of a database of the server for its superuser; an empty name
// means "postgres". It stays the same until Stop.
func (s *Server) DSN(name string) string {
	if name == "" {
		name = mainDatabase
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, s.password), Host: s.Addr(), Path: "/" + name,
		RawQuery: "sslmode=disable"}
	return u.String()
}

// Stop shuts a running server down in order, ending sessions, and removes temporary files. Repeated
// calls do nothing. The error says that it was forced, or that files are left.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	return errors.Join(s.process.end(), s.home.leave(context.Background()))
}

// Halt shuts a running server down in order, like an administrator ("fast": sessions are ended, a
// checkpoint is written), and keeps its data. Resume restarts it. The error says that the shutdown
// was forced.
func (s *Server) Halt() error {
	return s.down((*process).end)
}

// Kill ends a running server like a power failure: kill -9 for all its processes at once. Resume
// recovers its data. The error says that a process could not be killed.
func (s *Server) Kill() error {
	return s.down((*process).crash)
}

func (s *Server) down(end func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	if s.process.ended() {
		return nil
	}
	return end(s.process)
}

// Resume starts a server that is down, on the same port and data, and waits until it accepts
// connections, after a crash until it has recovered. After an error the server is down, and Resume
// may be called again.
func (s *Server) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resume(ctx)
}

func (s *Server) resume(ctx context.Context) error {
	if s.stopped {
		return ErrStopped
	}
	if !s.process.ended() {
		return nil
	}
	return s.launch(ctx)
}

// Restart calls Halt and Resume.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	if err := s.process.end(); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return s.resume(ctx)
}
