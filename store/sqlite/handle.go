package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// handle is a database's open file. When a process closes any descriptor of a file, POSIX ends all locks
// of this process on it, SQLite's included. Another process that closes the database would then take
// itself for its last user, and delete the WAL that a store of this process writes. So all code of
// this package shares one descriptor, which is closed after the last use.
type handle struct {
	*os.File

	info   fs.FileInfo
	uses   int        // guarded by handles.mu
	copies []*os.File // guarded by handles.mu; further descriptors, which are closed with File
}

// handles are the open databases of this process.
var handles struct {
	mu  sync.Mutex
	all []*handle // guarded by mu
}

// readHandle opens a file for reading. The handle must be closed.
func readHandle(path string) (*handle, error) {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if h := handleOf(info); h != nil {
		h.uses++
		return h, nil
	}
	return openHandle(path, os.O_RDONLY, 0)
}

// writeHandle opens a file as os.OpenFile does. The handle must be closed.
func writeHandle(path string, flag int, mode fs.FileMode) (*handle, error) {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	return openHandle(path, flag, mode)
}

// openHandle needs handles.mu.
func openHandle(path string, flag int, mode fs.FileMode) (*handle, error) {
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	h := handleOf(info)
	if h == nil {
		h = &handle{File: f, info: info}
		handles.all = append(handles.all, h)
	} else {
		h.copies = append(h.copies, f)
	}
	h.uses++
	return h, nil
}

// handleOf returns the handle of a file that is open; else nil. It needs handles.mu.
func handleOf(info fs.FileInfo) *handle {
	at := slices.IndexFunc(handles.all, func(h *handle) bool { return os.SameFile(h.info, info) })
	if at < 0 {
		return nil
	}
	return handles.all[at]
}

// Close ends one use of the handle.
func (h *handle) Close() error {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	if h.uses--; h.uses > 0 {
		return nil
	}
	handles.all = slices.DeleteFunc(handles.all, func(other *handle) bool { return other == h })
	err := h.File.Close()
	for _, f := range h.copies {
		err = errors.Join(err, f.Close())
	}
	return err
}
