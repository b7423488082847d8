package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// Options configure a Handler. The zero Options serve only this machine, under /interlude/.
type Options struct {
	// Identify returns the caller of a request, for example from a session cookie or a token. An
	// error, or an Actor without an ID (the zero Actor is the host itself, which may do
	// everything), refuses the request with 401; the error's text is logged, not shown. An empty
	// Via becomes "web". IDs are compared byte by byte: a person whose ID varies between requests
	// counts as several people (docs/web.md, the form of an ID).
	//
	// Nil: requests from this machine that no proxy has forwarded are served as the Actor "local",
	// and a warning is logged.
	Identify func(*http.Request) (lifecycle.Actor, error)
	// Prefix is the path under which the handler is registered: empty means "/interlude", "/" means
	// no prefix.
	Prefix string
	// SignOut is the address at which a person signs out, to which the page links; empty: no link.
	SignOut string
	// Brand has the host's name, logo and colors for the page.
	Brand Brand
	// Prepare is called with each specification before it is submitted, and may change it, for
	// example to set WorkDir, Meta or Ask. An error refuses the request with 403 and is shown to
	// the caller. Prepare should be deterministic: otherwise a repeated request conflicts with the
	// first.
	Prepare func(*http.Request, *lifecycle.Spec) error
	// Directory suggests people and groups to people who are asked a question, for reassigning it and
	// for notes (see people.Grouped), and names the people in responses. Nil: people are typed and
	// shown by ID.
	// Package host/all sets it if lifecycle.Config.Directory is one.
	Directory people.Directory
	// Notices lets operators see notices that were not accepted, and send them again. Nil: there are
	// none.
	Notices Notices
	// Origins are other sites whose pages may make requests with a person's cookies, for example
	// "https://desk.example.com". Empty: only pages of the same origin.
	Origins []string
	// Timeout limits each request except streams, and the reading of its body. Zero: 30 s.
	Timeout time.Duration
	// Heartbeat is the interval at which a stream sends a sign of life and calls Identify and
	// Authorize again for its reader. Zero: 15 s.
	Heartbeat time.Duration
	// WriteTimeout limits the sending of one event or one response; a slower reader is
	// disconnected. A follower then continues from its last event. Zero: 10 s.
	WriteTimeout time.Duration
	// MaxBody limits the body of a request, in bytes. Zero: 4 MiB.
	MaxBody int64
	// MaxFollowers limits the open streams; more are refused with 503. Zero: 10,000.
	MaxFollowers int
	// MaxFollowersEach limits the open streams of one person; more are refused with 429. A program
	// that follows many runs is also one person: let it use a feed. Zero: 500.
	MaxFollowersEach int
	// MaxRequestsEach limits the requests of one person at once, besides streams; more are refused
	// with 429. Zero: 200.
	MaxRequestsEach int
	// MaxChangesEach limits the changes by one person in a minute (the POST requests, except those
	// for a feed); more are refused with 429. Zero: 1,000.
	MaxChangesEach int
	// MaxConnections limits the connections that Serve and ListenAndServe accept at once; more
	// wait. It is capped at half of the process's limit of open files. Zero: 12,000.
	MaxConnections int
	// Logger. Nil: slog.Default.
	Logger *slog.Logger
}

// Limits of a request before its body, in bytes.
const (
	maxURL    = 8 << 10
	maxHeader = 32 << 10
)

// Server is an http.Handler over a client. Handler makes it.
type Server struct {
	client   *lifecycle.Client
	opts     Options
	log      *slog.Logger
	mux      *http.ServeMux
	sameSite *http.CrossOriginProtection
	origins  map[string]bool
	files    map[string]file // of the page, by name
	people   callers
	reading  chan struct{}   // holds maxFilesRead
	logsRead chan struct{}   // holds maxLogsRead
	warnOnce sync.Once       // for the warning about a missing Identify
	life     context.Context // ends with Close
	end      context.CancelFunc
}

// Handler serves the client's runs. It panics on invalid Options, as http.Handle does for an
// invalid pattern.
func Handler(client *lifecycle.Client, opts Options) *Server {
	d := &Server{client: client, opts: opts.withDefaults(), mux: http.NewServeMux(),
		sameSite: http.NewCrossOriginProtection(), origins: make(map[string]bool),
		people: callers{of: make(map[string]*person)}, reading: make(chan struct{}, maxFilesRead),
		logsRead: make(chan struct{}, maxLogsRead)}
	d.log = d.opts.Logger
	d.life, d.end = context.WithCancel(context.Background())
	if client == nil {
		panic("web: Handler needs a client, got nil")
	}
	if p := d.opts.Prefix; p != "" && (p[0] != '/' || strings.ContainsAny(p, "{}?# ")) {
		panic(fmt.Sprintf("web: Options.Prefix is %q, want a path like /interlude", p))
	}
	for _, origin := range opts.Origins {
		if err := d.sameSite.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("web: Options.Origins has %q, want an origin like https://example.com: %v", origin, err))
		}
		d.origins[origin] = true
	}
	if err := d.opts.Brand.Validate(); err != nil {
		panic(err.Error())
	}
	d.files = pageFiles(&d.opts.Brand)
	d.routes()
	d.mux.HandleFunc("GET "+d.opts.Prefix+"/{$}", func(w http.ResponseWriter, _ *http.Request) {
		d.servePage(w, "index.html")
	})
	d.mux.HandleFunc("GET "+d.opts.Prefix+"/{file}", func(w http.ResponseWriter, r *http.Request) {
		d.servePage(w, r.PathValue("file"))
	})
	if opts.Identify == nil {
		d.log.Warn("web: no Options.Identify: only requests from this machine are served, as the actor local",
			"prefix", d.opts.Prefix+"/")
	}
	return d
}

