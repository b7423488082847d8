package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config configures the model. The zero value answers by the steps in the user's text.
type Config struct {
	// Answer returns the model's answer; ByScript if nil. It is called concurrently, and again for
	// repeated requests, so it should depend only on the conversation. It is not called for side
	// calls.
	Answer func(Conversation) Answer
	// Log is a file to which the log is appended: a JSON line per request, and another at its end
	// (see ReadLog). No file if empty.
	Log string
	// Pause is the time between the pieces of a slow text; 200 ms if zero.
	Pause time.Duration
	// Model is the name in the list of models; "modeltest" if empty. Requests for any model are
	// answered.
	Model string
}

const maxBody = 64 << 20

// Server is the model. It is safe for concurrent use.
type Server struct {
	// URL is the listening address, as "http://127.0.0.1:1234", without a trailing slash; empty
	// before Listen.
	URL string

	cfg     Config
	log     log
	ctx     context.Context // ends with Close
	end     context.CancelCauseFunc
	web     *http.Server
	serving sync.WaitGroup // the listening goroutine

	mu     sync.Mutex
	closed bool           // guarded by mu; no new answer starts
	active sync.WaitGroup // answers under way; added to only under mu
}

var errClosed = errors.New("modeltest: the server is closed")

// New makes a server that is an http.Handler. Listen gives it a listener.
func New(cfg Config) *Server {
	if cfg.Pause == 0 {
		cfg.Pause = 200 * time.Millisecond
	}
	if cfg.Answer == nil {
		cfg.Answer = func(c Conversation) Answer { return ByScript(c, cfg.Pause) }
	}
	if cfg.Model == "" {
		cfg.Model = "modeltest"
	}
	s := &Server{cfg: cfg, log: log{file: cfg.Log}}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// Start makes a server that listens on a free port of 127.0.0.1.
func Start(cfg Config) (*Server, error) {
	s := New(cfg)
	return s, s.Listen("127.0.0.1:0")
}

// Listen listens on the address until Close. It may be called once. The address must be a loopback
// address, since the server serves every client.
func (s *Server) Listen(addr string) error {
	if s.web != nil {
		return errors.New("modeltest: the server listens already")
	}
	l, err := new(net.ListenConfig).Listen(s.ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("modeltest: %w", err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("modeltest: %s is not of loopback: use 127.0.0.1", addr), l.Close())
	}
	s.URL = "http://" + l.Addr().String()
	s.web = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.serving.Go(func() { _ = s.web.Serve(l) }) // until Close
	return nil
}

// Close ends all answers and, if the server listens, its connections. It returns when no request is
// being served.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(errClosed)
	var err error
	if s.web != nil {
		err = s.web.Close()
		s.serving.Wait()
	}
	s.active.Wait()
	return err
}

// startAnswer counts an answer under way. It returns false if the server is closed.
func (s *Server) startAnswer() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.active.Add(1)
	}
	return !s.closed
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.startAnswer() {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	defer s.active.Done()
	req := Request{N: s.log.nextNumber(), Method: r.Method, Path: r.URL.Path, UserAgent: r.UserAgent()}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		s.refuse(w, req, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	req.Bytes = len(body)
	d := protocolOf(r)
	if d == nil {
		s.answerOther(w, req)
		return
	}
	v, ok := decode(body)
	if !ok {
		s.refuse(w, req, http.StatusBadRequest, "the request is not JSON")
		return
	}
	c := d.read(v, r.URL.Path)
	c.Asked = s.log.countAsked(c)
	req.API, req.Model, req.Side = c.API, c.Model, c.Side()
	req.Users, req.LastUser, req.Results = c.Users(), c.Last(), c.Results()
	for _, t := range c.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	answer := c.sideAnswer
	if !req.Side {
		answer = func() Answer { return s.cfg.Answer(c) }
	}
	s.answer(w, r, req, d, c, answer())
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, req Request, d protocol, c Conversation, a Answer) {
	req.Plan = a.plan()
	if err := s.log.record(req); err != nil {
		reply(w, http.StatusInternalServerError, d.failed(Failure{http.StatusInternalServerError, err.Error()}))
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	err := deliver(ctx, w, d, c, strconv.Itoa(req.N), a)
	req.Left = r.Context().Err() != nil
	req.Ended = err == nil
	if err != nil && !req.Left {
		req.Error = err.Error()
	}
	if recorded := s.log.record(req); recorded != nil || err != nil {
		panic(http.ErrAbortHandler) // cuts the connection
	}
}

func (s *Server) refuse(w http.ResponseWriter, req Request, status int, why string) {
	req.Error, req.Ended = why, true
	_ = s.log.record(req) // the request is refused, recorded or not
	reply(w, status, object{"error": object{"message": "modeltest: " + why}})
}

// answerOther answers a request for the list of models or a count of tokens.
func (s *Server) answerOther(w http.ResponseWriter, req Request) {
	req.Ended = true
	if err := s.log.record(req); err != nil {
		s.refuse(w, req, http.StatusInternalServerError, err.Error())
		return
	}
	switch {
	case strings.HasSuffix(req.Path, "/count_tokens"):
		reply(w, http.StatusOK, object{"input_tokens": inputTokens})
	case strings.HasSuffix(req.Path, ":countTokens"):
		reply(w, http.StatusOK, object{"totalTokens": inputTokens})
	case strings.HasSuffix(req.Path, "/models"):
		model := object{"id": s.cfg.Model, "object": "model", "type": "model", "display_name": s.cfg.Model,
			"created": 1, "owned_by": "modeltest"}
		named := object{"name": "models/" + s.cfg.Model, "supportedGenerationMethods": []string{"generateContent",
			"countTokens"}}
		reply(w, http.StatusOK, object{"object": "list", "data": []any{model}, "models": []any{named},
			"has_more": false})
	case req.Path == "/":
		reply(w, http.StatusOK, object{"name": "modeltest"})
	default:
		reply(w, http.StatusNotFound, object{"error": object{"message": "modeltest: there is no " + req.Method + " " +
			req.Path}})
	}
}

// protocolOf returns the request's protocol, nil if it does not ask the model.
func protocolOf(r *http.Request) protocol {
	if r.Method != http.MethodPost {
		return nil
	}
	for end, d := range map[string]protocol{
		"/responses": responses{}, "/chat/completions": chat{}, "/messages": messages{}, ":generateContent": gemini{},
		":streamGenerateContent": gemini{},
	} {
		if strings.HasSuffix(r.URL.Path, end) {
			return d
		}
	}
	return nil
}
