//go:build !unix

package pglocal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Server is a private PostgreSQL server; not available on this system.
type Server struct{}

// Start fails with errors.ErrUnsupported: this system has no Unix processes.
func Start(context.Context, Options) (*Server, error) {
	return nil, fmt.Errorf("pglocal: a server of one's own on %s is an %w: start one yourself, and give its DSN",
		runtime.GOOS, errors.ErrUnsupported)
}

// Addr returns the server's listening address.
func (*Server) Addr() string { return "" }

// DSN is the URL of a database of the server.
func (*Server) DSN(string) string { return "" }

// Stop ends the server for good.
func (*Server) Stop() error { return errors.ErrUnsupported }

// Halt shuts the server down, and keeps its data.
func (*Server) Halt() error { return errors.ErrUnsupported }

// Kill ends the server as a loss of power would.
func (*Server) Kill() error { return errors.ErrUnsupported }

// Resume starts a server that does not run.
func (*Server) Resume(context.Context) error { return errors.ErrUnsupported }

// Standby makes a copy that follows the server.
func (*Server) Standby(context.Context, Options) (*Server, error) { return nil, errors.ErrUnsupported }

// Promote ends a standby's following.
func (*Server) Promote(context.Context) error { return errors.ErrUnsupported }

// Restart is Halt and Resume.
func (*Server) Restart(context.Context) error { return errors.ErrUnsupported }
