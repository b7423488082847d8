package web

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/interlude-go/interlude/host/files"
)

// maxFilesRead bounds the files that are read and sent at once: each is in memory
// (lifecycle.MaxFileSize).
const maxFilesRead = 8

type fileInput struct {
	QuestionPath
	File int `path:"file" minimum:"0" doc:"The number of the file, from 0."`
}

func (d *Server) fileRoute(a *api) {
	op := a.operation(http.MethodGet, "get-file", "/runs/{id}/questions/{question}/files/{file}",
		"A file of a question")
	op.Description = "Whole, or one range. Images and texts are displayed, other files are downloaded. " +
		"FILE_MISSING: it is on another machine. FILE_CHANGED: it is not the file that was attached."
	op.Responses["200"] = &huma.Response{Description: "The content", Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}
	register(a, op, d.file)
}

func (d *Server) file(ctx context.Context, c *caller, in *fileInput) (*streamBody, error) {
	select {
	case d.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f, content, err := c.client.ReadFile(ctx, in.ID, in.Question, in.File)
	if err != nil {
		<-d.reading
		return nil, err
	}
	return &streamBody{func(h huma.Context) {
		defer func() { <-d.reading }()
		_, w := humago.Unwrap(h)
		res := w.(*response) //nolint:forcetypeassert // set by ServeHTTP
		res.input.CloseUnread(res.Header())
		res.streaming = true
		conn := http.NewResponseController(res.w)
		limit := d.opts.WriteTimeout * time.Duration(1+len(content)>>20) // for each MiB
		_ = conn.SetWriteDeadline(time.Now().Add(limit))                 // fails in tests with a recorder
		files.Serve(res, c.request, f, content)
		_ = conn.Flush()
		_ = conn.SetWriteDeadline(time.Time{}) // the next request may belong to another handler
	}}, nil
}
