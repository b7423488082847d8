package web_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// pipes is a listener whose connections are net.Pipe, so that deadlines pass in a synctest bubble.
// It counts the connections that the server has not closed.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
	held   atomic.Int64
}

func newPipes() *pipes { return &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		p.held.Add(1)
		return &pipe{Conn: c, of: p}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dial connects in the background, because a server at its limit accepts later.
func (p *pipes) dial(request string) net.Conn {
	client, server := net.Pipe()
	go func() {
		p.dialed <- server
		_, _ = io.WriteString(client, request)
	}()
	return client
}

type pipe struct {
	net.Conn
	of   *pipes
	once sync.Once
}

func (p *pipe) RemoteAddr() net.Addr { return p.of.Addr() }

func (p *pipe) Close() error {
	p.once.Do(func() { p.of.held.Add(-1) })
	return p.Conn.Close()
}

// serving serves a Server's handler on pipes, through the host function that server returns for it.
func serving(t *testing.T, server func(*web.Server) func(context.Context, net.Listener) error, opts web.Options,
) *pipes {
	t.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	listener := newPipes()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	serve := server(web.Handler(clientOf(t), opts))
	go func() { ended <- serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return listener
}

// L1: a client that announces a body and never sends it holds no connection, on any route, as any
// caller, on our server or on a host's server without time limits.
func TestL1ABodyThatNeverArrivesHoldsNoConnection(t *testing.T) {
	var requests []string
	add := func(method, path, user string) {
		for _, length := range []string{"Content-Length: 9", "Content-Length: 1000000", "Transfer-Encoding: chunked"} {
			requests = append(requests, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: "+
				"application/json\r\n%s\r\n\r\n", method, path, user, length))
		}
	}
	for _, user := range []string{"", "X-User: ada\r\n"} {
		for _, r := range routes {
			if user == "" || r.path != "/inbox/events" { // that stream lasts
				add(r.method, "/interlude/api"+r.path, user)
			}
		}
		add("GET", "/interlude/", user)
		add("OPTIONS", "/interlude/api/me", user)
		add("DELETE", "/interlude/api/me", user)
		add("POST", "/interlude/api/nowhere", user)
		add("POST", "/elsewhere", user)
		add("POST", "/interlude/api/runs", user+"Sec-Fetch-Site: cross-site\r\n")
	}
	ours := func(d *web.Server) func(context.Context, net.Listener) error {
		return func(ctx context.Context, l net.Listener) error { return d.Serve(ctx, l, nil) }
	}
	hosts := func(d *web.Server) func(context.Context, net.Listener) error {
		return func(ctx context.Context, l net.Listener) error { return serveBare(ctx, l, d) }
	}
	for name, server := range map[string]func(*web.Server) func(context.Context, net.Listener) error{
		"Server.Serve": ours, "a server of the host's": hosts,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := serving(t, server, web.Options{Identify: identify})
				for _, request := range requests {
					go func() { _, _ = io.Copy(io.Discard, listener.dial(request)) }()
				}
				synctest.Wait()
				require.EqualValues(t, len(requests), listener.held.Load())
				time.Sleep(40 * time.Second) // in the bubble: Options.Timeout, then the rest of the body
				synctest.Wait()
				require.Zero(t, listener.held.Load())
			})
		})
	}
}

// serveBare is a host's server without time limits.
func serveBare(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	return server.Serve(l)
}

// linksOf returns the links of a host.
func linksOf(t *testing.T, client *lifecycle.Client) *link.Links {
	t.Helper()
	links, err := link.New(link.Config{Client: client, URL: "https://example.com/answer/",
		Keys:   []link.Key{{ID: "a", Secret: []byte(strings.Repeat("a", link.MinSecret))}},
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return links
}

// L2: the same for a link's form, for requests refused before the form is read, for probes, and for
// other handlers of our server.
func TestL2AFormThatNeverArrivesHoldsNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Logger: slog.New(slog.DiscardHandler),
			Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
				return engine.Ask(engine.Question{Prompt: "Ship it?"}), nil
			})})
		require.NoError(t, err)
		go func() { _ = lc.Serve(t.Context()) }()
		_, err = lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		synctest.Wait()
		run, err := lc.Get(t.Context(), "r")
		require.NoError(t, err)
		links := linksOf(t, lc.Client)
		address, err := links.For("r", run.Open[0], link.To("ada"))
		require.NoError(t, err)
		valid := strings.TrimPrefix(address, "https://example.com")
		listener := serving(t, func(*web.Server) func(context.Context, net.Listener) error {
			return func(ctx context.Context, l net.Listener) error { return serveBare(ctx, l, links) }
		}, web.Options{})
		ours := serving(t, func(d *web.Server) func(context.Context, net.Listener) error {
			return func(ctx context.Context, l net.Listener) error { return d.Serve(ctx, l, http.NotFoundHandler()) }
		}, web.Options{})
		probes := serving(t, func(*web.Server) func(context.Context, net.Listener) error {
			return func(ctx context.Context, l net.Listener) error {
				return serveBare(ctx, l, web.Probes(web.ProbeOptions{}))
			}
		}, web.Options{})
		for _, method := range []string{"GET", "POST", "DELETE"} {
			for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
				for _, path := range []string{"/answer/x", valid} {
					request := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
						"application/x-www-form-urlencoded\r\n" + length + "\r\n\r\n"
					go func() { _, _ = io.Copy(io.Discard, listener.dial(request)) }()
					go func() { _, _ = io.Copy(io.Discard, ours.dial(request)) }()
					probe := strings.Replace(request, valid, "/readyz", 1)
					go func() { _, _ = io.Copy(io.Discard, probes.dial(probe)) }()
				}
			}
		}
		synctest.Wait()
		require.EqualValues(t, 12, listener.held.Load())
		require.EqualValues(t, 12, ours.held.Load())
		require.EqualValues(t, 12, probes.held.Load())
		time.Sleep(40 * time.Second)
		synctest.Wait()
		require.Zero(t, listener.held.Load())
		require.Zero(t, ours.held.Load())
		require.Zero(t, probes.held.Load())
	})
}

