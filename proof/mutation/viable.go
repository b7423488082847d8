package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// source is a package in the form that the type checker needs. It is not safe for concurrent use.
type source struct {
	path     string
	dir      string
	names    []string             // the files that are compiled on this system
	files    map[string]*ast.File // by name
	set      *token.FileSet
	importer types.Importer
	flags    []string // flags of the test program
}

// rapidFlags: mutants need no minimal counter-example.
var rapidFlags = []string{"-rapid.shrinktime=1ms", "-rapid.nofailfile"}

// load lists and parses the package in the folder below root.
func load(ctx context.Context, root, pkg string) (*source, error) {
	cmd := command(ctx, root, "go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,GoFiles,Export,TestImports,XTestImports", "./"+pkg)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", pkg, said(err))
	}
	exports := make(map[string]string)
	s := &source{files: make(map[string]*ast.File), set: token.NewFileSet()}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			ImportPath, Dir, Export string

			GoFiles, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("listing %s: %w", pkg, err)
		}
		exports[p.ImportPath] = p.Export
		s.path, s.dir, s.names, s.flags = p.ImportPath, p.Dir, p.GoFiles, nil // go list prints the package itself last
		if slices.Contains(slices.Concat(p.TestImports, p.XTestImports), "pgregory.net/rapid") {
			s.flags = rapidFlags
		}
	}
	s.importer = importer.ForCompiler(s.set, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("not imported")
		}
		return os.Open(exports[path])
	})
	for _, name := range s.names {
		if s.files[name], err = parser.ParseFile(s.set, filepath.Join(s.dir, name), nil,
			parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	return s, s.check("", nil)
}

// testFlags are the flags of another package's test program.
func testFlags(ctx context.Context, root, pkg string) ([]string, error) {
	out, err := command(ctx, root, "go", "list", "-test", "-deps", "./"+pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", pkg, said(err))
	}
	if bytes.Contains(out, []byte("\npgregory.net/rapid\n")) {
		return slices.Clone(rapidFlags), nil
	}
	return nil, nil
}

// check type-checks the package with the text in place of the file's, and returns the error, if
// any.
func (s *source) check(name string, text []byte) error {
	files := make([]*ast.File, 0, len(s.names))
	for _, n := range s.names {
		f := s.files[n]
		if n == name {
			var err error
			if f, err = parser.ParseFile(s.set, name, text, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		files = append(files, f)
	}
	config := types.Config{Importer: s.importer}
	_, err := config.Check(s.path, s.set, files, nil)
	return err
}
