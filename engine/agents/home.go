package agents

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/internal/plainfile"
)

// prepare returns the function to call before each turn. The function writes the turn's files
// into the run's folder. Unless the home is the user's, it writes the settings into the home and,
// before the first turn, the host's files.
func (o Options) prepare(a agent) func(context.Context, engine.Turn) error {
	if o.Home == UserHome && a.turn == nil {
		return nil
	}
	return func(_ context.Context, t engine.Turn) error {
		if a.turn != nil {
			if err := o.prepareTurn(a, t); err != nil {
				return err
			}
		}
		if o.Home == UserHome {
			return nil
		}
		if t.Session == nil && len(o.Seed) > 0 {
			if err := o.seed(t.HomeDir); err != nil {
				return err
			}
		}
		if a.settings == nil && o.perRun() {
			return nil
		}
		h, err := o.openHome(t)
		if err != nil {
			return err
		}
		if a.settings != nil {
			err = a.settings(h)
		}
		return errors.Join(err, h.Close())
	}
}

func (o Options) prepareTurn(a agent, t engine.Turn) error {
	h, err := openHome(t.HomeDir)
	if err != nil {
		return err
	}
	return errors.Join(a.turn(h, t), h.Close())
}

// seed copies the host's files into the run's home.
func (o Options) seed(dir string) error {
	h, err := openHome(dir)
	if err != nil {
		return err
	}
	for name, source := range o.Seed {
		if err := h.copyOnce(source, name); err != nil {
			return errors.Join(fmt.Errorf("agents: seed %s: %w", name, err), h.Close())
		}
	}
	return h.Close()
}

// home is an agent's home. The agent can write to it, so writes from here stay inside: links are
// not followed out of it.
type home struct{ *os.Root }

// openHome opens the home of the turn. A home that the host chose may be a symbolic link.
func (o Options) openHome(t engine.Turn) (*home, error) {
	if o.perRun() {
		return openHome(t.HomeDir)
	}
	if err := os.MkdirAll(o.Home, 0o700); err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	root, err := os.OpenRoot(o.Home)
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	return &home{root}, nil
}

func openHome(dir string) (*home, error) {
	root, err := plainfile.Root(dir)
	if err != nil {
		return nil, fmt.Errorf("agents: the agent's home: %w", err)
	}
	return &home{root}, nil
}

// copyOnce copies the file unless it exists: the agent may have changed it.
func (h *home) copyOnce(source, to string) error {
	if _, err := h.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	return h.replace(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// write writes a settings file atomically, readable only by the user.
func (h *home) write(path string, content []byte) error {
	return h.replace(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func (h *home) replace(path string, fill func(io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := h.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	half := filepath.Join(dir, ".new-"+rand.Text())
	f, err := h.OpenFile(half, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = h.Remove(half) }() // already renamed after success
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return err
	}
	return h.Rename(half, path)
}
