package acp_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
)

// holding is a run of a resident agent whose requests stay open for d.
func holding(tb testing.TB, d time.Duration) *run {
	tb.Helper()
	return newRun(tb, "load", func(c *acp.Config) { c.Resident, c.PermissionWait = true, d })
}

// D4: an open request receives the answer during its turn: the agent gets no prompt and continues.
func TestWaitingRequestGetsTheAnswer(t *testing.T) {
	r := holding(t, time.Hour)
	o := r.does("say before", permit(removing("build")), "say after", "done cleaned")
	require.Len(t, o.Questions, 1)
	require.Empty(t, r.decisions(), "it waits")
	require.Equal(t, []string{"before"}, r.Messages())
	o = r.answer("once")
	require.Empty(t, o.Questions)
	require.Equal(t, []string{"rm -r build: once"}, r.decisions())
	require.Equal(t, []string{"before", "rm -r build: once", "after"}, r.Messages())
	require.Contains(t, o.FinalText, "cleaned")
	require.NotContains(t, r.transcript(2), "session/prompt")

	// It was used: the same request is asked again.
	require.Len(t, r.does(permit(removing("build"))).Questions, 1)
	require.Equal(t, "rm -r build: no", r.answer("3").FinalText)
}

// An allow-always decision on an open request holds for later ones.
func TestAllowAlwaysInAHeldRequestHolds(t *testing.T) {
	r := holding(t, time.Hour)
	w := removing("build")
	r.does(permit(w), permit(w))
	require.Empty(t, r.answer("always").Questions)
	require.Equal(t, []string{"rm -r build: always", "rm -r build: always"}, r.decisions())
}

// D4: an answer without an option, or an automatic decision, closes the open request and is sent to
// the agent as text.
func TestAnswerThatIsNoOptionCancelsAHeldRequest(t *testing.T) {
	r := holding(t, time.Hour)
	asked := r.does(permit(removing("build")), "final done anyway").Questions[0]
	o := r.answer("rather not\n" + enginetest.Script("final I see"))
	require.Equal(t, "I see", o.FinalText)
	require.Equal(t, []string{"rm -r build: canceled"}, r.decisions())

	r.does(permit(removing("src")))
	asked.ID = r.turn.Attempt
	require.Len(t, r.nobodyAnswers(asked).Questions, 1, "it is proposed, and waits, again")
	require.NotContains(t, strings.Join(r.decisions(), " "), "once")
}

// After its time an open request is canceled; the decision is applied when the agent proposes the
// same again.
func TestWaitingRequestIsCanceledAfterHoldPermission(t *testing.T) {
	r := holding(t, 20*time.Millisecond)
	o := r.does("pid self", permit(removing("build")))
	require.Len(t, o.Questions, 1)
	until(t, "the request is canceled", func() bool { return len(r.decisions()) > 0 })
	require.Equal(t, []string{"rm -r build: canceled"}, r.decisions())
	o = r.answer("once")
	require.Equal(t, "rm -r build: once", o.FinalText)
}

// D6: a process that dies with an open request is lost.
func TestDeathWithAHeldRequestIsReportedAsALoss(t *testing.T) {
	r := holding(t, time.Hour)
	lost := make(chan string, 1)
	t.Cleanup(r.engine.OnLoss(func(id string, _ error) { lost <- id }))
	r.does("pid self", permit(removing("build")))
	p, err := os.FindProcess(r.pid("self"))
	require.NoError(t, err)
	require.NoError(t, p.Kill())
	require.Equal(t, "r1", <-lost)
	_, err = r.execute(t.Context(), "once")
	require.ErrorContains(t, err, "INTERACTION_PROCESS_LOST")
}

// I6: canceling a run with an open request leaves nothing.
func TestCancelWithAHeldRequestLeavesNoProcess(t *testing.T) {
	r := newRun(t, "load", func(c *acp.Config) { c.Resident, c.PermissionWait, c.Grace = true, time.Hour, grace })
	r.does("pid self", "ignoreterm", permit(removing("build")), "hang")
	self := r.pid("self")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan engine.Outcome)
	go func() {
		o, _ := r.execute(ctx, "once") // it is canceled
		done <- o
	}()
	until(t, "the decision has arrived", func() bool { return len(r.decisions()) > 0 })
	cancel(engine.ErrCanceled)
	require.Equal(t, engine.Interrupted, (<-done).Process.Status)
	until(t, "the process is gone", func() bool { return !lives(self) })

	r = holding(t, time.Hour)
	r.does("pid self", permit(removing("build")))
	require.NoError(t, r.engine.End(t.Context(), "r1"))
	require.False(t, lives(r.pid("self")))
}
