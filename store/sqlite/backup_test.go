package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/sqlite"
)

// docs/production.md: VACUUM INTO copies the file while hosts work on it. The copy opens, has what
// was stored, and keeps the store's identity.
func TestAFileThatIsInUseIsCopied(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	defer st.Close()
	lc, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
	require.NoError(t, err)
	defer lc.Close()
	require.NoError(t, st.SetPool(ctx, slots.Pool{Name: "p", Capacity: 1}))
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Keep me.", Pool: "p"})
	require.NoError(t, err)

	db, err := sql.Open("sqlite", filepath.Join(dir, "runs.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", filepath.Join(dir, "copy.db"))
	require.NoError(t, err)

	restored, err := sqlite.Open(ctx, filepath.Join(dir, "copy.db"), sqlite.Options{})
	require.NoError(t, err)
	defer restored.Close()
	kept, err := restored.Run(ctx, run.ID)
	require.NoError(t, err)
	require.Equal(t, run, kept)
	of, err := st.Identity(ctx)
	require.NoError(t, err)
	is, err := restored.Identity(ctx)
	require.NoError(t, err)
	require.Equal(t, of, is)
}
