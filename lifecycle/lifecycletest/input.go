package lifecycletest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

var input = []story{
	{"A3/an invalid spec is a clear error for each field and nothing is stored", inWorld(func(w *world) {
		many := make(map[string]string)
		for i := range 40 {
			many[fmt.Sprint(i)] = "x"
		}
		for field, bad := range map[string][]func(*lifecycle.Spec){
			"ID": {func(s *lifecycle.Spec) {
				s.ID = "../up"
			}, func(s *lifecycle.Spec) { s.ID = strings.Repeat("x", 129) }},
			"Prompt": {func(s *lifecycle.Spec) {
				s.Prompt = ""
			}, func(s *lifecycle.Spec) {
				s.Prompt = "\xff"
			}, func(s *lifecycle.Spec) { s.Prompt = strings.Repeat("x", lifecycle.MaxPrompt+1) }},
			"Mode": {func(s *lifecycle.Spec) { s.Mode = "manual" }},
			"Engine": {func(s *lifecycle.Spec) {
				s.Engine = "unknown"
			}, func(s *lifecycle.Spec) { s.Engine = "a b" }},
			"OutputSchema": {func(s *lifecycle.Spec) {
				s.OutputSchema = json.RawMessage(`{"type":"objekt"}`)
			}, func(s *lifecycle.Spec) {
				s.OutputSchema = json.RawMessage(`{`)
			}, func(s *lifecycle.Spec) { s.OutputSchema = json.RawMessage(`{"$ref":"file:///etc/passwd"}`) }},
			"MaxAttempts":      {attempts(-1)},
			"SessionTimeout":   {within(-time.Second), within(time.Millisecond), within(1500 * time.Millisecond)},
			"MaxAutoDecisions": {func(s *lifecycle.Spec) { s.MaxAutoDecisions = -1 }},
			"RepairRounds": {func(s *lifecycle.Spec) {
				s.RepairRounds = -1
			}, func(s *lifecycle.Spec) { s.RepairRounds = lifecycle.MaxRepairRounds + 1 }},
			"TurnTimeout": {func(s *lifecycle.Spec) { s.TurnTimeout = -1 }},
			"Pool":        {func(s *lifecycle.Spec) { s.Pool = "a pool" }},
			"Key":         {func(s *lifecycle.Spec) { s.Key = strings.Repeat("k", 256) }},
			"Priority":    {func(s *lifecycle.Spec) { s.Priority = 1001 }},
			"Labels": {func(s *lifecycle.Spec) {
				s.Labels = map[string]string{"": "x"}
			}, func(s *lifecycle.Spec) { s.Labels = many }},
			"WorkDir": {func(s *lifecycle.Spec) { s.WorkDir = strings.Repeat("/x", 3000) }},
		} {
			for _, change := range bad {
				spec := lifecycle.Spec{Prompt: "x"}
				change(&spec)
				_, err := w.Submit(w.ctx, spec)
				var wrong *lifecycle.SpecError
				require.ErrorAs(w, err, &wrong, field)
				require.ErrorIs(w, err, lifecycle.ErrInvalidSpec)
				require.Equal(w, field, wrong.Field)
				require.Less(w, len(err.Error()), 2000)
			}
		}
		_, err := w.Submit(w.ctx, lifecycle.Spec{Prompt: "x", Pool: "nobody-made-it"})
		require.ErrorIs(w, err, lifecycle.ErrUnknownPool)
		page, err := w.Runs(w.ctx, lifecycle.Query{})
		require.NoError(w, err)
		require.Empty(w, page.Runs)
	})},
	{"A3/the same id and spec is the same run, another spec is a conflict", inWorld(func(w *world) {
		w.agent.Plan("", Done("ok"))
		first := w.submit("r")
		w.is("r", fsm.StateSucceeded)
		again, err := w.Submit(w.ctx, lifecycle.Spec{ID: "r", Prompt: "Do the job."})
		require.NoError(w, err)
		require.Equal(w, first.CreatedAt, again.CreatedAt)
		require.Equal(w, fsm.StateSucceeded, again.State)
		_, err = w.Submit(w.ctx, lifecycle.Spec{ID: "r", Prompt: "Do another job."})
		require.ErrorIs(w, err, lifecycle.ErrSpecConflict)
		require.Len(w, w.agent.Turns("r"), 1)
	})},
	{"I13/ids that the library makes are unique and sort by time", inWorld(func(w *world) {
		w.agent.Plan("", Done("ok"))
		last := ""
		for range 50 {
			run := w.submit("")
			require.Greater(w, run.ID, last)
			last = run.ID
			w.advance(time.Millisecond)
		}
	})},
	{"F9/runs are listed by state, labels and pages; pruning deletes what ended long ago", inWorld(func(w *world) {
		w.agent.Plan("", Done("ok"))
		w.agent.Plan("parked", Wonders("?"))
		w.submit("parked", func(s *lifecycle.Spec) { s.Labels = map[string]string{"team": "red"} })
		for i := range 5 {
			w.submit(fmt.Sprintf("r%d", i), func(s *lifecycle.Spec) { s.Labels = map[string]string{"team": "blue"} })
		}
		var seen []string
		q := lifecycle.Query{Labels: map[string]string{"team": "blue"}, Limit: 2}
		for {
			page, err := w.Runs(w.ctx, q)
			require.NoError(w, err)
			for _, r := range page.Runs {
				seen = append(seen, r.ID)
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		require.Equal(w, []string{"r0", "r1", "r2", "r3", "r4"}, seen)
		w.advance(time.Hour)
		n, err := w.Prune(w.ctx, time.Now())
		require.NoError(w, err)
		require.Equal(w, 5, n)
		_, err = w.Get(w.ctx, "r0")
		require.ErrorIs(w, err, lifecycle.ErrNotFound)
		w.is("parked", fsm.StateWaitingUser)
		for i := range 5 {
			delete(w.runs, fmt.Sprintf("r%d", i))
		}
	})},
}
