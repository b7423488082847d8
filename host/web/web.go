package web

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/host/web/internal/page"
	"github.com/interlude-go/interlude/lifecycle"
)

// Options configure a Handler. The zero Options serve this machine alone, under /interlude/.
type Options struct {
	// Identify says who makes a request, from a session's cookie for instance, or a token. An error
	// refuses the request with 401; its text goes to the log, not to the caller. So does an Actor
	// without an ID: the zero Actor would be the host itself, who may do everything. Its Via is
	// "web" unless Identify says otherwise. IDs are compared byte by byte: a person must have the
	// same one in each request, or counts as several people (docs/web.md, the form of an ID).
	//
	// Nil: requests are served that come from this machine and were not forwarded by a proxy, on
	// behalf of the Actor "local". A warning in the log says so.
	Identify func(*http.Request) (lifecycle.Actor, error)
	// Prefix is the path below which the handler was registered; "/interlude" when empty, "/" for
	// none.
	Prefix string
	// Prepare is called with each specification before it is submitted, and may change it: set its
	// WorkDir or its Meta, say, which a request cannot, or its Ask. An error refuses the request
	// with 403, and its text is shown to the caller. Its result should be the same for the same
	// request: if it is not, a repeated request is another specification, and a conflict.
	Prepare func(*http.Request, *lifecycle.Spec) error
	// Origins are other sites whose pages may make requests with a person's cookies, such as
	// "https://desk.example.com". None: only pages of the same origin may.
	Origins []string
	// Timeout limits a request that is no stream, and the reading of its body; 30 s when zero.
	Timeout time.Duration
	// Heartbeat is how often a stream shows that it is alive, and asks again who its reader is
	// (Identify) and whether the reader may still have it (Authorize); 15 s when zero.
	Heartbeat time.Duration
	// WriteTimeout is how long one event, or one response, may take on its way; then the connection
	// is cut. 10 s when zero. A follower that was cut off goes on from its last event.
	WriteTimeout time.Duration
	// MaxBody is the largest body of a request, in bytes; 4 MiB when zero.
	MaxBody int64
	// MaxFollowers is how many streams there may be at once; further ones get 503. 10,000 when
	// zero.
	MaxFollowers int
	// MaxFollowersEach is how many of them one person may have open; further ones get 429. 500 when
	// zero. A program that follows many runs is one person, too: let it use a feed.
	MaxFollowersEach int
	// MaxConnections is how many connections a server of Serve or ListenAndServe accepts at once;
	// further ones wait. 12,000 when zero. The bound is never above half of the descriptors that
	// the process may open.
	MaxConnections int
	// Logger is slog.Default when nil.
	Logger *slog.Logger
}

// Limits of what comes before a body.
const (
	maxURL    = 8 << 10
	maxHeader = 32 << 10
)

// Server is an http.Handler over a client. Handler makes it.
type Server struct {
	client    *lifecycle.Client
	opts      Options
	log       *slog.Logger
	mux       *http.ServeMux
	sameSite  *http.CrossOriginProtection
	origins   map[string]bool
	followers followers
	warnOnce  sync.Once       // of a request that no Identify has refused
	life      context.Context // ends with Close
	end       context.CancelFunc
}

// Handler serves the client's runs. It panics if the Options cannot be used, as http.Handle does
// for a pattern that cannot.
func Handler(client *lifecycle.Client, opts Options) *Server {
	d := &Server{client: client, opts: opts.withDefaults(), mux: http.NewServeMux(),
		sameSite: http.NewCrossOriginProtection(), origins: make(map[string]bool),
		followers: followers{of: make(map[string]int)}}
	d.log = d.opts.Logger
	d.life, d.end = context.WithCancel(context.Background())
	if client == nil {
		panic("web: Handler needs a client")
	}
	if p := d.opts.Prefix; p != "" && (p[0] != '/' || strings.ContainsAny(p, "{}?# ")) {
		panic(fmt.Sprintf("web: Options.Prefix is %q, want a path such as /interlude", p))
	}
	for _, origin := range opts.Origins {
		if err := d.sameSite.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("web: Options.Origins has %q, want one such as https://example.com: %v", origin, err))
		}
		d.origins[origin] = true
	}
	d.routes()
	d.mux.HandleFunc("GET "+d.opts.Prefix+"/{$}", func(w http.ResponseWriter, _ *http.Request) {
		servePage(w, "index.html")
	})
	d.mux.HandleFunc("GET "+d.opts.Prefix+"/{file}", func(w http.ResponseWriter, r *http.Request) {
		servePage(w, r.PathValue("file"))
	})
	if opts.Identify == nil {
		d.log.Warn("web: no Options.Identify: only requests from this machine are served, as the actor local",
			"prefix", d.opts.Prefix+"/")
	}
	return d
}

