package console_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// C5: a reply with a key can be repeated with the same command, in any notation, although the
// question is already settled.
func TestC5ReplyWithAKeyIsRepeatedHoweverItIsWritten(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	for run, c := range map[string]struct {
		stdin string
		args  []string
	}{
		"text":   {"", []string{"blue"}},
		"number": {"", []string{"2"}},
		"flag":   {"", []string{"-text", "2"}},
		"stdin":  {"2\n", nil},
		"named":  {"", []string{"-question", "1", "2"}},
	} {
		t.Run(run, func(t *testing.T) {
			o.asks(run, colour)
			args := append([]string{"reply", "-as", "ada", "-key", "k", run}, c.args...)
			o.call(c.stdin, args...).well()
			_, err := o.lc.Wait(t.Context(), run)
			require.NoError(t, err)
			require.Contains(t, o.call(c.stdin, args...).well(), "is answered, as before")
		})
	}
	o.asks("open", confirm, colour)
	o.call("", "reply", "-key", "k", "-question", "2", "open", "2").well()
	again := o.call("", "reply", "-key", "k", "open", "2").well()
	require.Contains(t, again, "question 2 of open is answered, as before")
}

// N1: the number of a missing option is a mistake, not an answer.
func TestN1ANumberWithoutAnOptionIsRefused(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", colour)
	o.call("", "reply", "r", "9").refused(command.Misused, "there is no option 9", "-text 9")
	o.call("9\n", "reply", "r").refused(command.Misused, "there is no option 9")
	o.call("", "reply", "r", "99999999999999999999").refused(command.Misused, "there is no option 99999999999999999999")
	o.call("", "reply", "r", "-text", "9").well()
}

// K7: a question is not due at its reminder.
func TestK7AReminderIsNotDue(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	q := confirm
	q.Wait = &engine.Wait{End: 72 * time.Hour, Then: engine.ThenFail, Steps: []engine.WaitStep{
		{After: time.Hour, Do: lifecycle.Remind}}}
	o.asks("r", q)
	require.Regexp(t, `(?m)^r .* in (2|3) days +Ship it\?$`, o.call("", "inbox").well())
}

// J5: show prints commands that decide about a held run, and they are accepted.
func TestJ5ShowPrintsCommandsThatAreAccepted(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	_, err := o.lc.Submit(t.Context(), lifecycle.Spec{ID: "h", Budget: lifecycle.Budget{Turns: 1},
		Prompt: `[{"kind":"confirm","prompt":"Ship it?"}]`})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		run, err := o.lc.Get(t.Context(), "h")
		return err == nil && run.OpenQuestion(1) != nil
	}, time.Minute, 10*time.Millisecond)
	o.call("", "reply", "h", "yes").well()
	require.Eventually(t, func() bool {
		run, err := o.lc.Get(t.Context(), "h")
		return err == nil && (run.Held() || run.State.Terminal())
	}, time.Minute, 10*time.Millisecond)
	run, err := o.lc.Get(t.Context(), "h")
	require.NoError(t, err)
	require.True(t, run.Held(), run.Error)
	require.Contains(t, o.call("", "show", "h").well(), "interlude resume -db "+o.db+" -choice end h")
	require.Contains(t, o.call("", "resume", "-choice", "end", "h").well(), "✓ run h is ended")
}

// An error names flags, not the library's fields and packages.
func TestErrorsHaveTheWordsOfTheCommandLine(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", confirm)
	for want, args := range map[string][]string{
		`-state is "happy"`:   {"runs", "-state", "happy"},
		"not found: run nope": {"cancel", "nope"},
		`-pool is "--"`:       {"inbox", "-pool", "--"},
		`-id is "/"`:          {"fork", "-id", "/", "r"},
		"the text is blank":   {"reply", "r", " "},
		"file already exists": {"restore", "-db", o.db, o.db},
	} {
		p := o.call("", args...)
		require.Contains(t, p.err, want)
		require.NotRegexp(t, `store:|sqlite:|lifecycle:|interaction:|query\.|reply\.|at\.`, p.err)
	}
}
