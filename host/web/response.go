package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/host/reqbody"
)

// response buffers a response to compute its length and ETag, and sends it with a write deadline
// that disconnects a slow reader. Streams are not buffered.
type response struct {
	w         http.ResponseWriter
	request   *http.Request
	input     *reqbody.Body
	timeout   time.Duration
	status    int
	body      bytes.Buffer
	streaming bool
	left      func() // ends the count of the request, once; see countRequest
}

func (r *response) Header() http.Header { return r.w.Header() }

func (r *response) Unwrap() http.ResponseWriter { return r.w }

func (r *response) WriteHeader(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	if r.streaming {
		r.w.WriteHeader(status)
	}
}

func (r *response) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.streaming {
		return r.w.Write(b)
	}
	return r.body.Write(b)
}

func (r *response) problem(p *Problem) {
	r.status = 0
	r.body.Reset()
	r.Header().Set("Content-Type", p.ContentType(""))
	r.WriteHeader(p.Status)
	_ = json.NewEncoder(&r.body).Encode(p)
}

func (r *response) finish() {
	if r.streaming {
		return
	}
	r.WriteHeader(http.StatusOK)
	h := r.Header()
	if reads(r.request) && r.status == http.StatusOK {
		sum := sha256.Sum256(r.body.Bytes())
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("ETag", tag)
		if matchesTag(r.request.Header.Get("If-None-Match"), tag) {
			r.status = http.StatusNotModified
			h.Del("Content-Type")
			h.Del("Content-Length")
			r.body.Reset()
		}
	}
	if r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	if r.status != http.StatusNotModified && r.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(r.body.Len()))
	}
	r.input.CloseUnread(h)
	c := http.NewResponseController(r.w)
	_ = c.SetWriteDeadline(time.Now().Add(r.timeout))
	r.w.WriteHeader(r.status)
	if r.body.Len() > 0 {
		_, _ = r.w.Write(r.body.Bytes())
	}
	_ = c.Flush()
	_ = c.SetWriteDeadline(time.Time{}) // the next request on this connection may belong to another handler
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

func matchesTag(header, tag string) bool {
	for want := range strings.SplitSeq(header, ",") {
		want = strings.TrimSpace(want)
		if want == "*" || strings.TrimPrefix(want, "W/") == tag {
			return true
		}
	}
	return false
}
