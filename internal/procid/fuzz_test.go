package procid_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/procid"
)

// FuzzIdentity: an identity comes from a database that others can write to. Whatever it contains,
// PID returns only numbers that a process can have, and only identities of this machine are judged.
func FuzzIdentity(f *testing.F) {
	f.Add(procid.Self())
	f.Add("v1 boot 1 1")
	f.Add("v1 boot 99999999999999999999 1")
	f.Add("v1 boot -1 1")
	f.Fuzz(func(t *testing.T, identity string) {
		pid, ok := procid.PID(identity)
		if !ok {
			require.Equal(t, procid.Unknown, procid.Alive(identity))
			return
		}
		require.Positive(t, pid)
		procid.Alive(identity)
	})
}
