//go:build linux && (amd64 || arm64) && search

package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// J8, J9: the volume under the database is full, with the real file system's errors. The WAL of
// PostgreSQL is on the volume too, so the server stops. No run fails, no acknowledged data is lost,
// and the host continues when there is space again. On SQLite the outage is longer than the lease.
func TestAFullVolume(t *testing.T) {
	for name, c := range map[string]struct{ full, lease time.Duration }{
		onSQLite: {10 * time.Second, 4 * time.Second}, onPostgreSQL: {time.Second, patience},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := fillVolume(t.Context(), name, 30, c.full, c.lease)
			if errors.Is(err, errNoVolume) {
				t.Log(err)
				return // as the documentation says
			}
			require.NoError(t, err)
			t.Log(o)
			require.Positive(t, o.Refused)
			require.Empty(t, o.Unclear)
		})
	}
}

// J9: another process holds the lock of a SQLite file for longer than the host's lease. No turn is
// interrupted, since no node could take over.
func TestAFileThatIsLockedForLongerThanTheLease(t *testing.T) {
	o, err := lockOut(t.Context(), 30, 10*time.Second, 4*time.Second)
	require.NoError(t, err)
	t.Log(o)
	require.Positive(t, o.Refused)
	require.Empty(t, o.Unclear)
}
