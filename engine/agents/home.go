package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/engine"
)

// prepare puts what belongs there into the home, unless it is the user's: what the host gave before the first turn, the settings before
// each.
func (o Options) prepare(settings func(home string) error) func(context.Context, engine.Turn) error {
	if o.Home == UserHome {
		return nil
	}
	return func(_ context.Context, t engine.Turn) error {
		if t.Handle == nil {
			for name, source := range o.Seed {
				if err := plant(source, filepath.Join(t.HomeDir, name)); err != nil {
					return fmt.Errorf("agents: seed %s: %w", name, err)
				}
			}
		}
		home := t.HomeDir
		if !o.perRun() {
			home = o.Home
			if err := os.MkdirAll(home, 0o700); err != nil {
				return fmt.Errorf("agents: %w", err)
			}
		}
		if settings == nil {
			return nil
		}
		return settings(home)
	}
}

// plant copies the file, unless it was copied before: the agent may have changed it.
func plant(source, to string) (err error) {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // was only read
	return replace(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// write puts a file of settings in place, readable by the user only. It is there in whole or not at all.
func write(path string, content []byte) error {
	return replace(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func replace(path string, fill func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // is gone when all went well
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
