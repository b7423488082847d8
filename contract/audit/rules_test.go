package audit

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
)

// G1: the meta-schema and the checker know the same kinds of invariants, and each kind is used.
func TestKindsOfInvariants(t *testing.T) {
	t.Parallel()
	metaSchema, err := os.ReadFile("../lifecycle.schema.json")
	require.NoError(t, err)
	used := map[string]bool{}
	for _, v := range contract.Load().Invariants {
		used[v.Kind] = true
	}
	for kind := range kinds {
		require.True(t, used[kind], "no invariant is of kind %s", kind)
		require.Contains(t, string(metaSchema), `"`+kind+`"`)
	}
}

// G1, G4: every invariant of the contract can be executed; an invariant that cannot is named, with
// the reason.
func TestInvariantsThatCannotBeExecutedAreNamed(t *testing.T) {
	t.Parallel()
	require.NoError(t, Executable(contract.Load()))
	for says, replaced := range map[string][2]string{
		`unknown field "colour"`: {`{"field": "seq"}`, `{"field": "seq", "colour": "red"}`},
		`no field "engine"`:      {`{"field": "seq"}`, `{"field": "engine"}`},
	} {
		source := string(contract.Source())
		require.Equal(t, 1, strings.Count(source, replaced[0]))
		l, err := contract.Parse([]byte(strings.Replace(source, replaced[0], replaced[1], 1)))
		require.NoError(t, err)
		require.ErrorIs(t, Executable(l), contract.ErrContract)
		require.ErrorContains(t, Executable(l), says)
	}
	unknown := contract.Load()
	unknown.Invariants[0].Kind = "magic"
	require.ErrorContains(t, Executable(unknown), `IV-01: there is no invariant kind "magic"`)
	require.Panics(t, func() { NewCheckerFor(unknown) })
}

// FuzzExecutable: each invariant of a contract that parses can be executed or is refused with a
// reason.
func FuzzExecutable(f *testing.F) {
	f.Add(contract.Source())
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := contract.Parse(raw)
		if err != nil {
			return
		}
		if err := Executable(l); err != nil {
			require.ErrorIs(t, err, contract.ErrContract)
			return
		}
		require.NotNil(t, NewCheckerFor(l))
	})
}
