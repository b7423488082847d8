package console_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/lifecycle"
)

// L1: on a terminal, reply shows the question and asks with the control that fits.
func TestL1OnATerminalTheQuestionIsAskedWithItsControl(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	for id, c := range map[string]struct {
		question lifecycle.Question
		keys     []string // for each control
		want     lifecycle.Record
	}{
		"choice":    {colour, []string{"\x1b[B\x1b[B\r"}, lifecycle.Record{Response: "blue"}},
		"own words": {colour, []string{"\x1b[F\r", "green\r"}, lifecycle.Record{Response: "green"}},
		"confirm":   {confirm, []string{"y"}, lifecycle.Record{Response: "yes"}},
		"form":      {form, []string{"0\r", "\r", "2\r", "\x7f3\r", "\r"}, lifecycle.Record{Value: []byte(`{"n":3}`)}},
		"approval":  {payment, []string{"\r\x1b[B\r", "y"}, lifecycle.Record{Decision: lifecycle.Approve}},
		"rejected": {payment, []string{"\x1b[B\r", "n", "\x1b[B\x1b[B\x1b[B\x1b[B\r", "too dear\r"},
			lifecycle.Record{Decision: lifecycle.Reject}},
		"edited": {payment, []string{"2\r", "\x7f\x7f\x7f5\n}\r", "y"},
			lifecycle.Record{Decision: lifecycle.Edit, Value: []byte(`{"eur":5}`)}},
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

// N2 N4: editing is not offered for an approval whose schema permits no other arguments, because it
// could never succeed. Options that differ only in characters that prose keeps are shown with their
// values.
func TestN2OnlyWhatIsPossibleIsOffered(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	fixed := payment
	fixed.Schema = []byte("false")
	o.asks("fixed", fixed)
	status, shown := typed(t, []string{"2\r", "too dear\r"}, "reply", "-db", o.db, "-as", "ada", "fixed")
	require.Equal(t, command.Succeeded, status, shown)
	require.NotContains(t, shown, "Edit the arguments")
	history, err := o.lc.History(t.Context(), "fixed")
	require.NoError(t, err)
	require.Equal(t, lifecycle.Reject, history[0].Decision)
	o.asks("alike", lifecycle.Question{Kind: lifecycle.ChooseOne, Prompt: "Which?", Options: []lifecycle.Option{
		{Label: "a b"}, {Label: "a  b"}, {Label: "a\u00a0b"}}})
	require.Contains(t, o.call("", "show", "alike").well(),
		"     1  a b\n     2  a b  (a  b)\n     3  a\u00a0b  (a\\u{00A0}b)\n")
}

// L1: leaving without an answer changes nothing.
func TestL1WhoLeavesAnswersNothing(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", confirm)
	status, shown := typed(t, []string{"\x03"}, "reply", "-db", o.db, "r")
	require.Equal(t, command.Refused, status, shown)
	require.Contains(t, o.call("", "inbox").well(), "Ship it?")
}

// ready is the sequence that a control sends before it reads keys.
const ready = "\x1b[?2004h"

// end marks the end of the program. The terminal stays open, because a control may read from it for
// a moment after it has returned.
const end = "\x00the end"

// typed calls the program on a terminal, types the keys for each control in turn, and returns the
// terminal's contents.
func typed(t *testing.T, keys []string, args ...string) (status int, shown string) {
	t.Helper()
	return onTerminal(t, func(unread string) (string, int) {
		at := strings.Index(unread, ready)
		switch {
		case at < 0:
			return "", 0
		case len(keys) == 0: // an unexpected control: leave it
			return "\x03", at + len(ready)
		}
		next := keys[0]
		keys = keys[1:]
		return next, at + len(ready)
	}, args...)
}

// onTerminal calls the program on a terminal. After new output, react returns the keys to type, and
// how much of the output has been read.
func onTerminal(t *testing.T, react func(unread string) (keys string, read int), args ...string) (status int,
	shown string) {
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
			for {
				keys, n := react(all.String()[from:])
				if n == 0 {
					break
				}
				from += n
				if _, err := master.WriteString(keys); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	p := command.Program{Verbs: console.Verbs()}
	// Keys that a control refuses leave it open: the test then fails and prints the output.
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	status, err = p.Run(ctx, command.Call{Program: "interlude", Args: args, In: tty, Out: tty, Side: os.Stderr})
	if err != nil {
		t.Log(command.Line(err))
	}
	_, err = tty.WriteString(end)
	require.NoError(t, err)
	shown = <-read
	require.NoError(t, master.Close())
	return status, shown
}
