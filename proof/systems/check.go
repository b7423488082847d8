package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// mode is what an analyzer needs of the packages, and the types of what they import.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo |
	packages.NeedTypesSizes | packages.NeedModule

// faults are what is wrong with the packages, as they are named in the folder, for the system.
func faults(ctx context.Context, dir, system string, patterns ...string) ([]string, error) {
	libraries, err := findLibraries(ctx)
	if err != nil {
		return nil, err
	}
	pkgs, err := packages.Load(&packages.Config{
		Context: ctx, Mode: mode, Dir: dir, Tests: true, ParseFile: libraries.parse,
		Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, errors.New("there are no such packages")
	}
	if found := libraries.typeErrors(pkgs); len(found) > 0 {
		return found, nil
	}
	return analyze(pkgs)
}

// analyze is what the analyzers say of the packages.
func analyze(pkgs []*packages.Package) (found []string, _ error) {
	graph, err := checker.Analyze(suite, pkgs, nil)
	if err != nil {
		return nil, err
	}
	for action := range graph.All() {
		if !action.IsRoot {
			continue
		}
		if action.Err != nil {
			return nil, fmt.Errorf("%s: %w", action, action.Err)
		}
		for _, d := range action.Diagnostics {
			found = append(found, fmt.Sprintf("%s: %s", action.Package.Fset.Position(d.Pos), d.Message))
		}
	}
	return found, nil
}

// libraries are the folders of what others have written. Whoever imports a package needs nothing of
// what its functions do, and SQLite alone is ten megabytes of it: those of libraries are read
// without their bodies.
type libraries []string

func findLibraries(ctx context.Context) (libraries, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, err
	}
	folders := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := range folders {
		folders[i] = strings.TrimSpace(folders[i]) + string(filepath.Separator)
	}
	return folders, nil
}

// have says whether the file, or the place in one, is of a library.
func (l libraries) have(place string) bool {
	return slices.ContainsFunc(l, func(folder string) bool { return strings.HasPrefix(place, folder) })
}

func (l libraries) parse(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
	if f == nil || !l.have(name) {
		return f, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			fn.Body = &ast.BlockStmt{Lbrace: fn.Body.Lbrace, Rbrace: fn.Body.Rbrace}
		}
	}
	return f, err
}

// typeErrors are those of the packages, and of what these import except for libraries: there they
// are of the bodies that are missing. It forgets them all, since what has errors, or imports what
// has, is not analyzed.
func (l libraries) typeErrors(pkgs []*packages.Package) (found []string) {
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, err := range p.Errors {
			if !l.have(err.Pos) {
				found = append(found, err.Error())
			}
		}
		p.Errors, p.TypeErrors, p.IllTyped = nil, nil, false
	})
	return found
}
