package scenario_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// stage is where a story is played: a bubble of its own, in which time passes only while a command
// is done. The channels are made outside of the bubble, so that waiting for a command is nothing
// that time could pass with.
type stage struct {
	commands chan *datadriven.TestData
	told     chan told
	ended    chan struct{}
}

// told is what a command has to tell, or what is wrong with it.
type told struct {
	text string
	err  error
}

// verdict stands for no command, but for the end of the file.
const verdict = "the end"

func newStage(t *testing.T, p place) *stage {
	t.Helper()
	open, dir := p.make(t), t.TempDir()
	processes, err := newShell(t.Context(), filepath.Join(dir, "processes"))
	require.NoError(t, err)
	s := &stage{commands: make(chan *datadriven.TestData), told: make(chan told), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		defer func() {
			if err := processes.close(); err != nil {
				t.Error(err)
			}
		}()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, open, dir)
			w.shell = processes
			defer w.end()
			for d := range s.commands {
				if d.Cmd == verdict {
					s.told <- told{err: w.verdict()}
					continue
				}
				text, err := w.do(d)
				s.told <- told{text, err}
			}
		})
	}()
	return s
}

// do has one command done.
func (s *stage) do(tb testing.TB, d *datadriven.TestData) string {
	tb.Helper()
	select {
	case s.commands <- d:
	case <-s.ended:
		tb.Fatalf("%s: the story has broken off", d.Pos)
	}
	select {
	case t := <-s.told:
		if t.err != nil {
			tb.Fatalf("%s: %v", d.Pos, t.err)
		}
		return t.text
	case <-s.ended:
		tb.Fatalf("%s: the story has broken off", d.Pos)
	}
	return ""
}

// close ends the story.
func (s *stage) close() {
	close(s.commands)
	<-s.ended
}

// read plays the file to its end. What is wrong with it, or reads otherwise, is a fault of tb.
func (s *stage) read(tb testing.TB, path string) {
	tb.Helper()
	datadriven.RunTestAny(tb, path, func(tb testing.TB, d *datadriven.TestData) string {
		tb.Helper()
		return s.do(tb, d)
	})
	s.do(tb, &datadriven.TestData{Cmd: verdict, Pos: path})
}
