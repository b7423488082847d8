//go:build unix

package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

// asJSON is the secret within JSON; oddly is the same with escapes that no encoder writes.
const (
	asJSON = `s3cret\"\\/<value>`
	oddly  = `s\u0033cret\"\\/<value>`
)

// secretShell is a shell that has a secret, with rules for each way to print it.
func secretShell(tb testing.TB, lines ...string) exec.Config {
	tb.Helper()
	cfg := discreet(withSet(shell(tb, lines...)))
	for _, do := range []exec.Action{exec.Message, exec.Delta, exec.Output, exec.Warning} {
		cfg.Rules = append(cfg.Rules, exec.Rule{Match: map[string]string{"type": string(do)}, Do: do, Path: "text"})
	}
	cfg.Rules = append(cfg.Rules, exec.Rule{Match: map[string]string{"type": "list"}, Do: exec.Final, Path: "text.*"})
	return cfg
}

func withSet(cfg exec.Config) exec.Config {
	cfg.Set = make(map[string]string)
	return cfg
}

// says is a line of shell that prints a line of JSON.
func says(kind exec.Action, json string) string {
	return `printf '%s\n' '{"type":"` + string(kind) + `","text":` + json + `}'`
}

// all joins everything that a turn leaves.
func all(tb testing.TB, turn engine.Turn, o engine.Outcome, told *enginetest.Recorder) (text []string) {
	tb.Helper()
	text = append(told.Messages(), o.FinalText, string(o.Output), o.Process.Detail)
	for _, d := range slices.Concat(told.Warnings(), o.Diagnostics) {
		text = append(text, d.Detail)
	}
	files, err := filepath.Glob(filepath.Join(turn.TranscriptDir, "*"))
	require.NoError(tb, err)
	for _, f := range files {
		body, err := os.ReadFile(f)
		require.NoError(tb, err)
		text = append(text, string(body))
	}
	return text
}

// A secret appears nowhere in a turn's results, however the agent prints it.
func TestSecretIsRemovedFromAllThatATurnLeaves(t *testing.T) {
	for name, tc := range map[string]struct {
		lines []string
		see   func(t *testing.T, o engine.Outcome)
	}{
		"in messages and the final text": {
			lines: []string{says(exec.Message, `"1 `+asJSON+`"`), says(exec.Message, `"2"`),
				says(exec.Final, `"3 `+oddly+`"`)},
			see: func(t *testing.T, o engine.Outcome) { t.Helper(); require.Equal(t, "3 [redacted]", o.FinalText) },
		},
		"in pieces of a message": {
			lines: []string{says(exec.Delta, `"a s3cr"`), says(exec.Delta, `"et\"\\/<val"`),
				says(exec.Delta, `"ue> z"`)},
			see: func(t *testing.T, o engine.Outcome) { t.Helper(); require.Equal(t, "a [redacted] z", o.FinalText) },
		},
		"in pieces of a list": {
			lines: []string{says("list", `["a s3cret\"","\\/<value> z"]`)},
			see:   func(t *testing.T, o engine.Outcome) { t.Helper(); require.Equal(t, "a [redacted] z", o.FinalText) },
		},
		"in structured output": {
			lines: []string{says(exec.Output, `{"a":["x","`+oddly+`"],"`+asJSON+`":1}`)},
			see: func(t *testing.T, o engine.Outcome) {
				t.Helper()
				require.JSONEq(t, `{"a":["x","[redacted]"],"[redacted]":1}`, string(o.Output))
			},
		},
		"in a failure": {
			lines: []string{says(exec.Failure, `"key `+asJSON+` is refused"`)},
			see: func(t *testing.T, o engine.Outcome) {
				t.Helper()
				require.Equal(t, "key [redacted] is refused", o.Process.Detail)
			},
		},
		"in a warning, and in a line that is none": {
			lines: []string{says(exec.Warning, `"`+oddly+`"`), `echo "$API_KEY"`},
			see: func(t *testing.T, o engine.Outcome) {
				t.Helper()
				require.Contains(t, o.Diagnostics[0].Detail, "[redacted]")
			},
		},
		"in the error output, in pieces": {
			lines: []string{`printf 'key s3cret"' >&2`, `printf '%s is refused' '\/<value>' >&2`, "exit 3"},
			see: func(t *testing.T, o engine.Outcome) {
				t.Helper()
				require.Contains(t, o.Process.Detail, "key [redacted] is refused")
			},
		},
		"where the error output is cut": {
			lines: []string{`printf %s "$API_KEY" >&2`, `head -c 4090 /dev/zero | tr '\0' x >&2`, "exit 3"},
			see: func(t *testing.T, o engine.Outcome) {
				t.Helper()
				require.NotContains(t, o.Process.Detail, "value>")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var told enginetest.Recorder
			turn := job(t)
			o, err := started(t, secretShell(t, tc.lines...)).RunTurn(t.Context(), turn, &told)
			require.NoError(t, err)
			for _, text := range all(t, turn, o, &told) {
				require.NotContains(t, text, secret)
				require.NotContains(t, text, asJSON)
			}
			tc.see(t, o)
		})
	}
}

