package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/interlude-go/interlude/host/files"
	"github.com/interlude-go/interlude/lifecycle"
)

// maxFilesRead bounds the files that are read and sent at once: each is in memory
// (lifecycle.MaxFileSize).
const maxFilesRead = 8

// maxLogsRead bounds the logs that are open at once.
const maxLogsRead = 64

type fileInput struct {
	QuestionPath
	File int `path:"file" minimum:"0" doc:"The number of the file, from 0."`
}

func (d *Server) fileRoute(a *api) {
	op := a.operation(http.MethodGet, "get-file", "/runs/{id}/questions/{question}/files/{file}",
		"A file of a question")
	op.Description = "Whole, or one range. Images and texts are displayed, other files are downloaded. " +
		"FILE_MISSING: it is on another machine. FILE_CHANGED: it is not the file that was attached."
	withRanges(op, "application/octet-stream", "binary")
	register(a, op, d.file)
}

// withRanges describes the responses with a content, or a range of it.
func withRanges(op huma.Operation, media, format string) {
	content := map[string]*huma.MediaType{media: {Schema: &huma.Schema{Type: huma.TypeString, Format: format}}}
	op.Responses["200"] = &huma.Response{Description: "The content", Content: content}
	op.Responses["206"] = &huma.Response{Description: "The range", Content: content}
	op.Responses["416"] = &huma.Response{Description: "The content has no such range."}
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
	return d.sendFile(int64(len(content)), func(res *response) {
		defer func() { <-d.reading }()
		files.Serve(res, c.request, f, content)
	}), nil
}

// sendFile sends a content outside of the response's buffer, with a time limit for each MiB.
func (d *Server) sendFile(size int64, send func(*response)) *streamBody {
	return &streamBody{func(h huma.Context) {
		_, w := humago.Unwrap(h)
		res := w.(*response) //nolint:forcetypeassert // set by ServeHTTP
		res.input.CloseUnread(res.Header())
		res.streaming = true
		conn := http.NewResponseController(res.w)
		limit := d.opts.WriteTimeout * time.Duration(1+size>>20)
		_ = conn.SetWriteDeadline(time.Now().Add(limit)) // fails in tests with a recorder
		send(res)
		_ = conn.Flush()
		_ = conn.SetWriteDeadline(time.Time{}) // the next request may belong to another handler
	}}
}

// Logs are the logs of a run's turns.
type Logs struct {
	Logs []Log `json:"logs" nullable:"false" doc:"By attempt; of many the newest 1,000."`
	// Missing and Host are for a run with the folder on another machine.
	Missing bool   `json:"missing,omitempty" doc:"The answering machine has no logs of this run."`
	Host    string `json:"host" doc:"The name of the answering machine."`
}

// Log is a log that an engine has written during a turn.
type Log struct {
	Attempt   int       `json:"attempt"`
	Stream    string    `json:"stream" enum:"out,err" doc:"The agent's output, or its error output."`
	Size      int64     `json:"size" doc:"In bytes; it grows while the turn is executed."`
	ChangedAt time.Time `json:"changed_at"`
}

func (d *Server) logs(ctx context.Context, c *caller, in *RunPath) (*body[Logs], error) {
	all, err := c.client.TurnLogs(ctx, in.ID)
	missing := errors.Is(err, lifecycle.ErrFileMissing)
	if err != nil && !missing {
		return nil, err
	}
	host, _ := os.Hostname()
	out := Logs{Logs: make([]Log, len(all)), Missing: missing, Host: host}
	for i, l := range all {
		out.Logs[i] = Log(l)
	}
	return &body[Logs]{out}, nil
}

type logInput struct {
	RunPath
	Attempt int    `path:"attempt" minimum:"1"`
	Stream  string `path:"stream" enum:"out,err"`
}

func (d *Server) logRoute(a *api) {
	op := a.operation(http.MethodGet, "get-log", "/runs/{id}/logs/{attempt}/{stream}", "A log of a turn")
	op.Description = "Whole, or one range, as a download: it is text of an agent. FILE_MISSING: it is on another " +
		"machine."
	withRanges(op, "text/plain", "")
	register(a, op, d.turnLog)
}

func (d *Server) turnLog(ctx context.Context, c *caller, in *logInput) (*streamBody, error) {
	select {
	case d.logsRead <- struct{}{}:
	default:
		return nil, tooMany("Too many logs are being read. Repeat this request later.")
	}
	f, err := c.client.OpenTurnLog(ctx, in.ID, in.Attempt, in.Stream)
	var info os.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		<-d.logsRead
		return nil, err
	}
	return d.sendFile(info.Size(), func(res *response) {
		defer func() { <-d.logsRead }()
		defer f.Close()
		name := fmt.Sprintf("%s-attempt-%d.%s.txt", in.ID, in.Attempt, in.Stream)
		files.ServeLog(res, c.request, name, info.ModTime(), f)
	}), nil
}
