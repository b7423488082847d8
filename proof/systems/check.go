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

// mode is the analyzers' required information about the packages, and the types of their imports.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo |
	packages.NeedTypesSizes | packages.NeedModule

// check checks the same packages on several systems.
type check struct {
	dir      string          // the packages are named relative to it
	patterns []string        // the packages
	analyzed map[string]bool // the files that analyzers have seen on a system
}

// faults returns the faults of the packages on the system: GOOS, GOOS/GOARCH, or either with build
// tags (linux+search). It analyzes only packages with files that were not analyzed on another system:
// the analyzers find the same in the others.
func (c *check) faults(ctx context.Context, system string) ([]string, error) {
	system, tags, _ := strings.Cut(system, "+")
	l, err := findLibraries(ctx, system)
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "CGO_ENABLED=0")
	goos, goarch, hasArch := strings.Cut(system, "/")
	if env = append(env, "GOOS="+goos); hasArch {
		env = append(env, "GOARCH="+goarch)
	}
	pkgs, err := packages.Load(&packages.Config{
		Context: ctx, Mode: mode, Dir: c.dir, Tests: true, ParseFile: l.parse,
		Env: env, BuildFlags: []string{"-tags=" + strings.ReplaceAll(tags, "+", ",")},
	}, c.patterns...)
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, errors.New("there are no such packages")
	}
	if found := l.typeErrors(pkgs, system); len(found) > 0 {
		return found, nil
	}
	return analyze(slices.DeleteFunc(pkgs, func(p *packages.Package) bool {
		seen := true
		if strings.HasSuffix(p.ID, ".test") {
			return true // a generated main function
		}
		for _, file := range p.CompiledGoFiles {
			seen = seen && c.analyzed[file]
		}
		return seen
	}), c.analyzed)
}

// analyze returns the findings of the analyzers for the packages, and adds their files to analyzed.
func analyze(pkgs []*packages.Package, analyzed map[string]bool) (found []string, _ error) {
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
	for _, p := range pkgs {
		for _, file := range p.CompiledGoFiles {
			analyzed[file] = true
		}
	}
	return found, nil
}

// libraries are the folders of code that is read without the bodies of its functions, since an
// importer does not need them: the standard library compiles everywhere, and SQLite, translated to Go,
// has ten megabytes of bodies. Other code is read whole: a body may refuse a system.
type libraries []string

func findLibraries(ctx context.Context, system string) (libraries, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, err
	}
	folders := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := range folders {
		folders[i] = strings.TrimSpace(folders[i]) + string(filepath.Separator)
	}
	modules := folders[1]
	folders[1] = filepath.Join(modules, "modernc.org") + string(filepath.Separator)
	for _, e := range exceptions {
		if e.system == system { // the analyzers panic on type errors in a body
			folders = append(folders, filepath.Join(modules, e.module)+"@")
		}
	}
	return folders, nil
}

// have reports whether the file, or the place in a file, is in a listed folder.
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

type exception struct{ module, system, reason string }

// exceptions are the modules of others that do not compile for a system.
var exceptions = []exception{
	{"github.com/bytedance/sonic", "linux/386", "only engine/eino uses it (docs/engines/eino.md)"},
}

// excepted reports whether the package belongs to an exception.
func excepted(p *packages.Package, system string) bool {
	return p.Module != nil && slices.ContainsFunc(exceptions, func(e exception) bool {
		return e.module == p.Module.Path && e.system == system
	})
}

// bodiless reports whether the error comes from the missing bodies of a library.
func bodiless(err packages.Error) bool {
	return strings.Contains(err.Msg, "missing return") || strings.Contains(err.Msg, "imported and not used") ||
		strings.Contains(err.Msg, "imported as") && strings.Contains(err.Msg, "and not used")
}

// typeErrors returns the type errors of the packages, and of the packages that these import, except
// errors about missing bodies and the exceptions. It then removes all errors, because a package with
// errors, or with an import that has errors, is not analyzed.
func (l libraries) typeErrors(pkgs []*packages.Package, system string) (found []string) {
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, err := range p.Errors {
			if (!l.have(err.Pos) || !bodiless(err)) && !excepted(p, system) {
				found = append(found, err.Error())
			}
		}
		p.Errors, p.TypeErrors, p.IllTyped = nil, nil, false
	})
	return found
}
