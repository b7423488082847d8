package frontends_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	cast.ServeHost(func(ctx context.Context, n node) error { return n.serve(ctx) })
	pgtest.Main(m)
}

// node is a process that executes runs and serves all front ends.
type node struct {
	Store string // a SQLite file, or the connection string of a PostgreSQL
	Cut   int    // one response in so many is lost on its way, and one request; 0: none
	Hooks string // where webhooks go, of a host on PostgreSQL; empty: nowhere
	Rule  string // the version of its rule, if it serves approvals under a policy; see serveRules
	// Remember: each run asks twice; the rule does not decide the second call, so memory can.
	Remember bool
}

// serve is the main function of a node's process. It writes its address to its standard output.
func (n *node) serve(ctx context.Context) error {
	s, err := cast.OpenStore(ctx, n.Store)
	if err != nil {
		return err
	}
	if n.Rule != "" {
		return n.serveRules(ctx, s)
	}
	lc, err := newLifecycle(s)
	if err != nil {
		return err
	}
	handler, err := newHandler(lc.Client)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: cutLines(handler, n.Cut), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // the test has ended
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Println("http://" + listener.Addr().String())
	if n.Hooks != "" {
		notifier, err := n.newNotifier(ctx, lc.Client)
		if err != nil {
			return err
		}
		go notifier.Serve(ctx)
	}
	return errors.Join(lc.Serve(ctx), <-failed, errors.New("it was not killed"))
}

// newNotifier sends a webhook for each event.
func (n *node) newNotifier(ctx context.Context, c *lifecycle.Client) (*notify.Notifier, error) {
	cfg, err := pgx.ParseConfig(n.Store)
	if err != nil {
		return nil, err
	}
	queue, err := notify.OpenPostgreSQL(ctx, stdlib.OpenDB(*cfg))
	if err != nil {
		return nil, err
	}
	hook, err := notify.NewWebhook(notify.WebhookConfig{URL: n.Hooks, Secrets: []string{hookSecret},
		Network: netguard.Network{PlainHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}})
	if err != nil {
		return nil, err
	}
	return notify.New(notify.Config{Client: c, Queue: queue, Poll: 100 * time.Millisecond,
		Endpoints: []notify.Endpoint{{Name: hookName, Sender: hook, Timeout: time.Second,
			Retry: notify.Retry{Attempts: 1000, First: 20 * time.Millisecond, Max: 100 * time.Millisecond}}},
		Logger: slog.New(slog.DiscardHandler)})
}

// asks is an agent that asks once, and ends with the answer.
var asks = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Who is first?"}), nil
	}
	return engine.Done(t.Answers[0].Text), nil
})

func newLifecycle(s store.Store) (*lifecycle.Lifecycle, error) {
	return lifecycle.New(lifecycle.Config{Store: s, Engine: asks, Forgiving: true, OnInterrupt: lifecycle.Repeat,
		Poll: 50 * time.Millisecond, Lease: time.Minute, Authorize: authorize, Directory: deputies{},
		Pools:  []lifecycle.Pool{{Name: lifecycle.DefaultPool, Capacity: 64}},
		Logger: slog.New(slog.DiscardHandler)})
}

// deputies makes bob and carl the deputies of ann, who is away.
type deputies struct{}

func (deputies) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if id != "bob" && id != "carl" {
		return nil, nil
	}
	return []lifecycle.Principal{{ID: "ann"}}, nil
}

// authorize lets only erin cancel, and nothing else.
func authorize(_ context.Context, a lifecycle.Access) error {
	if !a.Actor.IsZero() && (a.Actor.ID == "erin") != (a.Action == lifecycle.ActionCancel) {
		return fmt.Errorf("%s may not %s", a.Actor.ID, a.Action)
	}
	return nil
}

// newHandler has the front ends: the API and the page below /interlude/, the pages of links below
// /answer/, MCP at /mcp, chat pages at /chat/ and /agui, and Slack's interactions at /slack.
func newHandler(c *lifecycle.Client) (http.Handler, error) {
	links, err := newLinks(c)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/interlude/", web.Handler(c, web.Options{Identify: identify, Logger: slog.New(slog.DiscardHandler)}))
	mux.Handle("/answer/", links)
	tools, err := mcp.New(mcp.Config{Client: c, Identify: identify, Hold: 5 * time.Second,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	calls, err := tools.Handler()
	if err != nil {
		return nil, err
	}
	mux.Handle("/mcp", calls)
	chats, err := ui.New(ui.Config{Client: c, Identify: identify, Logger: slog.New(slog.DiscardHandler),
		Start: func(context.Context, lifecycle.Actor, ui.Message) (lifecycle.Spec, error) {
			return lifecycle.Spec{}, errors.New("no run is started here")
		}})
	if err != nil {
		return nil, err
	}
	mux.Handle("/chat/", chats.Chat())
	mux.Handle("/agui", chats.AGUI())
	app, err := slack.New(slack.Config{Client: c, Token: slacktest.Token, SigningSecret: slacktest.Secret,
		Messages: new(slack.Memory), API: "http://127.0.0.1:1/", Logger: slog.New(slog.DiscardHandler),
		Person: func(_ context.Context, _, user string) (lifecycle.Actor, error) {
			return lifecycle.Actor{ID: strings.ToLower(strings.TrimPrefix(user, "U"))}, nil
		},
		Places: func(context.Context, *lifecycle.Run, *lifecycle.Question) ([]string, error) { return nil, nil }})
	if err != nil {
		return nil, err
	}
	mux.Handle("/slack", app)
	return mux, nil
}

func newLinks(c *lifecycle.Client) (*link.Links, error) {
	return link.New(link.Config{Client: c, URL: "http://desk.example.com/answer/",
		Keys:   []link.Key{{ID: "a", Secret: bytes.Repeat([]byte("random"), 6)}},
		Logger: slog.New(slog.DiscardHandler)})
}

// identify believes the cookie of a session, as browsers send it, or a token, as programs do.
func identify(r *http.Request) (lifecycle.Actor, error) {
	if cookie, err := r.Cookie("session"); err == nil {
		return lifecycle.Actor{ID: cookie.Value, Via: "page"}, nil
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return lifecycle.Actor{ID: token, Via: "api"}, nil
	}
	return lifecycle.Actor{}, errors.New("nobody")
}

// cutLines loses one request in so many before it is served, and one response after that.
func cutLines(h http.Handler, oneIn int) http.Handler {
	if oneIn == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fate := 2
		if r.Method == http.MethodPost {
			fate = rand.N(oneIn)
		}
		switch fate {
		case 0:
			panic(http.ErrAbortHandler)
		case 1:
			h.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	})
}
