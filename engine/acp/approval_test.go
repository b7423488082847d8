package acp_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

func running(command string) wanted {
	w := removing("build")
	w.RawInput, _ = json.Marshal(map[string]string{"command": command})
	return w
}

// K4: a person sees all of the subject: nothing is pushed out of sight, and hidden characters are
// shown.
func TestQuestionShowsAllOfTheSubject(t *testing.T) {
	for name, tc := range map[string]struct{ command, shown string }{
		"behind padding": {"ls " + strings.Repeat(" ", 20<<10) + "; rm -rf /",
			"[20481 white-space characters]; rm -rf /"},
		"between two paddings": {strings.Repeat(" ", 9<<10) + "rm -rf /" + strings.Repeat(" ", 9<<10),
			"[9216 white-space characters]rm -rf /[9216 white-space characters]"},
		"after 8 KiB of text": {strings.Repeat("# ", 8<<10) + "; rm -rf /", "; rm -rf /"},
		"turned round":        {"echo \u202e/ fr- mr", `\u{202E}`},
		"without width":       {"r\u200bm -rf /", `r\u{200B}m`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, "load", nil)
			o := r.does(permit(running(tc.command)))
			q, odd := interaction.Normalize(o.Questions[0])
			require.Empty(t, odd)
			require.Contains(t, q.Context, tc.shown)
			require.NotContains(t, q.Context, "This is not all of it")
		})
	}
}

// K4: a subject too large for a question becomes an artifact; the question has its name, digest and
// the size of the hidden part. The decision applies to the artifact's content at that time.
func TestLargeSubjectIsWrittenToAnArtifact(t *testing.T) {
	large := running(strings.Repeat("x", 40<<10) + "; rm -rf / #" + strings.Repeat("y", 40<<10) + "the end")
	asked := func(r *run) (path string) {
		r.Helper()
		o := r.does(permit(large))
		require.Len(r, o.Questions, 1)
		q, odd := interaction.Normalize(o.Questions[0])
		require.Empty(r, odd)
		require.Regexp(r, `\[… \d+ more bytes are not shown …\]`, q.Context)
		require.Contains(r, q.Context, "the end")
		named := regexp.MustCompile(`the artifact (permission-\S+\.txt) \(SHA-256 [0-9a-f]{64}\)`).FindStringSubmatch(
			q.Context)
		require.Len(r, named, 2)
		path = filepath.Join(r.turn.ArtifactDir, named[1])
		body, err := os.ReadFile(path)
		require.NoError(r, err)
		require.Contains(r, string(body), "; rm -rf /")
		return path
	}
	for _, can := range []string{"load", ""} {
		r := newRun(t, can, nil)
		asked(r)
		require.Contains(r, r.answer("once").FinalText, ": once")

		for name, change := range map[string]func(path string) error{
			"changed": func(path string) error { return os.WriteFile(path, []byte("ls"), 0o600) },
			"removed": os.Remove,
			"a pipe":  func(path string) error { return errors.Join(os.Remove(path), pipe(path)) },
			"a link": func(path string) error {
				return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
			},
			"a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		} {
			path := asked(r)
			require.NoError(r, change(path))
			before := len(r.decisions())
			o := r.answer("once")
			require.NotContains(r, strings.Join(r.decisions()[before:], " "), ": once", name)
			require.Len(r, o.Questions, 1, "%s: it is asked again", name)
			r.answer("no")
		}
	}

	r := newRun(t, "load", nil)
	artifacts := r.turn.ArtifactDir
	r.turn.ArtifactDir = "" // no place for it
	large.Insistent = true
	o, err := r.execute(t.Context(), enginetest.Script("in "+artifacts, permit(large)))
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
	require.Empty(t, o.Questions, "nobody is asked to allow what nobody can see")
	require.Contains(t, o.Diagnostics[0].Detail, "cannot be shown in whole")
}
