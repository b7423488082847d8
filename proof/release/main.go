// Release writes the modules of this repository as a module proxy will serve them once they are
// tagged, so that a release can be tried before it exists: .ci/publish.sh does that.
//
//	go run ./proof/release -to DIR       GOPROXY=file://DIR serves every module in its next version
//	go run ./proof/release -modules      list the modules in the order of their tags, with that version
//	go run ./proof/release -pack A.tar.gz -root DIR -at UNIX   write DIR's files to an archive, reproducibly
//	go run ./proof/release -verify DIR   check the program in each archive of .ci/release
//
// The next version is the one required between the modules. It is the same for all of them.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/interlude-go/interlude/proof/checkout"
)

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	to := flag.String("to", "", "`folder` to lay the proxy out in")
	list := flag.Bool("modules", false, "list the modules")
	archive := flag.String("pack", "", "`archive` to write the files of -root to: .tar.gz or .zip")
	archives := flag.String("verify", "", "`folder` of archives to check")
	at := flag.Int64("at", 0, "`time` of the files in the archive, in seconds since 1970")
	flag.Parse()
	var err error
	switch {
	case *archive != "":
		err = pack(*archive, *root, time.Unix(*at, 0))
	case *archives != "":
		err = verify(*archives, os.Stdout)
	case flag.NArg() > 0 || (*to == "") == !*list:
		fmt.Fprintln(os.Stderr, "release: want -to DIR, -modules, -pack ARCHIVE or -verify DIR")
		os.Exit(2)
	default:
		err = run(*root, *to, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run lists the modules, or writes them to the folder if to is given.
func run(root, to string, out io.Writer) error {
	files, err := checkout.Files(context.Background(), root)
	if err != nil {
		return err
	}
	modules, err := find(root, files)
	if err != nil {
		return err
	}
	version, err := nextVersion(modules)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if to == "" {
			if _, err := fmt.Fprintln(out, m.dir, m.path(), version, m.tag(version)); err != nil {
				return err
			}
		} else if err := m.layOut(root, to, version, files); err != nil {
			return fmt.Errorf("%s: %w", m.path(), err)
		}
	}
	return nil
}

// mod is a module of the repository.
type mod struct {
	dir  string // the folder from the root, with slashes; "." for the root itself
	file *modfile.File
	text []byte // the text of its go.mod
}

func (m mod) path() string { return m.file.Module.Mod.Path }

// tag is the name of the git tag that publishes the module.
func (m mod) tag(version string) string { return path.Join(m.dir, version) }

// replaces reports whether the module has replace directives. It then cannot be installed by its
// path.
func (m mod) replaces() bool { return len(m.file.Replace) > 0 }

// find reads every go.mod. The root comes first, then the libraries, and the programs last, which
// is the order of the tags: a program's go.sum has the sums of the others.
func find(root string, files []string) ([]mod, error) {
	var all []mod
	for _, name := range files {
		if path.Base(name) != "go.mod" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, mod{path.Dir(name), file, text})
	}
	rank := func(m mod) int {
		switch {
		case m.dir == ".":
			return 0
		case m.replaces():
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(all, func(a, b mod) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.dir, b.dir))
	})
	if len(all) == 0 || all[0].dir != "." {
		return nil, errors.New("there is no go.mod at the root")
	}
	return all, nil
}

// nextVersion is the version that all modules require of each other.
func nextVersion(modules []mod) (string, error) {
	ours := make(map[string]bool)
	for _, m := range modules {
		ours[m.path()] = true
	}
	version := ""
	for _, m := range modules {
		for _, r := range m.file.Require {
			switch {
			case !ours[r.Mod.Path], r.Mod.Version == version:
			case version == "":
				version = r.Mod.Version
			default:
				return "", fmt.Errorf("%s requires %s, others require %s of it: one version for all", m.path(), r.Mod,
					version)
			}
		}
	}
	if version == "" {
		return "", errors.New("no module requires another one")
	}
	return version, nil
}

// layOut writes the files of the proxy protocol for a module: see
// https://go.dev/ref/mod#goproxy-protocol.
func (m mod) layOut(root, to, version string, files []string) error {
	escaped, err := module.EscapePath(m.path())
	if err != nil {
		return err
	}
	dir := filepath.Join(to, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", version, time.Now().UTC().Format(time.RFC3339))
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": info, version + ".mod": string(m.text),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	err = zip.Create(archive, module.Version{Path: m.path(), Version: version}, m.content(root, files))
	return errors.Join(err, archive.Close())
}

// content lists a module's files; zip.Create omits nested modules' files. Like the go command, it
// adds the repository's licence to a module without one.
func (m mod) content(root string, files []string) []zip.File {
	var all []zip.File
	licensed := false
	for _, name := range files {
		inside := name
		if m.dir != "." {
			var ok bool
			if inside, ok = strings.CutPrefix(name, m.dir+"/"); !ok {
				continue
			}
		}
		licensed = licensed || inside == "LICENSE"
		all = append(all, content{inside, filepath.Join(root, filepath.FromSlash(name))})
	}
	if !licensed {
		all = append(all, content{"LICENSE", filepath.Join(root, "LICENSE")})
	}
	return all
}

// content is a file of a module: its name in the module, and its path here.
type content struct{ name, file string }

// Path returns the name in the module.
func (c content) Path() string { return c.name }

// Lstat describes the file.
func (c content) Lstat() (os.FileInfo, error) { return os.Lstat(c.file) }

// Open opens the file.
func (c content) Open() (io.ReadCloser, error) { return os.Open(c.file) }
