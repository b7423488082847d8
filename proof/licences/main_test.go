package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/checkout"
)

// allowed are the licences under which a program with interlude can be distributed without more than
// their texts.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// R1: each module that ours are compiled from has a licence that permits its distribution, and
// the notices contain its text.
func TestR1EveryDependencyMayBeDistributed(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := checkout.Files(t.Context(), root)
	require.NoError(t, err)
	work, err := os.ReadFile(filepath.Join(root, "go.work"))
	require.NoError(t, err)
	modules := 0
	for _, file := range files {
		if filepath.Base(file) != "go.mod" {
			continue
		}
		modules++
		dir := filepath.Dir(file)
		var env []string
		if dir != "." && !strings.Contains(string(work), "\t./"+dir+"\n") { // it needs a newer Go
			env = []string{"GOWORK=off"}
		}
		all, err := dependencies(filepath.Join(root, dir), env, "./...")
		require.NoError(t, err)
		for _, d := range all {
			require.True(t, slices.Contains(allowed, d.licence), "%s needs %s: %s", dir, d.Path, d.licence)
		}
	}
	require.Greater(t, modules, 10)
	var out strings.Builder
	require.NoError(t, notices(&out, filepath.Join(root, "cmd"), []string{"./interlude"}))
	for _, part := range []string{"== github.com/jackc/pgx/v5 ", "Copyright (c) 2013-2021 Jack Christensen",
		"== Go's standard library", "== modernc.org/sqlite "} {
		require.Contains(t, out.String(), part)
	}
}

// R1: unknown texts and strong copyleft are noticed.
func TestR1LicencesAreRecognized(t *testing.T) {
	for want, text := range map[string]string{
		"":     "All rights reserved.",
		"GPL":  "This is under the GNU General\nPublic License.",
		"MIT":  "Permission is hereby granted, free of charge, to any person\nobtaining a copy of it",
		"LGPL": "GNU LESSER GENERAL PUBLIC LICENSE",
	} {
		require.Equal(t, want, nameOf([]byte(text)))
	}
	empty := dependency{Dir: t.TempDir()}
	require.ErrorIs(t, empty.read(), errUnknown)
}
