// Licences collects the licences of the modules that a program is compiled from, for the file that
// is distributed with its binary. A test checks the licences of all modules of this repository.
//
//	go run ./proof/licences -in cmd ./interlude > NOTICES
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	in := flag.String("in", ".", "`folder` of the module")
	flag.Parse()
	if err := notices(os.Stdout, *in, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// dependency is a module with its licence.
type dependency struct {
	Path, Version, Dir string
	Main               bool

	licence string // its SPDX identifier
	texts   [][]byte
}

// errUnknown: a module has no licence file, or its licence is not recognized.
var errUnknown = errors.New("no known licence")

// notices writes the licences of all modules that the packages are compiled from.
func notices(out io.Writer, dir string, packages []string) error {
	all, err := dependencies(dir, nil, packages...)
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output() //nolint:noctx // it ends
	if err != nil {
		return err
	}
	standard, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "This program contains the following software.\n\n"+
		"== Go's standard library (BSD-3-Clause)\n\n%s",
		standard)
	for _, d := range all {
		_, _ = fmt.Fprintf(out, "\n== %s %s (%s)\n", d.Path, d.Version, d.licence)
		for _, text := range d.texts {
			_, _ = fmt.Fprintf(out, "\n%s\n", bytes.TrimSpace(text))
		}
	}
	return nil
}

// dependencies returns the modules of others from which the packages in a folder are compiled,
// ordered by path.
func dependencies(dir string, env []string, packages ...string) (all []dependency, _ error) {
	list := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, packages...)...) //nolint:noctx // ends
	list.Dir, list.Stderr, list.Env = dir, os.Stderr, append(os.Environ(), env...)
	body, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	seen := make(map[string]bool)
	for in := json.NewDecoder(bytes.NewReader(body)); in.More(); {
		var p struct{ Module *dependency }
		if err := in.Decode(&p); err != nil {
			return nil, err
		}
		if p.Module == nil || p.Module.Main || seen[p.Module.Path] || isOurs(p.Module.Path) {
			continue
		}
		seen[p.Module.Path] = true
		if err := p.Module.read(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Module.Path, err)
		}
		all = append(all, *p.Module)
	}
	slices.SortFunc(all, func(a, b dependency) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

const house = "github.com/interlude-go/interlude"

func isOurs(path string) bool { return path == house || strings.HasPrefix(path, house+"/") }

var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)([-.].*)?$`)

// read reads the licence files of the module.
func (d *dependency) read() error {
	files, err := os.ReadDir(d.Dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(d.Dir, f.Name()))
		if err != nil {
			return err
		}
		d.texts = append(d.texts, text)
		d.licence = cmp.Or(d.licence, nameOf(text))
	}
	if d.licence == "" {
		return fmt.Errorf("%w in %s", errUnknown, d.Dir)
	}
	return nil
}

// nameOf returns the SPDX identifier of a licence's text; empty if it is not recognized.
func nameOf(text []byte) string {
	words := strings.Join(strings.Fields(string(text)), " ")
	for _, known := range []struct{ name, phrase string }{
		{"MPL-2.0", "Mozilla Public License Version 2.0"}, // its text also names the GNU licences
		{"MPL-2.0", "Mozilla Public License, version 2.0"},
		{"AGPL-3.0", "GNU AFFERO GENERAL PUBLIC LICENSE"},
		{"LGPL", "GNU LESSER GENERAL PUBLIC LICENSE"},
		{"GPL", "GNU GENERAL PUBLIC LICENSE"},
		{"Apache-2.0", "Apache License Version 2.0"},
		{"Apache-2.0", "Licensed under the Apache License, Version 2.0"},
		{"BSD-3-Clause", "Neither the name"},
		{"BSD-3-Clause", "may not be used to endorse or promote products"},
		{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
		{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose"},
		{"Unlicense", "This is free and unencumbered software released into the public domain"},
		{"CC0-1.0", "CC0 1.0 Universal"},
	} {
		if strings.Contains(strings.ToLower(words), strings.ToLower(known.phrase)) {
			return known.name
		}
	}
	return ""
}
