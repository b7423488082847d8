package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/interlude-go/interlude/internal/plainfile"
)

// Files is a Store of plain files in a folder, created on first use. A key's parts between slashes
// are folders and the file. Several processes may share the folder if its file system has atomic
// renames.
type Files struct {
	Dir string
}

var (
	_ Store   = Files{}
	_ Deleter = Files{}
)

func (f Files) Get(_ context.Context, key string) ([]byte, bool, error) {
	path, err := f.path(key)
	if err != nil {
		return nil, false, err
	}
	var body []byte
	name, err := filepath.Rel(f.Dir, path)
	if err == nil {
		body, err = plainfile.Read(f.Dir, name, MaxBody)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("checkpoint: read: %w", err)
	}
	return body, true, nil
}

// Set writes a temporary file, syncs it and renames it, so that no incomplete file has the key's
// name.
func (f Files) Set(ctx context.Context, key string, body []byte) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint: write: %w", context.Cause(ctx))
	}
	if err := f.write(path, body); err != nil {
		return fmt.Errorf("checkpoint: write: %w", err)
	}
	return nil
}

func (f Files) write(path string, body []byte) error {
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncDir(dir)
}

func (f Files) Delete(_ context.Context, key string) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: delete: %w", err)
	}
	return nil
}

// path is the key's file, always within Dir, with names valid in every file system.
func (f Files) path(key string) (string, error) {
	if f.Dir == "" {
		return "", fmt.Errorf("%w: Files.Dir is empty: name the folder where versions are kept", ErrPermanent)
	}
	parts := []string{f.Dir}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || len(part) > 200 {
			return "", fmt.Errorf("%w: key %.200q: want parts of 1 to 200 bytes between slashes", ErrPermanent, key)
		}
		parts = append(parts, escaped(part))
	}
	return filepath.Join(parts...), nil
}

// escaped escapes all characters but letters, digits, minus, underscore, and dots that are not the
// first character.
func escaped(part string) string {
	var b strings.Builder
	for i := range len(part) {
		switch c := part[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// makeDir makes the folder and its parents, and syncs each parent, so that they survive a crash of
// the machine.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// syncDir syncs the folder's names. Windows has no such call: its file systems log renames.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
