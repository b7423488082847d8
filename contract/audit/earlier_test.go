package audit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
)

// judged are the violations that a checker finds in a file.
func judged(t *testing.T, c *audit.Checker, name string) (all []audit.Violation) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		all = append(all, c.Line([]byte(line))...)
	}
	return append(all, c.Close()...)
}

// J14: a log is judged by the contract of another version, and by its schemas: readers of that
// version understand plain runs of today, but no unknown features.
func TestCheckerOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	earlier := os.DirFS("../../testdata/releases/v0.0.0-4b62763/contract")
	for folder, understands := range map[fs.FS]bool{os.DirFS(".."): true, earlier: false} {
		for name, yields := range map[string]bool{"automatic-mode.jsonl": false, "put-off.jsonl": true} {
			c, err := audit.NewCheckerFrom(folder)
			require.NoError(t, err)
			found := judged(t, c, "../testdata/good/"+name)
			if !yields || understands {
				require.Empty(t, found, name)
				continue
			}
			require.Equal(t, "IV-01", found[0].Invariant)
			require.Contains(t, found[0].Explanation, "by the contract 1.0.0")
		}
	}
}

// G1: a folder that is no contract is refused.
func TestCheckerOfNoContract(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]fstest.MapFS{
		"nothing":         {},
		"no JSON":         {"lifecycle.json": {Data: []byte("{")}},
		"unknown kind":    {"lifecycle.json": {Data: []byte(`{"invariants": [{"id": "IV-01", "kind": "magic"}]}`)}},
		"a broken schema": {"lifecycle.json": {Data: []byte(`{}`)}, "events/x.schema.json": {Data: []byte("[")}},
	} {
		_, err := audit.NewCheckerFrom(folder)
		require.ErrorIs(t, err, contract.ErrContract, name)
	}
}
