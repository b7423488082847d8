package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// kept is the maximum number of keys in the file. A run on this repository uses about 1,100.
const kept = 20_000

// passed has the keys of packages that passed. A file keeps them for later runs, one in each line, the
// last used first. Without a file nothing is kept.
type passed struct {
	file   string
	before map[string]bool // the keys of earlier runs
	now    []string        // the keys of this run: packages that passed in it or before
}

// load reads the file. A missing or damaged file costs only time: no key equals a damaged key.
func (p *passed) load() {
	p.before = map[string]bool{}
	for _, key := range p.lines() {
		p.before[key] = true
	}
}

func (p *passed) lines() []string {
	text, _ := os.ReadFile(p.file)
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(key string) bool {
		return len(key) != 2*sha256.Size
	})
}

// has reports whether the package with the key passed in an earlier run.
func (p *passed) has(key string) bool {
	if p.before[key] {
		p.now = append(p.now, key)
	}
	return p.before[key]
}

// save writes the file if there are new keys. Two runs at once can lose keys, which costs only time.
func (p *passed) save() (err error) {
	isNew := func(key string) bool { return !p.before[key] }
	if p.file == "" || !slices.ContainsFunc(p.now, isNew) {
		return nil
	}
	var keys []string
	known := map[string]bool{}
	for _, key := range append(p.now, p.lines()...) {
		if !known[key] && len(keys) < kept {
			known[key], keys = true, append(keys, key)
		}
	}
	if err = os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.file), "new-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(keys, "\n"))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), p.file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// remembered returns the file of the keys, which is empty if nothing can be kept, and a hash of this
// program, which includes the analyzers.
func remembered() (file, program string) {
	dir, noDir := os.UserCacheDir()
	name, _ := os.Executable()
	text, err := os.ReadFile(name)
	if err != nil || noDir != nil {
		return "", ""
	}
	return filepath.Join(dir, "interlude-systems", "passed"), hash(text)
}

// keys returns a key for each package, by ID: a hash of the setting (program, Go version, system), of
// the package's files and of the keys of its imports. Files in the fixed folders count by name. There
// is no key if go list reports an error for the package or an import.
func keys(pkgs []*packages.Package, setting string, fixed libraries) map[string]string {
	result := map[string]string{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		parts, known := []string{setting, p.ID}, len(p.Errors) == 0
		if p.Module != nil {
			parts = append(parts, p.Module.GoVersion)
		}
		for _, file := range slices.Concat(p.GoFiles, p.OtherFiles, p.IgnoredFiles) {
			if fixed.have(file) {
				parts = append(parts, file)
				continue
			}
			text, err := os.ReadFile(file)
			known = known && err == nil
			parts = append(parts, filepath.Base(file), hash(text)) // equal in all clones
		}
		for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
			key := result[p.Imports[path].ID]
			known = known && key != ""
			parts = append(parts, path, key)
		}
		if known {
			result[p.ID] = hash(fmt.Appendf(nil, "%q", parts))
		}
	})
	return result
}

func hash(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// path returns the path of the package, or of the package that it tests.
func path(p *packages.Package) string { return cmp.Or(p.ForTest, p.PkgPath) }

// generated reports whether the package is the generated main package of tests.
func generated(p *packages.Package) bool { return strings.HasSuffix(p.ID, ".test") }
