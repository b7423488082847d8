package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// If the output cannot be printed, for example on a full disk, the program fails.
func TestALostOutputIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Log("this system has no /dev/full: using a closed file instead")
		full, err = os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		require.NoError(t, full.Close())
	} else {
		defer full.Close()
	}
	s := newScreen(full, full, false)
	s.line(plain, "the answer")
	require.Error(t, s.to.err)

	db := filepath.Join(t.TempDir(), "runs.db")
	require.Zero(t, called(t, "", "migrate", "-db", db).status)
	for _, args := range [][]string{
		{"run", "-mode", "auto", hello(t)}, {"version"}, {"runs", "-db", db}, {"inbox", "-db", db},
		{"token", "create", "-db", db, "ada"}, {"token", "create", "-json", "-db", db, "ada"},
	} {
		cmd := calling(t, args...)
		var side bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &side
		require.Error(t, cmd.Run(), "%v: %s", args, &side)
	}
	require.Empty(t, called(t, "", "token", "list", "-db", db).out, "a token that was not printed is revoked")
}