// L1, L2: a client that reads no response holds no connection: on our server for every handler, on
// a host's server for the page and the links. A slow reader of a large response gets it.
func TestL1AClientThatDoesNotReadHoldsNoConnection(t *testing.T) {
	large := make([]byte, 1<<20)
	pages := func(d *web.Server) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/interlude/", d)
		mux.Handle("/answer/", linksOf(t, clientOf(t)))
		mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })
		return mux
	}
	for name, test := range map[string]struct {
		server func(*web.Server) func(context.Context, net.Listener) error
		paths  []string
	}{
		"Server.Serve": {func(d *web.Server) func(context.Context, net.Listener) error {
			return func(ctx context.Context, l net.Listener) error { return d.Serve(ctx, l, pages(d)) }
		}, []string{"/interlude/", "/interlude/api/me", "/answer/x", "/nowhere", "/large"}},
		"a server of the host's": {func(d *web.Server) func(context.Context, net.Listener) error {
			return func(ctx context.Context, l net.Listener) error { return serveBare(ctx, l, pages(d)) }
		}, []string{"/interlude/", "/interlude/api/me", "/answer/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := serving(t, test.server, web.Options{Identify: identify})
				for _, path := range test.paths {
					for _, method := range []string{"GET", "POST"} {
						listener.dial(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
					}
				}
				synctest.Wait()
				require.EqualValues(t, 2*len(test.paths), listener.held.Load())
				time.Sleep(40 * time.Second)
				synctest.Wait()
				require.Zero(t, listener.held.Load())
				if name == "Server.Serve" {
					slow := listener.dial("GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
					read, piece := 0, make([]byte, 8<<10)
					for began := time.Now(); ; time.Sleep(time.Second) {
						n, err := slow.Read(piece)
						if read += n; err != nil {
							require.ErrorIs(t, err, io.EOF)
							require.Greater(t, time.Since(began), time.Minute)
							break
						}
					}
					require.Greater(t, read, len(large))
				}
			})
		})
	}
}

// L1: connections are limited; a waiting one is served when another ends.
func TestL1TheServersConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := serving(t, func(d *web.Server) func(context.Context, net.Listener) error {
			return func(ctx context.Context, l net.Listener) error { return d.Serve(ctx, l, nil) }
		}, web.Options{MaxConnections: 3})
		var answered atomic.Int64
		for range 10 {
			go func() {
				body, _ := io.ReadAll(listener.dial("GET /interlude/api/me HTTP/1.1\r\nHost: localhost\r\n\r\n"))
				if strings.Contains(string(body), `"id":"local"`) {
					answered.Add(1)
				}
			}()
		}
		synctest.Wait()
		require.EqualValues(t, 3, listener.held.Load())
		time.Sleep(time.Hour) // idle connections end
		synctest.Wait()
		require.EqualValues(t, 10, answered.Load())
	})
}

// F9: the deadline for bodies ends neither a stream nor a longer wait for a feed, also if the
// host's server has a deadline.
func TestF9AReadDeadlineEndsNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := serving(t, func(d *web.Server) func(context.Context, net.Listener) error {
			return func(ctx context.Context, l net.Listener) error {
				server := &http.Server{Handler: d, ReadTimeout: 10 * time.Second}
				defer context.AfterFunc(ctx, func() { server.Close() })()
				return server.Serve(l)
			}
		}, web.Options{})
		stream := listener.dial("GET /interlude/api/inbox/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		go func() { _, _ = io.Copy(io.Discard, stream) }()
		body := `{"wait_sec":60}`
		began, waited := time.Now(), make(chan time.Duration, 1)
		feed := listener.dial(fmt.Sprintf("POST /interlude/api/feeds/f/next HTTP/1.1\r\nHost: localhost\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		go func() {
			_, _ = feed.Read(make([]byte, 1))
			waited <- time.Since(began)
			_, _ = io.Copy(io.Discard, feed)
		}()
		require.Equal(t, time.Minute, <-waited)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.EqualValues(t, 1, listener.held.Load(), "the stream is open")
	})
}
