package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// errNoVolume says that this process may not mount a volume.
var errNoVolume = errors.New("disk: a small volume cannot be mounted: that needs root with CAP_SYS_ADMIN")

// volume is a small separate file system, in memory.
type volume struct{ dir string }

func newVolume(megabytes int) (*volume, error) {
	// TMPDIR may be readable by root only, and the server does not run as root
	dir, err := os.MkdirTemp("/tmp", "interlude-volume-")
	if err != nil {
		return nil, err
	}
	err = syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0755", megabytes))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errNoVolume, err), os.Remove(dir))
	}
	return &volume{dir}, nil
}

func (v *volume) ballast() string { return filepath.Join(v.dir, "ballast") }

// fill uses up all space of the volume.
func (v *volume) fill() (err error) {
	f, err := os.OpenFile(v.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for size := 1 << 20; size > 0; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 2
		case err != nil:
			return err
		}
	}
	return nil
}

func (v *volume) free() error { return os.Remove(v.ballast()) }

func (v *volume) close() error {
	return errors.Join(syscall.Unmount(v.dir, syscall.MNT_DETACH), os.Remove(v.dir))
}
