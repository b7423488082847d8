// Package reqbody limits how long the body of an HTTP request can occupy its connection.
//
// net/http reads the rest of a body after the handler has returned, and waits for it without a
// limit unless http.Server.ReadTimeout is set, which also ends streams. A client that announces a
// body and never sends it therefore holds a connection and a descriptor indefinitely, whether or
// not it may use the handler. Each handler of this project calls Limit before anything else, and
// CloseUnread before it writes its response.
package reqbody

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// grace is how long the rest of a body that the handler did not read may take after the response.
// A client that is still sending then loses its connection, and with it perhaps the response.
const grace = 5 * time.Second

// Body is the body of one request. Its methods may be called by one goroutine at a time, as those of
// http.Request.Body.
type Body struct {
	io.ReadCloser

	conn  *http.ResponseController
	ended atomic.Bool
	http1 bool
}

// Limit returns the request with a body that must arrive within the limit; later reads fail with
// os.ErrDeadlineExceeded. The given request is not changed. The deadline ends with the body:
// net/http removes it when it begins to watch the connection. Where w has no connection (httptest)
// there is no deadline.
func Limit(w http.ResponseWriter, r *http.Request, limit time.Duration) (*http.Request, *Body) {
	b := &Body{ReadCloser: r.Body, conn: http.NewResponseController(w), http1: r.ProtoMajor == 1}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		b.ended.Store(true)
		return r, b
	}
	_ = b.conn.SetReadDeadline(time.Now().Add(limit)) // a recorder of a test has no connection
	limited := *r
	limited.Body = b
	return &limited, b
}

// Read reads the body.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}

// CloseUnread makes the connection end 5 s after the response, at the latest, if the body was not
// read to its end. Call it with the header of the response, before that is written.
func (b *Body) CloseUnread(h http.Header) {
	if b.ended.Load() {
		return
	}
	if b.http1 { // in HTTP/2 the header would end the other requests of the connection, too
		h.Set("Connection", "close")
	}
	_ = b.conn.SetReadDeadline(time.Now().Add(grace))
}
