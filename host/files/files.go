// Package files serves the files and pictures of questions (lifecycle.Question.Files) such that a
// browser executes nothing in them, and decides which of them a page may show in place.
//
// Neighbours: host/web and host/link check who may read a file, read it with
// lifecycle.Client.ReadFile, and answer with Serve.
package files

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/lifecycle"
)

// Preview is how a page shows a file in place.
type Preview string

// The previews. Download: not in place.
const (
	Download Preview = ""
	Image    Preview = "image"
	Text     Preview = "text"
)

var (
	images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"} // no SVG: it has scripts
	texts  = []string{"text/plain", "text/markdown", "text/csv", "application/json"}
)

// PreviewOf returns the preview for the file's media type. A content of another type is downloaded
// nevertheless.
func PreviewOf(f lifecycle.File) Preview {
	switch {
	case slices.Contains(images, f.MediaType):
		return Image
	case slices.Contains(texts, f.MediaType):
		return Text
	}
	return Download
}

// of returns the preview if the content has the type.
func of(f lifecycle.File, body []byte) Preview {
	preview := PreviewOf(f)
	if preview == Image && http.DetectContentType(body) != f.MediaType ||
		preview == Text && (!utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0) {
		return Download
	}
	return preview
}

// Serve answers a GET or HEAD request with the file's content, whole or one range. Every response
// forbids type sniffing, scripts, and the use by pages of other origins. A file is displayed only
// if it is an image or a text by type and content; else it is downloaded.
func Serve(w http.ResponseWriter, r *http.Request, f lifecycle.File, body []byte) {
	h := w.Header()
	disposition := "inline"
	switch of(f, body) {
	case Image:
		h.Set("Content-Type", f.MediaType)
	case Text:
		h.Set("Content-Type", "text/plain; charset=utf-8")
	default:
		h.Set("Content-Type", "application/octet-stream")
		disposition = "attachment"
	}
	h.Set("ETag", `"`+f.SHA256+`"`)
	serve(w, r, disposition, f.Name, time.Time{}, bytes.NewReader(body))
}

// ServeLog answers a GET or HEAD request with a text that an agent has written, like Serve, but only
// as a download. The text may grow in the meantime.
func ServeLog(w http.ResponseWriter, r *http.Request, name string, changed time.Time, content io.ReadSeeker) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if size, err := content.Seek(0, io.SeekEnd); err == nil && size == 0 { // net/http answers with bytes 0--1/0
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	serve(w, r, "attachment", name, changed, content)
}

func serve(w http.ResponseWriter, r *http.Request, disposition, name string, changed time.Time, content io.ReadSeeker) {
	h := w.Header()
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if strings.Contains(r.Header.Get("Range"), ",") { // many small ranges cost more than the file
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", changed, content)
}
