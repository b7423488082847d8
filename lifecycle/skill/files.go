package skill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// maxLinks limits the chain of links to a file.
const maxLinks = 40

// read reads a regular file of at most limit bytes.
func read(folder fs.FS, name string, limit int64) ([]byte, error) {
	unreadable := func(err error) error { return &Error{File: name, Detail: "cannot be read", Err: err} }
	place, err := resolve(folder, name)
	if err != nil {
		return nil, unreadable(err)
	}
	if info, err := fs.Lstat(folder, place); err != nil || !info.Mode().IsRegular() { // to open a pipe would block
		if err == nil {
			err = fmt.Errorf("is no regular file (%s)", info.Mode())
		}
		return nil, unreadable(err)
	}
	f, err := folder.Open(place)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case int64(len(text)) > limit:
		return nil, &Error{File: name, Detail: fmt.Sprintf("is larger than %d bytes", limit)}
	}
	return text, nil
}

// resolve returns the file's name without links, all of which must stay in the folder.
func resolve(folder fs.FS, name string) (string, error) {
	done, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		at := path.Join(done, rest[0])
		if !fs.ValidPath(at) {
			return "", fmt.Errorf("%s is a link that leads out of the skill folder: copy the file into the folder",
				name)
		}
		rest = rest[1:]
		info, err := fs.Lstat(folder, at)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = at
			continue
		}
		to, err := fs.ReadLink(folder, at)
		if links++; err == nil && links > maxLinks {
			err = errors.New("too many links")
		}
		if err != nil {
			return "", err
		}
		if path.IsAbs(to) {
			return "", fmt.Errorf("%s is a link to %s, which may be outside of the skill folder: copy the file into "+
				"the folder", at, to)
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return done, nil
}
