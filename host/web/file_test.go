package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// N8: a file is served with its range behind the checks of its question, and a missing or changed
// one is a problem that says so.
func TestN8FilesAreServedToWhoSeesTheQuestion(t *testing.T) {
	w := open(t, lifecycle.Config{Dir: t.TempDir(), Authorize: func(_ context.Context, a lifecycle.Access) error {
		if a.Actor.ID == "eve" {
			return lifecycle.ErrNotAllowed
		}
		return nil
	}}, web.Options{Identify: identify})
	_, err := w.lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "files"})
	require.NoError(t, err)
	for e, err := range w.lc.Events(t.Context(), "r", 0) {
		require.NoError(t, err)
		if e.Type == lifecycle.TypeInputRequired {
			break
		}
	}
	get := func(user, path string, header ...string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			w.server.URL+"/interlude/api/runs/r/questions/"+path, nil)
		require.NoError(t, err)
		r.Header.Set("X-User", user)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := w.server.Client().Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res, string(body)
	}
	_, question := get("ada", "1")
	require.Contains(t, question, `"files":[{"name":"plan.txt","media_type":"text/plain","size":16,"sha256":"`)
	require.NotContains(t, question, "artifacts")
	_, body := get("ada", "1/files/0")
	require.Contains(t, body, "FILE_MISSING")
	require.Contains(t, body, "elsewhere")

	folder, err := w.lc.Folder(t.Context(), "r")
	require.NoError(t, err)
	plan := filepath.Join(folder, "artifacts", "plan.txt")
	require.NoError(t, os.WriteFile(plan, []byte(planText), 0o600))
	res, body := get("ada", "1/files/0")
	require.Equal(t, planText, body)
	require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
	require.Contains(t, res.Header.Get("Content-Security-Policy"), "sandbox")
	require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
	res, body = get("ada", "1/files/0", "Range", "bytes=0-4")
	require.Equal(t, []any{http.StatusPartialContent, "build"}, []any{res.StatusCode, body})
	for path, want := range map[string]int{"1/files/1": 404, "2/files/0": 404, "1/files/-1": 422, "1/files/x": 422} {
		res, _ = get("ada", path)
		require.Contains(t, []int{want, 400}, res.StatusCode, path)
	}
	res, _ = get("eve", "1/files/0")
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.NoError(t, os.WriteFile(plan, []byte(strings.ToUpper(planText)), 0o600))
	res, body = get("ada", "1/files/0")
	require.Equal(t, http.StatusGone, res.StatusCode)
	require.Contains(t, body, "FILE_CHANGED")
}

const planText = "build, then test"

func planFiles() *engine.Files {
	sum := sha256.Sum256([]byte(planText))
	return &engine.Files{Host: "elsewhere", List: []engine.File{{Name: "plan.txt", MediaType: "text/plain",
		Size: int64(len(planText)), SHA256: hex.EncodeToString(sum[:]), Path: "plan.txt"}}}
}

// N7: the logs of a run's turns are listed and served whole and by range to people who may view the
// run, as downloads that execute nothing; a name in their folder that is no log is never served.
func TestN7TheLogsOfTurnsAreServed(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	notEve := func(_ context.Context, a lifecycle.Access) error {
		if a.Actor.ID == "eve" {
			return lifecycle.ErrNotAllowed
		}
		return nil
	}
	w := open(t, lifecycle.Config{Store: s, Dir: t.TempDir(), Authorize: notEve}, web.Options{Identify: identify})
	w.submit("r", "Ship?", "ada")
	var logs web.Logs
	w.send("GET", "/runs/r/logs", "ada", "").into(t, &logs)
	require.Empty(t, logs.Logs)
	require.False(t, logs.Missing)
	folder, err := w.lc.Folder(t.Context(), "r")
	require.NoError(t, err)
	folder = filepath.Join(folder, "transcripts")
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("attempt-1.out", "<script>0123456789")
	write("attempt-1.err", "warning\n")
	write("attempt-10.out", "")
	write("secret.txt", "x")
	require.NoError(t, os.Symlink(filepath.Join(folder, "secret.txt"), filepath.Join(folder, "attempt-2.out")))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "attempt-3.out"), 0o700))

	w.send("GET", "/runs/r/logs", "ada", "").into(t, &logs)
	var listed []string
	for _, l := range logs.Logs {
		listed = append(listed, fmt.Sprint(l.Attempt, l.Stream, l.Size))
	}
	require.Equal(t, []string{"1out18", "1err8", "10out0"}, listed)
	read := func(name string, header ...string) answer {
		return w.send("GET", "/runs/r/logs/"+name, "ada", "", header...)
	}
	whole := read("1/out")
	require.Equal(t, "<script>0123456789", string(whole.body))
	for name, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8",
		"Content-Disposition": `attachment; filename=r-attempt-1.out.txt`, "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"} {
		require.Equal(t, want, whole.header.Get(name))
	}
	end := read("1/out", "Range", "bytes=-4")
	require.Equal(t, []any{206, "6789", "bytes 14-17/18"}, []any{end.status, string(end.body),
		end.header.Get("Content-Range")})
	require.Equal(t, 416, read("1/out", "Range", "bytes=18-").status)
	require.Equal(t, 200, read("10/out", "Range", "bytes=-4").status)
	for name, code := range map[string]string{"2/err": "FILE_MISSING", "2/out": "INTERNAL", "3/out": "INTERNAL",
		"1/txt": "INVALID_REQUEST", "0/out": "INVALID_REQUEST", "..%2fsecret/out": "INVALID_REQUEST"} {
		require.Equal(t, code, read(name).code(t), name)
	}
	for _, path := range []string{"/runs/r/logs", "/runs/r/logs/1/out"} {
		require.Equal(t, "NOT_FOUND", w.send("GET", path, "eve", "").code(t))
	}
	require.NoError(t, os.RemoveAll(filepath.Dir(folder)))
	logs = web.Logs{}
	w.send("GET", "/runs/r/logs", "ada", "").into(t, &logs)
	require.True(t, logs.Missing)
	gone := read("1/out")
	require.Equal(t, "FILE_MISSING", gone.code(t))
	require.Contains(t, string(gone.body), logs.Host)
}
