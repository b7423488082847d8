package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/interlude-go/interlude/cmd/internal/command"
)

var devVerb = command.Verb{
	Name: "dev", Does: "serve, and start again with the same address when files of an agent change",
	More: "Parked runs keep their questions. A turn that is running starts again as after a crash. Hidden files, " +
		"node_modules, __pycache__, the database and the runs' folders are not watched.",
	Prepare: func(f *flag.FlagSet) command.Action {
		var paths []string
		f.Func("watch", "a file or folder, as `path` (repeatable); default: the current folder and the file of -config",
			list(&paths))
		return prepareServing(f, func(s *serving, ctx context.Context, c command.Call) error {
			return s.develop(ctx, c, paths)
		})
	},
}

// develop serves until the context ends, and again after each change. A first start that fails is an
// error; a later one, for example of an agent with a mistake, is printed, and the next change starts
// again.
func (s *serving) develop(ctx context.Context, c command.Call, paths []string) error {
	w, err := s.watch(paths)
	if err != nil {
		return err
	}
	defer w.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changes := make(chan string, 1)
	go func() { cancel(w.follow(ctx, changes)) }()
	for served := false; ; {
		round, stop := context.WithCancel(ctx)
		changed := make(chan string, 1)
		go func() {
			defer stop()
			select {
			case name := <-changes:
				changed <- name
			case <-ctx.Done():
			}
		}()
		err := s.serve(round, c)
		if err != nil && !served {
			return err
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(c.Side, command.Line(err))
		}
		<-round.Done() // after an error: at the next change
		if ctx.Err() != nil {
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				err = errors.Join(err, cause)
			}
			return err
		}
		served = true
		fmt.Fprintf(c.Side, "%s has changed\n", <-changed)
	}
}

// watcher reports changes of files. The library watches one folder at a time; the watcher adds those
// below.
type watcher struct {
	*fsnotify.Watcher
	files   map[string]bool // watched files, whose folders may contain others
	folders []string
	own     []string // beginnings of paths that the program itself writes
}

func (s *serving) watch(paths []string) (*watcher, error) {
	h, err := s.host()
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		if paths = []string{"."}; s.config != "" {
			paths = append(paths, s.config)
		}
	}
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("cannot watch files: %w", err)
	}
	w := &watcher{Watcher: inner, files: make(map[string]bool)}
	for _, own := range []string{h.Dir, s.db.File()} {
		if own == "" {
			continue
		}
		if own, err = filepath.Abs(own); err == nil {
			w.own = append(w.own, own)
		}
	}
	for _, path := range paths {
		if err = errors.Join(err, w.add(path)); err != nil {
			return nil, misusef("-watch: %w", errors.Join(err, w.Close()))
		}
	}
	return w, nil
}

func (w *watcher) add(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		w.folders = append(w.folders, path)
		return w.addTree(path, path)
	}
	// An editor replaces a file by another one, which only the folder reports.
	w.files[path] = true
	return w.Add(filepath.Dir(path))
}

// addTree watches a folder below a root, and the folders in it.
func (w *watcher) addTree(root, path string) error {
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // since it was listed
			return nil
		case err != nil:
			return err
		case !e.IsDir():
			return nil
		case path != root && w.ignores(root, path):
			return fs.SkipDir
		}
		return w.Add(path)
	})
}

// ignores reports whether the watcher ignores a file below root, because it is not a source of
// the agent.
func (w *watcher) ignores(root, path string) bool {
	if slices.ContainsFunc(w.own, func(own string) bool { return strings.HasPrefix(path, own) }) {
		return true
	}
	rel, err := filepath.Rel(root, path)
	return err != nil || slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), func(name string) bool {
		return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || name == "node_modules" ||
			name == "__pycache__"
	})
}

// settled is how long no file changes before a change is reported: editors and compilers write several.
const settled = 200 * time.Millisecond

// follow reports a changed file after each burst of changes, until the context ends or watching fails.
func (w *watcher) follow(ctx context.Context, changes chan<- string) error {
	var last string
	var over <-chan time.Time
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return nil
			}
			if e.Has(fsnotify.Create) {
				w.addNew(e.Name)
			}
			if !e.Has(fsnotify.Create|fsnotify.Write|fsnotify.Remove|fsnotify.Rename) || !w.concerns(e.Name) {
				continue
			}
			last, over = e.Name, time.After(settled)
		case err := <-w.Errors: // some changes may be lost: nothing says which
			if err != nil && !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("cannot watch files: %w", err)
			}
			last, over = "a file", time.After(settled)
		case <-over:
			over = nil
			select {
			case changes <- last:
			default: // one is pending
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watcher) concerns(path string) bool {
	return w.files[path] || w.root(path) != ""
}

// root returns the watched folder that contains the path, unless it is ignored there.
func (w *watcher) root(path string) string {
	for _, root := range w.folders {
		if strings.HasPrefix(path, root+string(filepath.Separator)) && !w.ignores(root, path) {
			return root
		}
	}
	return ""
}

// addNew watches a new folder. A folder that was removed again or is not readable is left out.
func (w *watcher) addNew(path string) {
	if root := w.root(path); root != "" {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			_ = w.addTree(root, path)
		}
	}
}
