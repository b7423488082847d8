//go:build unix

package pglocal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Ports are below the ephemeral range (Linux: from 32768, others: from 49152). A client that
// connects while the server is down could otherwise occupy its port and prevent the restart.
const lowestPort, highestPort = 15000, 32000

var (
	errTaken = errors.New("pglocal: the port is taken")
	errInUse = errors.New("pglocal: the children of the last server have not ended yet")
)

// startSomewhere launches the server on a free port, which another process may take before.
func (s *Server) startSomewhere(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		port, err := freePort(ctx)
		if err != nil {
			return err
		}
		s.port = port
		if err := s.launch(ctx); !errors.Is(err, errTaken) || attempt == 10 {
			return err
		}
	}
}

func freePort(ctx context.Context) (int, error) {
	for attempt := 1; ; attempt++ {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		l, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		if attempt == 100 || ctx.Err() != nil {
			return 0, fmt.Errorf("pglocal: no free port: %w", err)
		}
	}
}

// launch starts the server on its port and waits until it accepts connections, or ends it again.
func (s *Server) launch(ctx context.Context) error {
	for {
		err := s.launchOnce(ctx)
		// The children of a killed server end a moment after it; until then its successor does not
		// start.
		if !errors.Is(err, errInUse) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Server) launchOnce(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("pglocal: start: %w", err)
	}
	p, err := s.home.account.start(ctx, s.options.Log, s.home.watched(), s.home.program("postgres"), "-D",
		s.home.data(),
		"-c", "port="+strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	if err != nil {
		return err
	}
	s.process = p
	if err := s.ready(ctx, p); err != nil {
		return errors.Join(err, p.end())
	}
	return nil
}

func (s *Server) ready(ctx context.Context, p *process) error {
	config, err := pgconn.ParseConfig(s.DSN(""))
	if err != nil {
		return fmt.Errorf("pglocal: %w", err)
	}
	trying, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() { // the process that took our port may accept the connection and never respond
		select {
		case <-p.done:
			giveUp()
		case <-trying.Done():
		}
	}()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		conn, err := pgconn.ConnectConfig(trying, config)
		if err == nil {
			_ = conn.Close(ctx) // only a probe
			return nil
		}
		// clients have taken all connections already
		if full := (*pgconn.PgError)(nil); errors.As(err, &full) && full.Code == "53300" {
			return nil
		}
		select {
		case <-p.done:
			return p.unready()
		case <-ctx.Done():
			return fmt.Errorf("pglocal: the server is not ready: %w (%w): %s", ctx.Err(), err, p.log)
		case <-time.After(pause):
		}
	}
}

func (p *process) unready() error {
	reason := "in order"
	if p.err != nil {
		reason = p.err.Error()
	}
	err := fmt.Errorf("pglocal: the server ended while it started (%s): %s", reason, p.log)
	if p.log.says("Address already in use") {
		return fmt.Errorf("%w: %w", errTaken, err)
	}
	if p.log.says("is still in use") {
		return fmt.Errorf("%w: %w", errInUse, err)
	}
	return err
}