// A text that is cut within a secret does not end with its beginning.
func TestCutTextHasNoPartOfASecret(t *testing.T) {
	cfg := secretShell(t, says(exec.Delta, `"`+asJSON+`"`))
	cfg.MaxOutput = 12
	o, err := started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, "[redacted]", o.FinalText)

	cfg = secretShell(t, says(exec.Delta, `"ab s3cret"`), says(exec.Delta, `"\"\\/<value> z"`))
	cfg.MaxOutput = 12
	o, err = started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, "ab ", o.FinalText)
}

// A message refers to its place in the transcript also after a redacted secret.
func TestMessageRefIsRightAfterARedactedSecret(t *testing.T) {
	var told enginetest.Recorder
	turn := job(t)
	_, err := started(t, secretShell(t, `echo "x $API_KEY"`, says(exec.Message, `"one"`), says(exec.Message,
		`"two"`))).RunTurn(t.Context(), turn, &told)
	require.NoError(t, err)
	ref := told.Refs()[0]
	body, err := os.ReadFile(filepath.Join(turn.TranscriptDir, ref.File))
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"message","text":"one"}`, string(body[ref.Offset:ref.Offset+ref.Length]))
}

// A resident agent is redacted with the secrets of its start, also between its turns.
func TestResidentAgentIsRedactedWithTheSecretsOfItsStart(t *testing.T) {
	t.Setenv("API_KEY", secret)
	cfg := secretShell(t, "read -r input", says(exec.Final, `"1 `+oddly+`"`), saysEnd,
		`printf 'chatter s3cret"'; touch chatted`,
		"read -r input", `printf '%s\n' '\/<value>'`, says(exec.Final, `"2 `+oddly+`"`), saysEnd, "read -r input")
	cfg.Resident, cfg.Stdin, cfg.StdinJSON = true, "{input}", true
	cfg.Env, cfg.Set = append(cfg.Env, "API_KEY"), nil
	e, turn := started(t, cfg), job(t)
	var told enginetest.Recorder
	o, err := e.RunTurn(t.Context(), turn, &told)
	require.NoError(t, err)
	require.Equal(t, "1 [redacted]", o.FinalText)
	until(t, "the agent has chattered", func() bool {
		_, err := os.Stat(filepath.Join(turn.WorkDir, "chatted"))
		return err == nil
	})

	t.Setenv("API_KEY", "another one")
	turn.Attempt, turn.Answers = 2, answered("yes")
	o, err = e.RunTurn(t.Context(), turn, &told)
	require.NoError(t, err)
	require.Equal(t, "2 [redacted]", o.FinalText)
	for _, text := range all(t, turn, o, &told) {
		require.NotContains(t, text, "/<value>", "half of it came before the turn")
	}
	require.NoError(t, e.Close())
}

// An error sent to the agent's side hides the secret, too, and keeps its identity.
func TestErrorHasNoSecret(t *testing.T) {
	cause := errors.New("cause")
	for name, prepare := range map[string]func() error{
		"plain": func() error { return errors.Join(cause, errors.New("cannot store "+secret)) },
		"a failure": func() error {
			return &engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: secret, Err: cause}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := secretShell(t, saysOK)
			cfg.Prepare = func(context.Context, engine.Turn) error { return prepare() }
			_, err := started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
			require.ErrorContains(t, err, "[redacted]")
			require.NotContains(t, err.Error(), "s3cret")
			require.ErrorIs(t, err, cause)
			var f *engine.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, fsm.CodeEngineUnavailable, f.Code)
		})
	}
	cfg := secretShell(t, `echo "$API_KEY"; echo "$API_KEY" >&2; exit $STATUS`)
	answer, err := started(t, cfg).Query(t.Context(), cfg.Args...)
	require.NoError(t, err)
	require.Equal(t, "[redacted]\n", answer)
	cfg = secretShell(t)
	_, err = started(t, cfg).Query(t.Context(), "-c", `echo "$API_KEY" >&2; exit 3`)
	require.ErrorContains(t, err, "[redacted]")
	require.NotContains(t, err.Error(), "s3cret")
}

// A secret that cannot be redacted is refused by name before anything starts.
func TestUnusableSecretIsRefused(t *testing.T) {
	cfg := secretShell(t, saysOK)
	cfg.Secrets = []string{"TOKEN"}
	_, err := exec.New(cfg)
	require.ErrorContains(t, err, `"TOKEN" is in neither Env nor Set`)
	cfg.Set["TOKEN"] = "short"
	_, err = exec.New(cfg)
	require.ErrorContains(t, err, "TOKEN: redact: a secret has less than 6 bytes")
	require.NotContains(t, err.Error(), "short")

	delete(cfg.Set, "TOKEN")
	cfg.Env = append(cfg.Env, "TOKEN")
	t.Setenv("TOKEN", "short")
	_, err = started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
	var f *engine.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, fsm.CodeEngineUnavailable, f.Code)
	require.ErrorContains(t, err, "TOKEN: redact: a secret has less than 6 bytes")

	t.Setenv("TOKEN", "") // an unset variable has no secret
	o, err := started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, "ok", o.FinalText)
}
