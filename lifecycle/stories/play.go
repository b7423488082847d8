package stories

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// play executes the story in a bubble in which time passes only during a command. It returns the
// first difference.
func play(t *testing.T, open Opener, s *story) (wrong error) {
	t.Helper()
	dir := t.TempDir()
	processes, err := newShell(t.Context(), filepath.Join(dir, "processes"))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, open, dir)
		defer w.close()
		w.shell = processes
		for _, st := range s.steps {
			if wrong = w.playStep(s, st); wrong != nil {
				wrong = fmt.Errorf("%s:%d: %w", s.path, st.line, wrong)
				return
			}
		}
		if err := w.checkEnd(); err != nil {
			wrong = fmt.Errorf("%s: %w", s.path, err)
		}
	})
	return errors.Join(wrong, processes.close())
}

func (w *world) playStep(s *story, st *step) error {
	if !s.rewrite && st.expected == "" {
		return fmt.Errorf("%s has no dashes, or nothing stands below them: its answer is missing",
			strings.Fields(st.command)[0])
	}
	answer, err := w.run(st.command, strings.TrimSpace(st.body))
	switch {
	case err != nil:
		return err
	case s.rewrite:
		st.expected = answer
	case answer != st.expected:
		return fmt.Errorf("%s\nexpected:\n%sfound:\n%s", st.command, indent(st.expected), indent(answer))
	}
	return nil
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}
