package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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

// toolLicences are additional licences allowed for npm packages that are only tools of the
// checks, agents that the checks drive, or test clients. These packages are not distributed.
var toolLicences = []string{"0BSD", "AFL-2.1", "BlueOak-1.0.0", "CC0-1.0", "LGPL-3.0-or-later", "MIT-0", "Python-2.0"}

// undeclared are packages without a licence in the registry's metadata, with the licence from
// their files.
var undeclared = map[string]string{
	"busboy": "MIT", "streamsearch": "MIT", // their package.json has an older format
	"opencode-linux-x64": "MIT", "opencode-linux-x64-baseline": "MIT", // executables of opencode-ai
	"@qwen-code/audio-capture": "Apache-2.0", "@qwen-code/qwen-code": "Apache-2.0",
}

// R1: each npm package that the checks install has a hash and a known licence. The package of the
// TypeScript client needs only packages with an allowed licence, in the version of the checks.
func TestR1NPMPackagesHaveHashesAndLicences(t *testing.T) {
	type lock struct {
		Packages map[string]struct {
			Version, Integrity string
			License            string
		}
	}
	root := filepath.Join("..", "..")
	read := func(file string, to any) {
		t.Helper()
		body, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(body, to), file)
	}
	lists, err := filepath.Glob(filepath.Join(root, ".ci", "npm", "*", "package.json"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	splits := regexp.MustCompile(`[() ]+|\bAND\b|\bOR\b`)
	for _, list := range lists {
		var locked lock
		name := filepath.Join(".ci", "npm", filepath.Base(filepath.Dir(list)), "package-lock.json")
		read(name, &locked)
		for path, p := range locked.Packages {
			if path == "" {
				continue
			}
			require.True(t, strings.HasPrefix(p.Integrity, "sha512-"), "%s: %s", name, path)
			module := path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):]
			for _, licence := range splits.Split(cmp.Or(p.License, undeclared[module], "none"), -1) {
				require.True(t, licence == "" || slices.Contains(append(allowed, toolLicences...), licence),
					"%s: %s: %s", name, path, licence)
			}
		}
	}
	var client struct{ Dependencies map[string]string }
	read("clients/typescript/package.json", &client)
	require.NotEmpty(t, client.Dependencies)
	var locked lock
	read(".ci/npm/typescript/package-lock.json", &locked)
	for name, version := range client.Dependencies {
		p := locked.Packages["node_modules/"+name]
		require.Equal(t, p.Version, version, name)
		require.Contains(t, allowed, p.License, name)
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
