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

// listing is the information for a package's key. go list has it without compiling.
const listing = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedModule | packages.NeedForTest

// check checks the same packages on several systems.
type check struct {
	dir      string          // the packages are named relative to it
	patterns []string        // the packages
	program  string          // identifies this program and its analyzers
	analyzed map[string]bool // by file, on any system: the analyzers found nothing
	passed   passed
	checked  int // how many packages, with test variants, had not passed before
}

// faults returns the faults of the packages on the system: GOOS, GOOS/GOARCH, or either with build
// tags (linux+search). It loads only packages that have not passed before, and analyzes only packages
// with files that were not analyzed on another system: the analyzers find the same in the others.
func (c *check) faults(ctx context.Context, system string) ([]string, error) {
	system, tags, _ := strings.Cut(system, "+")
	env := append(os.Environ(), "CGO_ENABLED=0")
	goos, goarch, hasArch := strings.Cut(system, "/")
	if env = append(env, "GOOS="+goos); hasArch {
		env = append(env, "GOARCH="+goarch)
	}
	g, err := findGo(ctx, c.dir, env)
	if err != nil {
		return nil, err
	}
	config := &packages.Config{
		Context: ctx, Mode: listing, Dir: c.dir, Tests: true,
		Env: env, BuildFlags: []string{"-tags=" + strings.ReplaceAll(tags, "+", ",")},
	}
	listed, err := packages.Load(config, c.patterns...)
	if err != nil {
		return nil, err
	}
	if len(listed) == 0 {
		return nil, errors.New("there are no such packages")
	}
	setting := strings.Join([]string{c.program, g.version, system, tags}, " ")
	before := keys(listed, setting, g.fixed())
	paths := c.unknown(listed, before)
	if len(paths) == 0 {
		return nil, nil
	}
	l := g.libraries(system)
	config.Mode, config.ParseFile = mode, l.parse
	pkgs, err := packages.Load(config, paths...)
	if err != nil {
		return nil, err
	}
	failed := l.typeErrors(pkgs, system)
	pkgs = slices.DeleteFunc(pkgs, generated)
	c.checked += len(pkgs)
	if len(failed) > 0 {
		return failed, nil
	}
	found, err := c.analyze(pkgs)
	if err != nil {
		return nil, err
	}
	after := keys(listed, setting, g.fixed()) // a file may have changed before it was loaded
	for _, p := range pkgs {
		if key := before[p.ID]; key != "" && key == after[p.ID] && c.sound(p) {
			c.passed.now = append(c.passed.now, key)
		}
	}
	return found, nil
}

// unknown returns the paths of the packages that have not passed before, by themselves or with their
// tests. The files of the others count as analyzed.
func (c *check) unknown(listed []*packages.Package, keys map[string]string) (paths []string) {
	for _, p := range listed {
		switch {
		case generated(p):
		case c.passed.has(keys[p.ID]):
			c.judge(p.GoFiles, true)
		default:
			paths = append(paths, path(p))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// judge records that the files of a package were analyzed.
func (c *check) judge(files []string, sound bool) {
	for _, file := range files {
		before, seen := c.analyzed[file]
		c.analyzed[file] = sound && (before || !seen)
	}
}

// sound reports whether each file of the package was analyzed, on this or an earlier system, without a
// finding.
func (c *check) sound(p *packages.Package) bool {
	return !slices.ContainsFunc(p.CompiledGoFiles, func(file string) bool { return !c.analyzed[file] })
}

// analyze returns the findings of the analyzers for the packages with new files.
func (c *check) analyze(pkgs []*packages.Package) (found []string, _ error) {
	isNew := func(file string) bool { _, seen := c.analyzed[file]; return !seen }
	pkgs = slices.DeleteFunc(slices.Clone(pkgs), func(p *packages.Package) bool {
		return !slices.ContainsFunc(p.CompiledGoFiles, isNew)
	})
	graph, err := checker.Analyze(suite, pkgs, nil)
	if err != nil {
		return nil, err
	}
	faulty := map[*packages.Package]bool{}
	for action := range graph.All() {
		if !action.IsRoot {
			continue
		}
		if action.Err != nil {
			return nil, fmt.Errorf("%s: %w", action, action.Err)
		}
		for _, d := range action.Diagnostics {
			found = append(found, fmt.Sprintf("%s: %s", action.Package.Fset.Position(d.Pos), d.Message))
			faulty[action.Package] = true
		}
	}
	for _, p := range pkgs {
		c.judge(p.CompiledGoFiles, !faulty[p])
	}
	return found, nil
}

// libraries are the folders of code that is read without the bodies of its functions, since an
// importer does not need them: the standard library compiles everywhere, and SQLite, translated to Go,
// has ten megabytes of bodies. Other code is read whole: a body may refuse a system.
type libraries []string

// toolchain has the folders of the go command, and its version with the settings that change results.
type toolchain struct{ root, modules, version string }

func findGo(ctx context.Context, dir string, env []string) (toolchain, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE", "GOVERSION", "GOARCH", "GOEXPERIMENT")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if err != nil {
		return toolchain{}, err
	}
	lines := strings.SplitN(strings.ReplaceAll(string(out), "\r", ""), "\n", 3)
	end := string(filepath.Separator)
	return toolchain{lines[0] + end, lines[1] + end, lines[2]}, nil
}

// fixed returns the folders whose files do not change. Files of the standard library change only with
// g.version, and the paths of downloaded modules contain their versions.
func (g toolchain) fixed() libraries { return libraries{g.root, g.modules} }

func (g toolchain) libraries(system string) libraries {
	folders := libraries{g.root, filepath.Join(g.modules, "modernc.org") + string(filepath.Separator)}
	for _, e := range exceptions {
		if e.system == system { // the analyzers panic on type errors in a body
			folders = append(folders, filepath.Join(g.modules, e.module)+"@")
		}
	}
	return folders
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
