package procid_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/procid"
)

// FuzzIdentity: an identity comes from a database that others write to. Whatever it says, it names
// no process that could not be one, and only what this machine wrote is judged.
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