// servePage serves one whole file of the page. http.FileServer would answer ranges and conditions
// with bodies that are not problems.
func (d *Server) servePage(w http.ResponseWriter, name string) {
	f, ok := d.files[name]
	if !ok {
		w.(*response).problem(noSuchPath()) //nolint:forcetypeassert // set by ServeHTTP
		return
	}
	w.Header().Set("Content-Type", f.kind)
	_, _ = w.Write(f.body)
}

// Close ends all streams and refuses new streams with 503; other requests are served as before.
// Register it with http.Server.RegisterOnShutdown: a server waits for its streams when it shuts
// down, and they may last for days. The readers reconnect, to another node or to the next process,
// and continue from their last event.
func (d *Server) Close() { d.end() }

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = "/interlude"
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	orElse(&o.Timeout, 30*time.Second)
	orElse(&o.Heartbeat, 15*time.Second)
	orElse(&o.WriteTimeout, 10*time.Second)
	orElse(&o.MaxBody, 4<<20)
	orElse(&o.MaxFollowers, 10_000)
	orElse(&o.MaxFollowersEach, 500)
	orElse(&o.MaxRequestsEach, 200)
	orElse(&o.MaxChangesEach, 1000)
	orElse(&o.MaxConnections, 12_000)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func orElse[T time.Duration | int64 | int](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

type caller struct {
	actor   lifecycle.Actor
	client  *lifecycle.Client
	request *http.Request

	response *response
}

type callerKey struct{}

// callerOf returns the caller that ServeHTTP has put into the context.
func callerOf(ctx context.Context) *caller { return ctx.Value(callerKey{}).(*caller) } //nolint:forcetypeassert // set

// ServeHTTP admits a request and routes it.
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, input := reqbody.Limit(w, r, d.opts.Timeout)
	res := &response{w: w, request: r, input: input, timeout: d.opts.WriteTimeout, left: func() {}}
	defer func() { res.left() }()
	returned := false // false after a panic, or after a host function called runtime.Goexit
	defer func() {
		if p := recover(); !returned {
			if res.streaming || p == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				if p == nil {
					return
				}
				panic(p)
			}
			d.log.Error("web: a request panicked or exited its goroutine", "method", r.Method, "path", r.URL.Path,
				"panic", p, "stack", string(debug.Stack()))
			res.problem(internalProblem())
		}
		res.finish()
	}()
	d.serve(res, r)
	returned = true
}

func (d *Server) serve(res *response, r *http.Request) {
	setSafeHeaders(res.Header())
	if fault := d.admit(res, r); fault != nil {
		res.problem(fault)
		return
	}
	if r.Method == http.MethodOptions { // admit has set the CORS headers
		res.WriteHeader(http.StatusNoContent)
		return
	}
	actor, fault := d.identify(r)
	if fault != nil {
		res.problem(fault)
		return
	}
	route, pattern := d.mux.Handler(r)
	if pattern == "" {
		d.noRoute(res, r, route)
		return
	}
	c := &caller{actor: actor, client: d.client.As(actor), response: res}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
	c.request = r
	if fault := d.countRequest(c); fault != nil {
		res.problem(fault)
		return
	}
	d.mux.ServeHTTP(res, r)
}

// noRoute answers a request without a route with a problem: 405 and the methods of the path as the
// mux reports them, or else 404.
func (d *Server) noRoute(res *response, r *http.Request, route http.Handler) {
	mux := &response{w: &headerOnly{make(http.Header)}, request: r}
	route.ServeHTTP(mux, r)
	if allow := mux.Header().Get("Allow"); allow != "" {
		res.Header().Set("Allow", allow)
		res.problem(newProblem(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path accepts only "+
			""+allow+"."+allow+"."))
		return
	}
	res.problem(noSuchPath())
}

func noSuchPath() *Problem {
	return newProblem(http.StatusNotFound, "NO_SUCH_PATH", "There is no page and no API route at this path.")
}

// headerOnly discards a response except its headers.
type headerOnly struct{ header http.Header }

func (h *headerOnly) Header() http.Header         { return h.header }
func (h *headerOnly) Write(b []byte) (int, error) { return len(b), nil }
func (h *headerOnly) WriteHeader(int)             {}

func (d *Server) runURL(id string) string { return d.opts.Prefix + "/api/runs/" + url.PathEscape(id) }
