package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module creates a module that is in no workspace, and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func faults(t *testing.T, dir, system, patterns string) ([]string, error) {
	t.Helper()
	c := check{dir: dir, patterns: []string{patterns}, analyzed: map[string]bool{}}
	return c.faults(t.Context(), system)
}

// Code that does not compile on one system is found, and so is what go vet reports there, in tests
// too; sound code is not reported.
func TestFaultsOfASystemAreFound(t *testing.T) {
	dir := module(t, map[string]string{
		"go.mod":               "module example.com/m\n\ngo 1.25\n",
		"m.go":                 "package m\n\nfunc twice(n int) int { return 2 * n }\n",
		"m_windows.go":         "package m\n\nvar four string = twice(2)\n",
		"m_linux.go":           "package m\n\nvar large = twice(1 << 31)\n",
		"m_darwin_test.go":     "package m\n\nfunc same(n int) { n = n; twice(n) }\n",
		"sound/sound_plan9.go": "package sound\n\nvar wrong = missing\n",
		"sound/sound.go":       "package sound\n",
	})
	for system, want := range map[string]string{
		"windows": "m_windows.go:3:19: cannot use twice(2)", "darwin": "m_darwin_test.go:3:20: self-assignment of n",
		"linux/386": "m_linux.go:3:19: cannot use 1 << 31",
	} {
		found, err := faults(t, dir, system, "./...")
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Contains(t, found[0], want)
		found, err = faults(t, dir, system, "./sound")
		require.NoError(t, err)
		require.Empty(t, found)
	}
	found, err := faults(t, dir, "windows", "./gone")
	require.NoError(t, err)
	require.NotEmpty(t, found)
}

// A package is analyzed on another system, or with other tags, only for files that are new there.
func TestFilesAreAnalyzedOnce(t *testing.T) {
	const wrong = "\n\nfunc f%d(n int) { n = n }\n"
	dir := module(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n", "m.go": "package m" + fmt.Sprintf(wrong, 1),
		"other/other.go": "package other\n", "other/other_windows.go": "package other" + fmt.Sprintf(wrong, 2),
		"tagged/tagged.go": "package tagged\n",
		"tagged/long.go":   "//go:build long && !short\n\npackage tagged" + fmt.Sprintf(wrong, 3),
	})
	c := check{dir: dir, patterns: []string{"./..."}, analyzed: map[string]bool{}}
	for _, step := range []struct{ system, want string }{
		{"linux", "m.go:3"}, {"darwin", ""}, {"windows", "other_windows.go:3"}, {"windows+long+short", ""},
		{"linux+long", "long.go:5"}, {"windows", ""},
	} {
		found, err := c.faults(t.Context(), step.system)
		require.NoError(t, err)
		if step.want == "" {
			require.Empty(t, found, step.system)
		} else {
			require.Len(t, found, 1, step.system)
			require.Contains(t, found[0], step.want)
		}
	}

	later := check{dir: dir, patterns: c.patterns, analyzed: map[string]bool{}}
	later.passed.before = map[string]bool{}
	for _, key := range c.passed.now {
		later.passed.before[key] = true
	}
	found, err := later.faults(t.Context(), "darwin")
	require.NoError(t, err)
	require.Len(t, found, 1, "what failed on linux has not passed on darwin")
	require.Equal(t, 1, later.checked)
}

// An error in code of others is found, also within a function, unless it is an exception.
func TestFaultsOfLibrariesAreFound(t *testing.T) {
	dir := module(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n\nrequire example.com/lib v0.0.0\n\n" +
			"replace example.com/lib => ./lib\n",
		"m.go":               "package m\n\nimport _ \"example.com/lib\"\n",
		"lib/go.mod":         "module example.com/lib\n\ngo 1.25\n",
		"lib/lib.go":         "package lib\n\nimport \"fmt\"\n\nfunc F() string { return fmt.Sprint(1) }\n",
		"lib/lib_windows.go": "package lib\n\nfunc refused() int { return F() }\n",
	})
	check := func(system string) []string {
		found, err := faults(t, dir, system, "./...")
		require.NoError(t, err)
		return found
	}
	require.Empty(t, check("darwin"))
	require.Len(t, check("windows"), 1)
	old := exceptions
	t.Cleanup(func() { exceptions = old })
	exceptions = append(exceptions, exception{"example.com/lib", "windows", "a test"})
	require.Empty(t, check("windows"))
}

