package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func faults(t *testing.T, dir, system, patterns string) ([]string, error) {
	t.Helper()
	c := check{dir: dir, patterns: []string{patterns}, analyzed: map[string]bool{}}
	return c.faults(t.Context(), system)
}

// Code that does not compile on one system is found, and so is what go vet reports there, in tests
// too; sound code is not reported.
func TestFaultsOfASystemAreFound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	for name, text := range map[string]string{
		"go.mod":               "module example.com/m\n\ngo 1.25\n",
		"m.go":                 "package m\n\nfunc twice(n int) int { return 2 * n }\n",
		"m_windows.go":         "package m\n\nvar four string = twice(2)\n",
		"m_linux.go":           "package m\n\nvar large = twice(1 << 31)\n",
		"m_darwin_test.go":     "package m\n\nfunc same(n int) { n = n; twice(n) }\n",
		"sound/sound_plan9.go": "package sound\n\nvar wrong = missing\n",
		"sound/sound.go":       "package sound\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
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
	dir := t.TempDir()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	const wrong = "\n\nfunc f%d(n int) { n = n }\n"
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n", "m.go": "package m" + fmt.Sprintf(wrong, 1),
		"other/other.go": "package other\n", "other/other_windows.go": "package other" + fmt.Sprintf(wrong, 2),
		"tagged/tagged.go": "package tagged\n",
		"tagged/long.go":   "//go:build long && !short\n\npackage tagged" + fmt.Sprintf(wrong, 3),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
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
}

// An error in code of others is found, also within a function, unless it is an exception.
func TestFaultsOfLibrariesAreFound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n\nrequire example.com/lib v0.0.0\n\n" +
			"replace example.com/lib => ./lib\n",
		"m.go":               "package m\n\nimport _ \"example.com/lib\"\n",
		"lib/go.mod":         "module example.com/lib\n\ngo 1.25\n",
		"lib/lib.go":         "package lib\n\nimport \"fmt\"\n\nfunc F() string { return fmt.Sprint(1) }\n",
		"lib/lib_windows.go": "package lib\n\nfunc refused() int { return F() }\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
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
