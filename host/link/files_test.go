package link

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// N8: a link's page shows an image and a text and offers other files, only to the link's holder and
// while the question is open; a changed file is refused, and the page says so.
func TestN8ALinkShowsFiles(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))))
	contents := map[string][]byte{"a.png": picture.Bytes(), "b.txt": []byte("<b>plan</b>\u202e"),
		"c.html": []byte("<script>alert(1)</script>"), "d.png": []byte("<script>alert(1)</script>")}
	files := &engine.Files{Host: "elsewhere"}
	for _, f := range []engine.File{{Name: "a.png", MediaType: "image/png"}, {Name: "b.txt", MediaType: "text/plain"},
		{Name: "c.html", MediaType: "text/html"}, {Name: "d.png", MediaType: "image/png"}} {
		sum := sha256.Sum256(contents[f.Name])
		f.Path, f.Size, f.SHA256 = f.Name, int64(len(contents[f.Name])), hex.EncodeToString(sum[:])
		files.List = append(files.List, f)
	}
	h := newHost(t, engine.Question{Kind: engine.Confirm, Prompt: "Right?", Files: files}, func(_ *Config,
		c *lifecycle.Config) {
		c.Dir = t.TempDir()
	})
	link := h.link("r", h.asked("r", nil), To("ada"))
	require.Contains(t, h.call("GET", link, nil).Body.String(), "was attached on the machine &#34;elsewhere&#34;")
	require.Equal(t, http.StatusNotFound, h.call("GET", link+"?file=0", nil).Code)
	folder, err := h.lc.Folder(t.Context(), "r")
	require.NoError(t, err)
	for name, body := range contents {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "artifacts", name), body, 0o600))
	}
	page := h.call("GET", link, nil)
	require.Contains(t, page.Body.String(), `<img src="?file=0" alt="a.png">`)
	require.Contains(t, page.Body.String(), `&lt;b&gt;plan&lt;/b&gt;\u{202E}`)
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "img-src 'self'")
	require.Equal(t, "image/png", h.call("GET", link+"?file=0", nil).Header().Get("Content-Type"))
	for _, n := range []string{"2", "3"} {
		got := h.call("GET", link+"?file="+n, nil)
		require.Equal(t, "application/octet-stream", got.Header().Get("Content-Type"))
		require.Contains(t, got.Header().Get("Content-Disposition"), "attachment")
	}
	for _, n := range []string{"4", "-1", "x", "", "99999999999999999999"} {
		require.Equal(t, http.StatusNotFound, h.call("GET", link+"?file="+n, nil).Code, n)
	}
	require.NotEqual(t, http.StatusOK, h.call("GET", link+"x?file=0", nil).Code)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "artifacts", "b.txt"), []byte("another"), 0o600))
	require.Contains(t, h.call("GET", link, nil).Body.String(), "has changed since the question was asked")

	require.Equal(t, http.StatusOK, h.call("POST", link, map[string][]string{"option": {"0"}}).Code)
	require.Equal(t, http.StatusConflict, h.call("GET", link+"?file=0", nil).Code)
}
