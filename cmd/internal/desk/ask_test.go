package desk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/desk"
	"github.com/interlude-go/interlude/lifecycle"
)

// L1: on a terminal, reply shows the question and asks with the control that it deserves.
func TestL1OnATerminalTheQuestionIsAskedWithItsControl(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	for id, c := range map[string]struct {
		question lifecycle.Question
		keys     []string // of each control
		want     lifecycle.Record
	}{
		"choice":    {colour, []string{"\x1b[B\r"}, lifecycle.Record{Response: "blue"}},
		"own words": {colour, []string{"\x1b[A\r", "green\r"}, lifecycle.Record{Response: "green"}},
		"confirm":   {confirm, []string{"y"}, lifecycle.Record{Response: "yes"}},
		"form":      {form, []string{"0\r", "3\r"}, lifecycle.Record{Value: []byte(`{"n":3}`)}},
		"approval":  {payment, []string{"\x1b[A\x1b[A\r"}, lifecycle.Record{Decision: lifecycle.Approve}},
	} {
		t.Run(id, func(t *testing.T) {
			run := strings.ReplaceAll(id, " ", "-")
			o.asks(run, c.question)
			status, shown := typed(t, c.keys, "reply", "-db", o.db, "-as", "ada", run)
			require.Equal(t, command.Succeeded, status, shown)
			require.Contains(t, shown, c.question.Prompt)
			require.Contains(t, shown, "is answered")
			history, err := o.lc.History(t.Context(), run)
			require.NoError(t, err)
			got := history[0]
			if c.want.Response != "" {
				require.Equal(t, c.want.Response, got.Response)
			}
			require.Equal(t, string(c.want.Value), string(got.Value))
			require.Equal(t, c.want.Decision, got.Decision)
			require.Equal(t, "ada", got.Actor)
		})
	}
}

// L1: whoever leaves without an answer changes nothing.
func TestL1WhoLeavesAnswersNothing(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", confirm)
	status, shown := typed(t, []string{"\x03"}, "reply", "-db", o.db, "r")
	require.Equal(t, command.Refused, status, shown)
	require.Contains(t, o.call("", "inbox").well(), "Ship it?")
}

// ready is what a control sends to a terminal when it reads keys.
const ready = "\x1b[?2004h"

// end is what the test sends when the program has ended. It does not close the terminal, which a
// control may still read for a moment after it has returned.
const end = "\x00the end"

// typed calls the program on a terminal where somebody types into each control that comes, and
// returns what the terminal has shown.
func typed(t *testing.T, keys []string, args ...string) (status int, shown string) {
	t.Helper()
	master, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 80}))
	t.Setenv("TERM", "xterm")
	read := make(chan string, 1)
	go func() {
		var all strings.Builder
		from, chunk := 0, make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			all.Write(chunk[:n])
			if before, _, ended := strings.Cut(all.String(), end); ended || err != nil {
				read <- before
				return
			}
			for len(keys) > 0 && strings.Contains(all.String()[from:], ready) {
				from += strings.Index(all.String()[from:], ready) + len(ready)
				if _, err := master.WriteString(keys[0]); err != nil {
					t.Error(err)
				}
				keys = keys[1:]
			}
		}
	}()
	p := command.Program{Verbs: desk.Verbs()}
	status, err = p.Run(t.Context(), command.Call{Program: "interlude", Args: args, In: tty, Out: tty, Side: os.Stderr})
	if err != nil {
		t.Log(command.Line(err))
	}
	_, err = tty.WriteString(end)
	require.NoError(t, err)
	shown = <-read
	require.NoError(t, master.Close())
	return status, shown
}
