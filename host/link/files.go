package link

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/host/files"
	"github.com/interlude-go/interlude/lifecycle"
)

// maxFilesRead bounds the files that are read and sent at once: each is in memory.
const maxFilesRead = 4

// maxText is the longest beginning of a text on the page, and maxTexts of all together, in bytes.
const (
	maxText  = 64 << 10
	maxTexts = 256 << 10
)

// shownFile is a file as displayed. Fault says why it cannot be shown.
type shownFile struct {
	lifecycle.File

	Number  int
	Preview files.Preview
	Text    string
	Cut     bool
	Fault   string
}

func (l *Links) preview(ctx context.Context, v *visit, w *words) []shownFile {
	all, left := v.question.Files.All(), maxTexts
	out := make([]shownFile, len(all))
	for i, f := range all {
		out[i] = shownFile{File: f, Number: i, Preview: files.PreviewOf(f)}
		if out[i].Preview != files.Text || left == 0 {
			continue
		}
		body, err := l.read(ctx, v, i)
		if err != nil {
			out[i].Fault = l.faultOf(v, err, w)
			continue
		}
		text := strings.ReplaceAll(string(body[:min(len(body), maxText, left)]), "\r\n", "\n")
		if out[i].Cut = len(body) > min(maxText, left); out[i].Cut {
			text = strings.ToValidUTF8(text, "")
		}
		left -= min(left, len(text))
		if utf8.ValidString(text) {
			out[i].Text = text
		}
	}
	return out
}

// read reads a file while fewer than maxFilesRead are read.
func (l *Links) read(ctx context.Context, v *visit, number int) ([]byte, error) {
	select {
	case l.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.reading }()
	_, body, err := v.client.ReadFile(ctx, v.run, v.capability.question, number)
	return body, err
}

func (l *Links) faultOf(v *visit, err error, w *words) string {
	switch {
	case errors.Is(err, lifecycle.ErrFileMissing):
		return fmt.Sprintf("%s %q.", w.FileMissing, v.question.Files.Host)
	case errors.Is(err, lifecycle.ErrFileChanged):
		return w.FileChanged
	}
	l.config.Logger.Error("link: a file cannot be read", "run", v.run, "err", err)
	return w.FileUnavailable
}

func (l *Links) writeFile(w http.ResponseWriter, r *http.Request, v *visit) {
	number, err := strconv.Atoi(r.URL.Query().Get("file"))
	all := v.question.Files.All()
	if err != nil || number < 0 || number >= len(all) {
		http.Error(w, "the question has no such file", http.StatusNotFound)
		return
	}
	select {
	case l.reading <- struct{}{}:
		defer func() { <-l.reading }()
	case <-r.Context().Done():
		return
	}
	f, body, err := v.client.ReadFile(r.Context(), v.run, v.capability.question, number)
	if err != nil {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, l.faultOf(v, err, wordsFor(r)), http.StatusNotFound)
		return
	}
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(pageTimeout * time.Duration(1+len(body)>>20))) // fails with a recorder
	files.Serve(w, r, f, body)
	_ = c.Flush()
	_ = c.SetWriteDeadline(time.Time{})
}
