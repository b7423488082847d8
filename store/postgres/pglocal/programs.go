package pglocal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// places are the folders in which the programs are usually installed, mostly not on PATH.
// .ci/postgres.sh has the same list.
var places = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                   // Red Hat, from PostgreSQL's own packages
	"/usr/libexec/postgresql*",                           // Alpine
	"/opt/homebrew/opt/postgresql*/bin",                  // macOS, Homebrew
	"/usr/local/opt/postgresql*/bin",                     // macOS on Intel, Homebrew
	"/Applications/Postgres.app/Contents/Versions/*/bin", // macOS, Postgres.app
	"/usr/local/pgsql/bin",                               // built from source
}

// findPrograms returns the folder of initdb and postgres. It does not replace a named folder.
func findPrograms(named string) (string, error) {
	from := "Options.Bin"
	if named == "" {
		named, from = os.Getenv("INTERLUDE_PG_BIN"), "INTERLUDE_PG_BIN"
	}
	if named != "" {
		dir, err := filepath.Abs(named)
		if err == nil && !hasPrograms(dir) {
			err = fmt.Errorf("pglocal: %w (now %s is %s, and they are not there)", ErrMissing, from, named)
		}
		return dir, err
	}
	if found, err := exec.LookPath("initdb"); err == nil {
		if dir, err := filepath.Abs(filepath.Dir(found)); err == nil && hasPrograms(dir) {
			return dir, nil
		}
	}
	return newest(places)
}

// newest returns the folder with the highest version in its path, whichever pattern finds it.
func newest(patterns []string) (string, error) {
	var found []string
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("pglocal: %w", err)
		}
		found = append(found, slices.DeleteFunc(dirs, func(dir string) bool { return !hasPrograms(dir) })...)
	}
	if len(found) == 0 {
		return "", fmt.Errorf("pglocal: %w", ErrMissing)
	}
	return slices.MaxFunc(found, func(a, b string) int { return slices.Compare(version(a), version(b)) }), nil
}

var number = regexp.MustCompile(`[0-9]+`)

// version is the numbers in a path: 9.6 is before 15.
func version(path string) []int {
	var all []int
	for _, digits := range number.FindAllString(path, -1) {
		n, err := strconv.Atoi(digits)
		if err == nil {
			all = append(all, n)
		}
	}
	return all
}

func hasPrograms(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
