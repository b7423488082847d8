// Package reqbody limits how long the body of an HTTP request can occupy its connection, and
// rejects JSON bodies that another reader could understand differently.
//
// After the handler returns, net/http reads the rest of the body, without a limit unless
// http.Server.ReadTimeout is set, which also ends streams. A client that announces a body and never
// sends it would hold a connection indefinitely. Each handler of this project first calls Limit,
// and calls CloseUnread before it writes its response.
package reqbody

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// grace limits the reading of an unread body after the response.
const grace = 5 * time.Second

// Body is the body of one request. As with http.Request.Body, its methods must not be called
// concurrently.
type Body struct {
	io.ReadCloser

	conn  *http.ResponseController
	ended atomic.Bool
	http1 bool
}

// Limit returns the request with a body that must arrive within the limit; later reads fail with
// os.ErrDeadlineExceeded. The given request is not changed. net/http removes the deadline at the
// end of the body, when it begins to watch the connection. If w has no connection (httptest), there
// is no deadline.
func Limit(w http.ResponseWriter, r *http.Request, limit time.Duration) (*http.Request, *Body) {
	b := &Body{ReadCloser: r.Body, conn: http.NewResponseController(w), http1: r.ProtoMajor == 1}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		b.ended.Store(true)
		return r, b
	}
	_ = b.conn.SetReadDeadline(time.Now().Add(limit)) // fails in tests with a recorder
	limited := *r
	limited.Body = b
	return &limited, b
}

func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}

// CloseUnread ends the connection at most 5 s after the response if the body was not read to its
// end. Call it with the response's header before the header is written.
func (b *Body) CloseUnread(h http.Header) {
	if b.ended.Load() {
		return
	}
	if b.http1 { // in HTTP/2 the header would also end the connection's other requests
		h.Set("Connection", "close")
	}
	_ = b.conn.SetReadDeadline(time.Now().Add(grace))
}
