package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxFiles = 2000
	maxBytes = 64 << 20
)

// copySkill copies the skill's regular files, except hidden ones, into the agent's folder, as they
// were when the run was submitted.
func copySkill(work, folder string) error {
	files, room := 0, int64(maxBytes)
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		hidden := name != "." && strings.HasPrefix(entry.Name(), ".")
		switch {
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(work, name), 0o750)
		case hidden || !entry.Type().IsRegular():
			return nil
		}
		n, err := copyFile(filepath.Join(work, name), path, room)
		files, room = files+1, room-n
		if err == nil && (files > maxFiles || room < 0) {
			err = misusef("%s has more than %d files or %d MiB, too many to copy: give the agent a folder with "+
				"-work", folder, maxFiles,
				maxBytes>>20)
		}
		return err
	})
}

// copyFile copies a file with its mode, and stops shortly after the limit.
func copyFile(to, from string, limit int64) (int64, error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if end := out.Close(); err == nil {
		err = end
	}
	if err != nil {
		return n, fmt.Errorf("%s: %w", from, err)
	}
	return n, nil
}
