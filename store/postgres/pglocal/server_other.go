//go:build !unix

package pglocal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Server is not available on this system.
type Server struct{}

// Start fails with errors.ErrUnsupported: this system has no Unix processes.
func Start(context.Context, Options) (*Server, error) {
	return nil, fmt.Errorf("pglocal: a server of one's own on %s is an %w: start one yourself, and give its DSN",
		runtime.GOOS, errors.ErrUnsupported)
}

func (*Server) Addr() string { return "" }

func (*Server) DSN(string) string { return "" }

func (*Server) Stop() error { return errors.ErrUnsupported }

func (*Server) Halt() error { return errors.ErrUnsupported }

func (*Server) Kill() error { return errors.ErrUnsupported }

func (*Server) Resume(context.Context) error { return errors.ErrUnsupported }

func (*Server) Standby(context.Context, Options) (*Server, error) { return nil, errors.ErrUnsupported }

func (*Server) Promote(context.Context) error { return errors.ErrUnsupported }

func (*Server) Restart(context.Context) error { return errors.ErrUnsupported }
