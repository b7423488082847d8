package exec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
)

// An attempt's rounds share one transcript, and each round's messages refer to their place in it.
func TestRoundsOfAnAttemptShareOneTranscript(t *testing.T) {
	e := scriptedWith(t, func(*exec.Config) {})
	turn := job(t, "final one")
	for _, want := range []string{"one", "two", "three"} {
		turn.Prompt = enginetest.Script("final " + want)
		o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
		require.NoError(t, err)
		require.NotNil(t, o.FinalRef)
		body, err := os.ReadFile(filepath.Join(turn.TranscriptDir, o.FinalRef.File))
		require.NoError(t, err)
		var line struct{ Text string }
		require.NoError(t, json.Unmarshal(body[o.FinalRef.Offset:o.FinalRef.Offset+o.FinalRef.Length], &line))
		require.Equal(t, want, line.Text)
	}
}

// I11: an attempt's rounds share its transcript's limit; text beyond it has no place.
func TestRoundsOfAnAttemptShareTheTranscriptLimit(t *testing.T) {
	e := scriptedWith(t, func(c *exec.Config) { c.MaxTranscript = 1 << 10 })
	turn := job(t, "long 2000", "final ok")
	for range 2 {
		o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
		require.NoError(t, err)
		require.Equal(t, "ok", o.FinalText)
		require.Nil(t, o.FinalRef)
		info, err := os.Stat(filepath.Join(turn.TranscriptDir, "attempt-1.out"))
		require.NoError(t, err)
		require.Equal(t, int64(1<<10), info.Size())
	}
}
