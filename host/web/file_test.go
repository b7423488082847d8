package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
