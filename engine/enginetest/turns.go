package enginetest

import (
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// turns: what a turn leaves as evidence.
var turns = []scene{
	{name: "a turn that goes well leaves its final text and its messages in order", play: func(w *world) {
		r := w.newRun("r1")
		o := r.do("say one", "say two", "final three")
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "three", o.FinalText)
		require.Equal(w, []string{"one", "two"}, r.Messages())
	}},
	{name: "B4: a done marker arrives as the agent wrote it, on a line of its own", play: func(w *world) {
		o := w.newRun("r1").do("done all is well")
		reading := interaction.Read(o.FinalText, o.Output)
		require.True(w, reading.Done)
		require.Equal(w, "all is well", strings.TrimSpace(reading.Text))
	}},
	{name: "B10: a question arrives as the agent wrote it", play: func(w *world) {
		o := w.newRun("r1").do("ask May I?")
		q := interaction.Read(o.FinalText, o.Output).Question
		if len(o.Questions) > 0 {
			q = &o.Questions[0]
		}
		require.NotNil(w, q)
		require.Equal(w, "May I?", q.Prompt)
	}},
	{name: "B2: structured output is handed over as it is, with its large numbers", play: func(w *world) {
		o := w.newRun("r1").do(`output {"answer":9007199254740993}`, "final here")
		require.JSONEq(w, `{"answer":9007199254740993}`, string(o.Output))
		require.Contains(w, string(o.Output), "9007199254740993")
	}},
	{name: "pieces of a text make one text", play: func(w *world) {
		o := w.newRun("r1").do(`delta "the qu"`, `delta "ick "`, `delta "fö"`, `delta "x"`)
		require.Equal(w, "the quick föx", o.FinalText)
	}},
	{name: "B1: a turn that the agent failed is failed, with a code and a reason, whatever it said", play: func(w *world) {
		r := w.newRun("r1")
		o, err := r.execute(w.ctx, Script("done all is well", "fail the model is away"))
		if err == nil {
			require.Equal(w, engine.Failed, o.Process.Status)
			require.Contains(w, o.Process.Detail, "the model is away")
		}
	}},
	{name: "I11: a flood of messages is taken in order and to its end", play: func(w *world) {
		r := w.newRun("r1")
		o := r.do("flood 5000", "final dry")
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "dry", o.FinalText)
		got := r.Messages()
		require.Len(w, got, 5000)
		require.True(w, strings.HasPrefix(got[4999], "wave 4999 "))
	}},
	{name: "a turn without a word is a turn", play: func(w *world) {
		r := w.newRun("r1")
		require.NotPanics(w, func() {
			o := r.do()
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Empty(w, o.FinalText)
		})
	}},
	{name: "an input that looks like flags, code or placeholders stays an input", play: func(w *world) {
		for i, odd := range []string{"--help", "-x --yes", "{session} {prompt} {auto}", "a\nb 'c' \"d\" $(e) `f` \\", "ünïcödé 🎈"} {
			r := w.newRun("r" + string(rune('1'+i)))
			o, err := r.execute(w.ctx, odd+"\n"+Script("recall"))
			require.NoError(w, err)
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(w, strings.ReplaceAll(odd, "\n", " | "), o.FinalText)
		}
	}},
	{name: "two runs at one time do not know of each other", play: func(w *world) {
		var both sync.WaitGroup
		a, b := w.newRun("a"), w.newRun("b")
		outcomes := make([]engine.Outcome, 2)
		for i, r := range []*run{a, b} {
			other := []string{"b", "a"}[i]
			both.Go(func() {
				outcomes[i], _ = r.execute(w.ctx, "I am "+r.turn.RunID+"\n"+Script("touch here", "await "+other, "recall"))
			})
		}
		a.await("here") // both are under way at one time
		b.await("here")
		a.touch("b")
		b.touch("a")
		both.Wait()
		require.Equal(w, "I am a", outcomes[0].FinalText)
		require.Equal(w, "I am b", outcomes[1].FinalText)
	}},
}

// failure is the code that the outcome or the error of a turn carries.
func failure(w *world, o engine.Outcome, err error) fsm.Code {
	w.Helper()
	if err != nil {
		var f *engine.Failure
		require.ErrorAs(w, err, &f)
		return f.Code
	}
	require.Equal(w, engine.Failed, o.Process.Status)
	return o.Process.Code
}