// Packages that passed are checked again only after a change that can concern them. A fault is found
// again until it is repaired.
func TestSoundPackagesAreCheckedOnce(t *testing.T) {
	const fault, tag = "\n\nfunc f(n int) { n = n }\n", "//go:build tag\n\n"
	dir := module(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n\nrequire example.com/lib v0.0.0\n\n" +
			"replace example.com/lib => ./lib\n",
		"lib/go.mod": "module example.com/lib\n\ngo 1.25\n", "lib/lib.go": "package lib\n\nconst N = 1\n",
		"code/base/base.go":         "package base\n\nimport \"example.com/lib\"\n\nconst N = lib.N\n",
		"code/leaf/leaf.go":         "package leaf\n\nimport \"example.com/m/code/base\"\n\nvar n int = base.N\n",
		"code/leaf/leaf_windows.go": "package leaf\n", "code/leaf/tagged.go": tag + "package leaf\n",
		"tested/x_test.go": "package x_test\n", "code/solo/solo.go": "package solo\n",
	})
	file := filepath.Join(t.TempDir(), "new", "passed")
	run := func(pattern, program, system string, checked int, fault string) {
		t.Helper()
		c := check{dir: dir, patterns: []string{pattern}, program: program, analyzed: map[string]bool{}}
		c.passed.file = file
		c.passed.load()
		found, err := c.faults(t.Context(), system)
		require.NoError(t, err)
		require.NoError(t, c.passed.save())
		require.Equal(t, checked, c.checked, "%v", found)
		require.Equal(t, fault == "", len(found) == 0, "%v", found)
		require.Contains(t, strings.Join(found, "\n"), fault)
	}
	for _, step := range []struct {
		system, file, text string
		checked            int // of base, leaf and solo
		fault              string
	}{
		{"linux", "", "", 3, ""},
		{"linux", "", "", 0, ""},
		{"windows", "", "", 3, ""},
		{"windows", "code/leaf/leaf_windows.go", "package leaf" + fault, 1, "self-assignment"},
		{"windows", "", "", 1, "self-assignment"},
		{"linux", "", "", 1, ""}, // analyzers read other systems' files, too: their build constraints
		{"windows", "code/leaf/leaf_windows.go", "package leaf\n", 0, ""},
		{"linux+tag", "", "", 3, ""},
		{"linux+tag", "code/leaf/tagged.go", tag + "package leaf" + fault, 1, "self-assignment"},
		{"linux+tag", "code/leaf/tagged.go", tag + "package leaf\n", 0, ""},
		{"linux", "lib/lib.go", "package lib\n\nconst N = ``\n", 2, "cannot use base.N"},
		{"linux", "", "", 2, "cannot use base.N"},
		{"linux", "lib/lib.go", "package lib\n\nconst N, wrong = 1, missing\n", 2, "undefined: missing"},
		{"linux", "lib/lib.go", "package lib\n\nconst N = 2\n", 2, ""},
		{"linux", "code/solo/solo.go", "package solo\n\nimport _ \"example.com/m/gone\"\n", 1, "gone"},
		{"linux", "", "", 1, "gone"},
		{"linux", "code/solo/solo.go", "package solo\n", 0, ""},
	} {
		if step.file != "" {
			write(t, dir, step.file, step.text)
		}
		run("./code/...", "program", step.system, step.checked, step.fault)
	}

	run("./tested", "program", "linux", 2, "") // the package and its tests
	write(t, dir, "tested/x_test.go", "package x_test"+fault)
	run("./tested", "program", "linux", 2, "self-assignment")

	again := func(program string, checked int) {
		t.Helper()
		run("./code/...", program, "linux", checked, "")
	}
	again("another", 3) // with other analyzers
	again("program", 0)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append([]byte("\x00\n\n"), text[1:]...), 0o600))
	again("another", 1) // its first key is damaged
	require.NoError(t, os.Truncate(file, 10))
	again("program", 3)
	require.NoError(t, os.Remove(file))
	again("program", 3)
	again("program", 0)
	file = "" // nothing can be kept
	again("program", 3)
	again("program", 3)
}
