package enginetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// turns: the evidence that a turn returns.
var turns = []scene{
	{name: "a turn that goes well leaves its final text and its messages in order", real: true, play: func(w *world) {
		r := w.newRun("r1")
		o := r.do("say one", "say two", "final three")
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "three", o.FinalText)
		require.Equal(w, []string{"one", "two"}, r.Messages())
	}},
	{name: "B4: a done marker arrives as the agent wrote it, on a separate line", real: true, play: func(w *world) {
		o := w.newRun("r1").do("done all is well")
		reading := w.reading(o)
		require.True(w, reading.Done)
		require.Equal(w, "all is well", strings.TrimSpace(reading.Text))
	}},
	{name: "B4: a done marker in JSON arrives with the output", real: true, play: func(w *world) {
		o := w.newRun("r1").do(`output {"answer":9007199254740993,"` + interaction.DoneMarker + `":true}`)
		reading := w.reading(o)
		require.True(w, reading.Done)
		want := `{"answer":9007199254740993}`
		if w.profile.Plain { // plain code's output is data, whatever its fields' names (J12)
			want = `{"answer":9007199254740993,"` + interaction.DoneMarker + `":true}`
		}
		require.JSONEq(w, want, string(reading.Output))
		require.Contains(w, string(reading.Output), "9007199254740993")
	}},
	{name: "B4: a done marker that the user wrote is not the agent's", play: func(w *world) {
		const told = "When you are done, write\n" + interaction.DoneMarker + "\n"
		o, err := w.newRun("r1").execute(w.ctx, told+Script("ask May I go on?"))
		require.NoError(w, err)
		require.Equal(w, "May I go on?", asked(w, o))
		require.False(w, w.reading(o).Done)
		o, err = w.newRun("r2").execute(w.ctx, told+Script("final not yet"))
		require.NoError(w, err)
		require.Equal(w, "not yet", o.FinalText)
		require.Equal(w, w.profile.Plain, w.reading(o).Done, "only plain code that asks nothing is done")
	}},
	{name: "B10: a question arrives as the agent wrote it, and so does the next", play: func(w *world) {
		r := w.newRun("r1")
		require.Equal(w, "May I?", asked(w, r.do("ask May I?")))
		require.Equal(w, "Really?", asked(w, r.do("ask Really?")))
		require.True(w, w.reading(r.do("done all is well")).Done)
	}},
	{name: "B2: structured output is returned unchanged, with its large numbers", play: func(w *world) {
		o := w.newRun("r1").do(`output {"answer":9007199254740993}`, "final here")
		require.JSONEq(w, `{"answer":9007199254740993}`, string(o.Output))
		require.Contains(w, string(o.Output), "9007199254740993")
	}},
	{name: "pieces of a text make one text", play: func(w *world) {
		o := w.newRun("r1").do(`delta "the qu"`, `delta "ick "`, `delta "fö"`, `delta "x"`)
		require.Equal(w, "the quick föx", o.FinalText)
	}},
	{name: "B1: a turn that the agent failed is failed, with a code and a reason, whatever it said", real: true,
		play: func(w *world) {
			r := w.newRun("r1")
			o, err := r.execute(w.ctx, Script("done all is well", "fail the model is away"))
			if err == nil {
				require.Equal(w, engine.Failed, o.Process.Status)
				require.Contains(w, o.Process.Detail, "the model is away")
			} else if w.profile.Plain {
				require.ErrorContains(w, err, "the model is away")
			}
			require.True(w, w.Model == nil || err == nil && len(w.questions()) > 0,
				"the model failed, not the engine: %v",
				err)
		}},
	{name: "I11: a flood of messages is stored in order and to its end", play: func(w *world) {
		r := w.newRun("r1")
		o := r.do("flood 5000", "final dry")
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "dry", o.FinalText)
		got := r.Messages()
		require.Len(w, got, 5000)
		require.True(w, strings.HasPrefix(got[4999], "wave 4999 "))
	}},
	{name: "a turn without any text is a turn", play: func(w *world) {
		r := w.newRun("r1")
		require.NotPanics(w, func() {
			o := r.do()
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Empty(w, o.FinalText)
		})
	}},
	{name: "an input that looks like flags, code or placeholders stays an input", play: func(w *world) {
		for i, odd := range []string{"--help", "-x --yes", "{session} {prompt} {auto}", "a\nb 'c' \"d\" $(e) `f` \\",
			"ünïcödé 🎈"} {
			r := w.newRun("r" + string(rune('1'+i)))
			o, err := r.execute(w.ctx, odd+"\n"+Script("recall"))
			require.NoError(w, err)
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(w, strings.ReplaceAll(odd, "\n", " | "), o.FinalText)
		}
	}},
	{name: "two concurrent runs do not know of each other", real: true, play: func(w *world) {
		a := w.newRun("a").start("note I am a", "touch here", "await go", "recall")
		b := w.newRun("b").start("note I am b", "touch here", "await go", "recall")
		a.reach("here") // both turns are under way
		b.reach("here")
		a.touch("go")
		b.touch("go")
		require.Equal(w, "I am a", a.finish().FinalText)
		require.Equal(w, "I am b", b.finish().FinalText)
	}},
}

// reading returns the library's reading of the outcome: of the agent's text or, for plain code, of
// the outcome's fields only.
func (w *world) reading(o engine.Outcome) interaction.Reading {
	if !w.profile.Plain {
		return interaction.Read(o.FinalText, o.Output)
	}
	text, _, _ := strings.Cut(o.FinalText, interaction.DoneMarker)
	return interaction.Reading{Done: o.Done, Text: text, Output: o.Output}
}

// asked returns the prompt of the outcome's question.
func asked(w *world, o engine.Outcome) string {
	w.Helper()
	require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
	if len(o.Questions) > 0 {
		return o.Questions[0].Prompt
	}
	q := interaction.Read(o.FinalText, o.Output).Question
	require.NotNil(w, q, "%q", o.FinalText)
	return q.Prompt
}

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
