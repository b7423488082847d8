package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// pack writes the files of a folder to an archive, .zip or .tar.gz, below a folder with the
// archive's name. Owners and times of the files do not count, so equal files give equal bytes.
func pack(archive, folder string, at time.Time) error {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	add, finish := newTar(out, at)
	if strings.HasSuffix(archive, ".zip") {
		add, finish = newZip(out, at)
	}
	top := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".zip"), ".tar.gz")
	err = filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error { // in lexical order
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o111 != 0 || strings.HasSuffix(file, ".exe") {
			mode = 0o755
		}
		to, err := add(path.Join(top, filepath.ToSlash(inside)), mode, info.Size())
		if err != nil {
			return err
		}
		from, err := os.Open(file) //nolint:gosec // of a folder that this program has made
		if err != nil {
			return err
		}
		defer from.Close()
		_, err = io.Copy(to, from)
		return err
	})
	return errors.Join(err, finish(), out.Close())
}

// adder begins a file of an archive.
type adder func(name string, mode fs.FileMode, size int64) (io.Writer, error)

func newTar(out io.Writer, at time.Time) (adder, func() error) {
	compressed := gzip.NewWriter(out)
	files := tar.NewWriter(compressed)
	add := func(name string, mode fs.FileMode, size int64) (io.Writer, error) {
		return files, files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode), Size: size,
			ModTime: at, Format: tar.FormatUSTAR})
	}
	return add, func() error { return errors.Join(files.Close(), compressed.Close()) }
}

func newZip(out io.Writer, at time.Time) (adder, func() error) {
	files := zip.NewWriter(out)
	add := func(name string, mode fs.FileMode, _ int64) (io.Writer, error) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(mode)
		return files.CreateHeader(header)
	}
	return add, files.Close
}
