package ui

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/lifecycle"
)

// bodyTime limits the arrival of a request's body, and sendTime the client's reading of one write.
const (
	bodyTime = time.Minute
	sendTime = 10 * time.Second
)

// beat is the interval of comments in a silent stream, which keep proxies from closing it.
const beat = 15 * time.Second

const maxStreams = 1000

// Server streams runs to chat pages. It is safe for concurrent use.
type Server struct {
	config   Config
	sameSite *http.CrossOriginProtection

	closed context.Context //nolint:containedctx // ends all streams
	close  context.CancelFunc

	mu      sync.Mutex     // guards the fields below
	streams map[string]int // by principal
	total   int
}

// New returns a server. It starts nothing.
func New(cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Server{config: cfg, sameSite: http.NewCrossOriginProtection(), streams: make(map[string]int)}
	for _, origin := range cfg.Origins {
		if err := s.sameSite.AddTrustedOrigin(origin); err != nil {
			return nil, errConfig("Origins", "origins like https://example.com")
		}
	}
	s.closed, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all streams, so that an http.Server can shut down without waiting for them. Their runs
// continue. Later requests end at once.
func (s *Server) Close() { s.close() }

type request struct {
	*front.Caller

	server *Server
	via    string // the encoding: Actor.Via
	w      http.ResponseWriter
	http   *http.Request
	input  *reqbody.Body
}

// The encodings, as Actor.Via.
const (
	viaAISDK = "aisdk"
	viaAGUI  = "agui"
)

// handler identifies and counts the callers. Requests from pages of other sites are refused.
func (s *Server) handler(via string, serve func(context.Context, *request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, body := reqbody.Limit(w, r, bodyTime) // first: a refused body must not hold its connection
		q := &request{server: s, via: via, w: w, http: r, input: body}
		if err := s.sameSite.Check(r); err != nil {
			q.refuse(http.StatusForbidden, "a page of another site may not make this request")
			return
		}
		var actor lifecycle.Actor
		err := front.Guard(func() (err error) {
			actor, err = s.config.Identify(r)
			return err
		})
		if errors.Is(err, front.ErrHost) {
			s.config.Logger.Error("ui: a caller cannot be identified", "err", err)
			q.refuse(http.StatusInternalServerError, "the request failed")
			return
		}
		if err != nil || actor.ID == "" {
			s.config.Logger.Info("ui: refused a request without a known caller", "peer", r.RemoteAddr, "err", err)
			q.refuse(http.StatusUnauthorized, "sign in first")
			return
		}
		if actor.Via == "" {
			actor.Via = via
		}
		if status, text := s.enter(actor.ID); status != 0 {
			q.refuse(status, text)
			return
		}
		defer s.leave(actor.ID)
		q.Caller = front.For(s.config.Client, actor)
		ctx, end := context.WithCancel(r.Context())
		defer end()
		defer context.AfterFunc(s.closed, end)()
		serve(ctx, q)
	})
}

// enter counts a request of the principal, or returns why it is refused.
func (s *Server) enter(principal string) (status int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.streams[principal] >= s.config.Streams:
		return http.StatusTooManyRequests, "you have too many streams open: close one"
	case s.total >= maxStreams:
		return http.StatusServiceUnavailable, "too many streams are open: try again later"
	}
	s.streams[principal]++
	s.total++
	return 0, ""
}

func (s *Server) leave(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.streams[principal]--; s.streams[principal] == 0 {
		delete(s.streams, principal)
	}
}

// refuse answers without a stream.
func (q *request) refuse(status int, text string) {
	q.input.CloseUnread(q.w.Header())
	http.Error(q.w, text, status)
}

// body reads the body. It reports false if it has refused the request.
func (q *request) body() ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(q.w, q.http.Body, MaxBody))
	switch {
	case err == nil:
		return body, true
	case errors.As(err, new(*http.MaxBytesError)):
		q.refuse(http.StatusRequestEntityTooLarge, "the conversation is too large")
	default:
		q.refuse(http.StatusBadRequest, "the body cannot be read")
	}
	return nil, false
}

func validID(id string) bool { return id != "" && len(id) <= MaxID }

// fault describes an error for the client, and logs the server's own errors.
func (q *request) fault(ctx context.Context, err error) front.Fault {
	f := front.FaultOf(err)
	var refused *lifecycle.NotAllowedError
	if f.Code == "NOT_ALLOWED" && errors.As(err, &refused) && refused.Action == lifecycle.ActionView {
		f = front.FaultOf(lifecycle.ErrNotFound) // which does not reveal whether the run exists
	}
	if f.Unknown && ctx.Err() == nil {
		q.server.config.Logger.Error("ui: a request failed", "via", q.via, "err", err)
	}
	return f
}

// start calls the host's Start.
func (q *request) start(ctx context.Context, m Message) (spec lifecycle.Spec, err error) {
	err = front.Guard(func() (err error) {
		spec, err = q.server.config.Start(ctx, q.Actor(), m)
		return err
	})
	return spec, err
}

// sse writes server-sent events, with comments while there are none. A client that does not read
// is disconnected.
type sse struct {
	ctx  context.Context //nolint:containedctx // of the stream
	end  context.CancelFunc
	conn *http.ResponseController

	mu    sync.Mutex
	w     io.Writer // guarded by mu
	quiet time.Time // guarded by mu; since then nothing was written
	done  chan struct{}
}

// stream begins the response. The caller calls close.
func (q *request) stream(ctx context.Context, header http.Header) *sse {
	h := q.w.Header()
	for name, values := range header {
		h[name] = values
	}
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // stops nginx from buffering events
	q.input.CloseUnread(h)
	q.w.WriteHeader(http.StatusOK)
	s := &sse{conn: http.NewResponseController(q.w), w: q.w, done: make(chan struct{}), quiet: time.Now()}
	s.ctx, s.end = context.WithCancel(ctx)
	go s.beats()
	return s
}

// beats writes comments until the stream ends.
func (s *sse) beats() {
	defer close(s.done)
	tick := time.NewTicker(beat / 3)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			s.mu.Lock()
			if time.Since(s.quiet) >= beat {
				s.write(": still here\n\n")
			}
			s.mu.Unlock()
		}
	}
}

// write writes a text. The caller holds s.mu.
func (s *sse) write(text string) {
	if s.ctx.Err() != nil {
		return
	}
	err := s.conn.SetWriteDeadline(time.Now().Add(sendTime))
	if errors.Is(err, http.ErrNotSupported) { // a recorder in a test
		err = nil
	}
	if err == nil {
		_, err = io.WriteString(s.w, text)
	}
	if err == nil {
		err = s.conn.Flush()
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.end()
	}
	s.quiet = time.Now()
}

// send writes one event.
func (s *sse) send(data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write("data: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
}

// close ends the stream. The next request on the connection may belong to another handler.
func (s *sse) close() {
	s.end()
	<-s.done
	_ = s.conn.SetWriteDeadline(time.Time{}) // fails in tests with a recorder
}
