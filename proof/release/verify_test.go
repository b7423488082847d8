package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// R1: verify checks the program in an archive for a system on which it cannot be started here:
// its system, processor and version, and that it is static.
func TestR1AWrongProgramIsNoticed(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // the format of this machine's programs is checked below
	}
	sources, files := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/small\n\ngo 1.25\n",
		"main.go": "package main\n\nvar release string\n\nfunc main() { print(release) }\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(sources, name), []byte(text), 0o600))
	}
	build := func(env ...string) []byte {
		t.Helper()
		program := filepath.Join(files, "interlude")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w -X main.release=v1.2.3",
			"-o", program, ".")
		cmd.Dir, cmd.Env = sources, append(append(os.Environ(), "GOWORK=off", "GOFLAGS="), env...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		text, err := os.ReadFile(program)
		require.NoError(t, err)
		return text
	}
	good := build("CGO_ENABLED=0")
	require.NoError(t, checkProgram(good, "linux", runtime.GOARCH, "v1.2.3"))
	require.ErrorContains(t, checkProgram(good, "linux", runtime.GOARCH, "v1.2.4"), "v1.2.4")
	require.ErrorContains(t, checkProgram(good, "darwin", runtime.GOARCH, "v1.2.3"), "GOOS=linux, want darwin")
	require.ErrorContains(t, checkProgram(good, "linux", "riscv64", "v1.2.3"), "want riscv64")
	require.Error(t, checkProgram([]byte("#!/bin/sh"), "linux", runtime.GOARCH, "v1.2.3"))
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.ErrorContains(t, checkProgram(self, "linux", runtime.GOARCH, "v1.2.3"), "it was built with")
	for _, of := range []func([]byte) (string, []string, error){ofMachO, ofPE} {
		_, _, err := of(good)
		require.Error(t, err)
	}

	archives := t.TempDir()
	require.Error(t, verify(archives, t.Output()), "none")
	name := filepath.Join(archives, "interlude_1.2.3_linux_"+runtime.GOARCH+".tar.gz")
	require.NoError(t, pack(name, files, time.Unix(1, 0)))
	require.NoError(t, verify(archives, t.Output()))
	require.NoError(t, pack(filepath.Join(archives, "interlude_1.2.3_windows_amd64.zip"), files, time.Unix(1, 0)))
	require.ErrorContains(t, verify(archives, t.Output()), "windows_amd64.zip: it was built with GOOS=linux")
}
