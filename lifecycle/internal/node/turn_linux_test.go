package node

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// J2: only errors of the library are judged here: an engine has decided about its own.
func TestJ2OnlyErrorsOfTheLibraryAreJudged(t *testing.T) {
	n := alone(t, newStore(t), agent{})
	defer n.die(nil)
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ESTALE, syscall.ENOMEM} {
		err := fmt.Errorf("workspace: %w", &fs.PathError{Op: "open", Path: "run.json", Err: errno})
		ev := newTurn(&n.member, n, &store.Run{ID: "r", Engine: "default"}).failed(fsm.CodeWorkspaceMissing, err)
		require.True(t, ev.Process.Transient, errno)
		own := &engine.Failure{Code: fsm.CodeEngineUnavailable, Err: err}
		ev = newTurn(&n.member, n, &store.Run{ID: "r", Engine: "default"}).failed(fsm.CodeEngineUnavailable, own)
		require.False(t, ev.Process.Transient, errno)
	}
}
