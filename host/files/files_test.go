package files_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/files"
	"github.com/interlude-go/interlude/lifecycle"
)

func served(t *testing.T, media, body string, header ...string) *http.Response {
	t.Helper()
	sum := sha256.Sum256([]byte(body))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	files.Serve(w, r, lifecycle.File{Name: `pl"an ü.png`, MediaType: media, Size: int64(len(body)),
		SHA256: hex.EncodeToString(sum[:])}, []byte(body))
	return w.Result()
}

// N8: only images and texts by type and content are displayed, all else is downloaded without a
// type, and no response can be sniffed, framed, scripted or read by another origin.
func TestN8FilesExecuteNothing(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))))
	const page = "<html><script>alert(1)</script></html>"
	for _, c := range []struct{ media, body, kind, disposition string }{
		{"image/png", picture.String(), "image/png", "inline"},
		{"image/png", page, "application/octet-stream", "attachment"},
		{"image/gif", picture.String(), "application/octet-stream", "attachment"},
		{"image/svg+xml", "<svg onload='alert(1)'/>", "application/octet-stream", "attachment"},
		{"text/html", page, "application/octet-stream", "attachment"},
		{"application/pdf", "%PDF-1.4", "application/octet-stream", "attachment"},
		{"text/plain", page, "text/plain; charset=utf-8", "inline"},
		{"text/markdown", "# ü", "text/plain; charset=utf-8", "inline"},
		{"application/json", "{}", "text/plain; charset=utf-8", "inline"},
		{"text/plain", "a\x00b", "application/octet-stream", "attachment"},
		{"text/plain", "\xff\xfe<\x00s\x00", "application/octet-stream", "attachment"},
	} {
		h := served(t, c.media, c.body).Header
		require.Equal(t, c.kind, h.Get("Content-Type"), c.media)
		require.True(t, strings.HasPrefix(h.Get("Content-Disposition"), c.disposition+"; filename"), h)
		require.Contains(t, h.Get("Content-Disposition"), "%22an%20%C3%BC.png", "the name cannot add parameters")
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "default-src 'none'; sandbox; frame-ancestors 'none'", h.Get("Content-Security-Policy"))
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"))
	}
}

// N8: one range is served; several, which could cost more than the file, are answered with the
// whole file, and invalid ones with 416.
func TestN8RangesAreBounded(t *testing.T) {
	for header, want := range map[string]struct {
		status int
		length int64
	}{
		"bytes=2-4": {206, 3}, "bytes=-3": {206, 3}, "bytes=0-99999": {206, 10}, "bytes=10-": {416, -2},
		"bytes=" + strings.TrimSuffix(strings.Repeat("0-0,", 2000), ","): {200, 10}, "bytes=0-9,0-9": {200, 10},
		"lines=1-2": {416, -2}, "bytes=4-2": {416, -2},
	} {
		r := served(t, "text/plain", "0123456789", "Range", header)
		require.Equal(t, want.status, r.StatusCode, header)
		if want.length >= 0 {
			require.Equal(t, want.length, r.ContentLength, header)
		}
	}
	whole := served(t, "text/plain", "0123456789")
	require.Equal(t, 304, served(t, "text/plain", "0123456789", "If-None-Match", whole.Header.Get("ETag")).StatusCode)
	require.Equal(t, 200, served(t, "text/plain", "0123456789", "Range", "bytes=2-4", "If-Range", `"old"`).StatusCode)
}
