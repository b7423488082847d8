package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// N8: the page shows an image and a text in place, offers HTML named .png as a download without
// executing it, says that a changed file cannot be shown, and the list shows a call's summary.
func TestN8ThePageShowsFiles(t *testing.T) {
	w := openWorld(t)
	drawn := image.NewGray(image.Rect(0, 0, 40, 30))
	drawn.SetGray(3, 3, color.Gray{Y: 200})
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, drawn))
	hostile := []byte("<script>document.title = 'owned'</script>")
	contents := map[string][]byte{"map.png": picture.Bytes(), "plan.txt": []byte("<b>build</b>\u202e, then test"),
		"evil.png": hostile, "old.txt": []byte("old")}
	files := &engine.Files{Host: "elsewhere"}
	for _, f := range []engine.File{{Name: "map.png", MediaType: "image/png"},
		{Name: "plan.txt", MediaType: "text/plain"}, {Name: "evil.png", MediaType: "image/png"},
		{Name: "old.txt", MediaType: "text/plain"}} {
		sum := sha256.Sum256(contents[f.Name])
		f.Path, f.Size, f.SHA256 = f.Name, int64(len(contents[f.Name])), hex.EncodeToString(sum[:])
		files.List = append(files.List, f)
	}
	q, err := engine.ApprovalOf("Deploy it?", "deploy", map[string]any{"to": "prod"})
	require.NoError(t, err)
	q.Files, q.Subject.Summary = files, "api \u2192 prod\u200b"
	w.ask(lifecycle.Spec{ID: "r"}, q)
	folder, err := w.lc.Folder(t.Context(), "r")
	require.NoError(t, err)
	contents["old.txt"] = []byte("new")
	for name, body := range contents {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "artifacts", name), body, 0o600))
	}
	ada := w.open("ada", "#/inbox")
	ada.until(`document.querySelector(".summary")?.innerText.startsWith("api → prod")`)
	require.Contains(t, js[string](ada, `document.querySelector(".summary").innerText`), "200B")
	ada = w.open("ada", "#/inbox/r/1")
	ada.until(`document.querySelector(".files img")?.naturalWidth === 40`)
	ada.until(`document.querySelector(".files pre")?.innerText.includes("then test")`)
	text := js[string](ada, `document.querySelector(".files pre").innerText`)
	require.Contains(t, text, "<b>build</b>")
	require.Contains(t, text, "202E")
	ada.until(`document.querySelectorAll(".files .notice").length === 2`)
	require.Contains(t, js[string](ada, `document.querySelector(".files .notice").innerText`), "evil.png")
	require.Contains(t, js[string](ada, `document.querySelector(".files").innerText`), "elsewhere")
	require.NotEqual(t, "owned", js[string](ada, `document.title`))
	require.Equal(t, "map.png", js[string](ada, `document.querySelector(".files a").getAttribute("download")`))
	ada.accessible("files")
}