// servePage answers with a file of the page. It is always the whole file: http.FileServer has
// answers of its own to ranges and conditions, which are no problems.
func servePage(w http.ResponseWriter, name string) {
	body, err := fs.ReadFile(page.Files, name)
	if err != nil {
		w.(*response).problem(noSuchPath()) //nolint:forcetypeassert // ServeHTTP's
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(body) //nolint:gosec // it was embedded
}

// Close ends all streams, and refuses new ones with 503; other requests are served as before. A
// server waits for its streams when it shuts down, and they may last for days, so register this
// with http.Server.RegisterOnShutdown. The readers connect again, to another node or to the next
// process, and go on from their last event.
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

// caller is who makes a request, and the client that makes its calls.
type caller struct {
	actor   lifecycle.Actor
	client  *lifecycle.Client
	request *http.Request
}

type callerKey struct{}

// callerOf returns the caller of a request, whom ServeHTTP has put into its context.
func callerOf(ctx context.Context) *caller { return ctx.Value(callerKey{}).(*caller) } //nolint:forcetypeassert // set

// ServeHTTP admits a request and passes it on to its route.
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, input := reqbody.Limit(w, r, d.opts.Timeout)
	res := &response{w: w, request: r, input: input, timeout: d.opts.WriteTimeout}
	returned := false // not so after a panic, or a call of the host's that ended the goroutine
	defer func() {
		if p := recover(); !returned {
			if res.streaming || p == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				if p == nil {
					return
				}
				panic(p)
			}
			d.log.Error("web: a request panicked, or ended its goroutine", "method", r.Method, "path", r.URL.Path,
				"panic", p, "stack", string(debug.Stack()))
			res.problem(internalProblem())
		}
		res.finish()
	}()
	d.serve(res, r)
	returned = true
}

// serve writes the response to a request.
func (d *Server) serve(res *response, r *http.Request) {
	setSafeHeaders(res.Header())
	if fault := d.admit(res, r); fault != nil {
		res.problem(fault)
		return
	}
	if r.Method == http.MethodOptions { // admit has set the headers of CORS
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
	c := &caller{actor: actor, client: d.client.As(actor)}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
	c.request = r
	d.mux.ServeHTTP(res, r)
}

// noRoute answers a request that no route takes with a problem: 405 with the methods that the path
// takes, as the mux would say it, or else 404.
func (d *Server) noRoute(res *response, r *http.Request, route http.Handler) {
	mux := &response{w: &headerOnly{make(http.Header)}, request: r}
	route.ServeHTTP(mux, r)
	if allow := mux.Header().Get("Allow"); allow != "" {
		res.Header().Set("Allow", allow)
		res.problem(newProblem(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This path takes "+allow+"."))
		return
	}
	res.problem(noSuchPath())
}

func noSuchPath() *Problem {
	return newProblem(http.StatusNotFound, "NO_SUCH_PATH", "There is nothing at this path.")
}

// headerOnly keeps the headers of a response that nobody gets.
type headerOnly struct{ header http.Header }

func (h *headerOnly) Header() http.Header         { return h.header }
func (h *headerOnly) Write(b []byte) (int, error) { return len(b), nil }
func (h *headerOnly) WriteHeader(int)             {}

// runURL is the path of a run.
func (d *Server) runURL(id string) string { return d.opts.Prefix + "/api/runs/" + url.PathEscape(id) }
