//go:build linux

package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// done ends a run with the answers that the session has heard, and the done marker.
var done = []string{"recall", `delta "\n__SKILL_DONE__\n"`}

// E1, E4, E7, D5: a run asks twice. Its host is killed twice while it waits, and host and agent are
// killed while a turn executes. Each time another host continues with the session that the agent
// stored: the model gets the whole conversation.
func TestARunSurvivesWhatIsKilled(t *testing.T) {
	eachAgent(t, survives, func(w *world) {
		id := w.submit(lifecycle.Spec{Repeatable: true}, "note alpha", "ask One?")
		first := w.asked(id, "One?")
		w.gone(id) // a parked run has no process
		w.kill()

		w.start()
		w.reply(id, first, "note beta", "ask Two?")
		second := w.asked(id, "Two?")
		w.kill()

		w.start()
		w.reply(id, second, append([]string{"note gamma", "in " + w.Dir, "touch begun", "await go"}, done...)...)
		w.waitForFile("begun")
		w.killAll(id)
		w.start()
		w.make("go")
		run := w.ended(id, fsm.StateSucceeded)

		// gamma is there twice if the agent had stored it before it was killed
		require.Contains(w, run.FinalText, "alpha | beta | gamma")
		conversationWith := w.conversationWith("gamma")
		require.Less(w, strings.Index(conversationWith, "note alpha"), strings.Index(conversationWith, "note beta"))
		require.Less(w, strings.Index(conversationWith, "note beta"), strings.Index(conversationWith, "note gamma"))
		require.Equal(w, 2, run.Interactions)
		require.Equal(w, 4, run.Attempt, "the last turn was repeated as a new attempt")
		require.Contains(w, run.Warnings, fsm.WarnTurnRepeated)
		w.gone(id)
	})
}

// E4, E7: a turn that must not be repeated fails its run, and the process that the dead host left
// is ended.
func TestATurnThatMayNotBeRepeatedEndsItsRun(t *testing.T) {
	eachAgent(t, either, func(w *world) {
		id := w.submit(lifecycle.Spec{}, "in "+w.Dir, "touch begun", "hang")
		w.waitForFile("begun")
		w.kill()
		w.start()
		run := w.ended(id, fsm.StateFailed)
		require.Equal(w, fsm.CodeOrchestratorRestartInterrupted, run.Error.Code)
		w.gone(id)
	})
}

// E4: host and agent are killed as soon as the agent has named its session, which it may not have
// stored yet. The turn is repeated all the same.
func TestARunSurvivesAKillBeforeItsSessionIsKept(t *testing.T) {
	eachAgent(t, resumes, func(w *world) {
		id := w.submit(lifecycle.Spec{Repeatable: true}, append([]string{"note alpha", "in " + w.Dir, "await go"},
			done...)...)
		w.when(id, func(run lifecycle.Run) bool { return run.Session != nil })
		w.killAll(id)
		w.start()
		w.make("go")
		run := w.ended(id, fsm.StateSucceeded)
		require.Contains(w, run.FinalText, "alpha")
		w.gone(id)
	})
}

// I6: a run that is canceled in the middle of a turn, while the agent's shell works, leaves no
// process behind.
func TestACanceledRunLeavesNoProcess(t *testing.T) {
	eachAgent(t, either, func(w *world) {
		id := w.submit(lifecycle.Spec{Mode: lifecycle.Auto}, "tool touch "+filepath.Join(w.Dir, "begun")+
			"; sleep 1000 & sleep 1000", "final never")
		w.waitForFile("begun")
		require.NotEmpty(w, w.processes(id))
		require.NoError(w, w.client.Cancel(w.Context(), id, "no longer needed"))
		w.ended(id, fsm.StateCanceled)
		w.gone(id)
	})
}

// I11, D5: two concurrent runs have a session each, and know nothing of each other.
func TestTwoRunsKnowNothingOfEachOther(t *testing.T) {
	eachAgent(t, either, func(w *world) {
		one := w.submit(lifecycle.Spec{}, "note alpha", "in "+w.Dir, "touch one", "await go", "ask One?")
		two := w.submit(lifecycle.Spec{}, "note omega", "in "+w.Dir, "touch two", "await go", "ask Two?")
		w.waitForFile("one")
		w.waitForFile("two")
		w.make("go")
		w.reply(one, w.asked(one, "One?"), append([]string{"note beta"}, done...)...)
		w.reply(two, w.asked(two, "Two?"), append([]string{"note psi"}, done...)...)
		require.Equal(w, "alpha | beta", w.ended(one, fsm.StateSucceeded).FinalText)
		require.Equal(w, "omega | psi", w.ended(two, fsm.StateSucceeded).FinalText)
	})
}

// E2: the session no longer exists when the answer comes.
func TestASessionThatIsGoneFailsItsRun(t *testing.T) {
	eachAgent(t, resumes, func(w *world) {
		id := w.submit(lifecycle.Spec{}, "note alpha", "ask One?")
		question := w.asked(id, "One?")
		kept := 0
		for _, pattern := range w.agent.sessions {
			files, err := filepath.Glob(filepath.Join(w.runs(), id, "home", pattern))
			require.NoError(w, err)
			for _, file := range files {
				require.NoError(w, os.RemoveAll(file))
				kept++
			}
		}
		require.NotZero(w, kept, "the agent keeps its session elsewhere")
		w.reply(id, question, "note beta", "recall")
		run := w.ended(id, fsm.StateFailed)
		require.Equal(w, fsm.CodeSessionResumeFailed, run.Error.Code, run.Error.Message)
	})
}

// H4: the agent's full-auto flags are used in auto mode only, never in an interactive turn or its
// resume.
func TestFullAutoFlagsAreForAutoModeOnly(t *testing.T) {
	eachAgent(t, either, func(w *world) {
		turn := func(name string) []string { return []string{"in " + w.Dir, "touch " + name, "await go-" + name} }
		id := w.submit(lifecycle.Spec{}, append(turn("first"), "ask One?")...)
		w.waitForFile("first")
		require.False(w, w.fullAuto(id))
		w.make("go-first")
		w.reply(id, w.asked(id, "One?"), append(turn("second"), done...)...)
		w.waitForFile("second")
		require.False(w, w.fullAuto(id))
		w.make("go-second")
		w.ended(id, fsm.StateSucceeded)

		id = w.submit(lifecycle.Spec{Mode: lifecycle.Auto}, append(turn("third"), "final done")...)
		w.waitForFile("third")
		require.True(w, w.fullAuto(id))
		w.make("go-third")
		w.ended(id, fsm.StateSucceeded)
	})
}

// fullAuto reports whether the run's processes have flags that allow the agent everything.
func (w *world) fullAuto(id string) bool {
	w.Helper()
	args := w.arguments(id)
	require.NotEmpty(w, args, "the agent runs")
	for _, flag := range []string{"--dangerously", "bypassPermissions", "--yolo", "--approval-mode yolo",
		"--approval-mode=yolo", "--auto "} {
		if strings.Contains(args, flag) {
			return true
		}
	}
	return false
}
