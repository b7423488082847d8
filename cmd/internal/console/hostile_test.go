package console_test

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/internal/hostile"
	"github.com/interlude-go/interlude/lifecycle"
)

// N4: verbs and controls show every character of an agent's text, wherever they print it.
// proof/page tests the same for the other front ends.
func TestN4TheCommandLineShowsHostileText(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	keys := map[string][]string{"call": {"1\r"}, "form": {"1\r", "1\r"}}
	for _, c := range hostile.Cases() {
		o.asks(c.ID, c.Question)
		var schema []string
		if c.ID == "form" { // show prints it as one JSON text
			schema = []string{"caption", "remark"}
		}
		prose := c.Prose[:len(c.Prose)-len(schema)]
		exact := slices.Concat(schema, c.Exact)
		require.NoError(t, hostile.Check(o.call("", "show", c.ID).well(), exact, prose), c.ID)
		_, shown := typed(t, keys[c.ID], "reply", "-db", o.db, "-as", "ada", c.ID)
		require.NoError(t, hostile.Check(shown, c.Exact, prose), c.ID)
		require.NoError(t, hostile.Check(o.call("", "events", c.ID).well(), nil, []string{"prompt"}), c.ID)
	}
	_, err := o.lc.Submit(t.Context(), lifecycle.Spec{ID: "titled", Title: hostile.Text("title"),
		Prompt: `[{"kind":"confirm","prompt":"Yes?"}]`})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		r, err := o.lc.Get(t.Context(), "titled")
		return err == nil && r.State == lifecycle.StateWaitingUser
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, hostile.Check(o.call("", "show", "titled").well(), nil, []string{"title"}))
	for _, verb := range []string{"inbox", "runs"} {
		require.NoError(t, hostile.Check(o.call("", verb).well(), nil, []string{"title", "prompt"}), verb)
	}
	person := lifecycle.Actor{ID: hostile.Text("person"), Via: hostile.Text("via")}
	_, err = o.lc.As(person).Reply(t.Context(), "named", lifecycle.Reply{ID: 1, Text: hostile.Text("answer")})
	require.NoError(t, err)
	_, err = o.lc.Wait(t.Context(), "named")
	require.NoError(t, err)
	require.NoError(t, hostile.Check(o.call("", "show", "named").well(), []string{"person", "via"}, []string{"answer"}))
	require.NoError(t, hostile.Check(o.call("", "events", "named").well(), []string{"person"}, nil))
	late := o.call("", "reply", "named", "-question", "1", "too late")
	require.Equal(t, command.Refused, late.status)
	require.NoError(t, hostile.Check(late.err, []string{"person"}, nil))
}

// N4: nor does a line of the program's log.
func TestN4TheLogShowsHostileText(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(terminal.LogHandler(&b, slog.LevelInfo))
	log.Info(hostile.Text("message"), "err", errors.New(hostile.Text("fault")), "run", hostile.Text("run"), "n", 7,
		slog.Group("group", "inner", hostile.Text("inner")))
	require.Contains(t, b.String(), "level=INFO")
	require.Contains(t, b.String(), "n=7")
	require.NoError(t, hostile.Check(b.String(), []string{"fault", "run", "inner"}, []string{"message"}))
}
