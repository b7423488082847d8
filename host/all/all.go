// Package all serves a whole host with one call: turns and deadlines, the page and the API, links
// that answer a question, notices and telemetry, until its context ends.
//
//	err := all.Serve(ctx, all.Host{
//		Lifecycle: lifecycle.Config{Store: st, Engine: agent, Forgiving: true},
//		Address:   "127.0.0.1:8080",
//	})
//
// Each part is a separate package, which a host can also wire by itself: host/web, host/link,
// host/notify, host/otel, host/signin. Parts without a configuration are not served.
package all

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/otel"
	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
	"github.com/interlude-go/interlude/store"
)

// Host is what Serve serves. Lifecycle and Address are required.
type Host struct {
	// Lifecycle configures the runs: at least an engine, and a Store unless runs may end with the
	// process. Close the store after Serve has returned.
	Lifecycle lifecycle.Config
	// Address is the TCP address of the page, the API and the links, for example "127.0.0.1:8080".
	// A port 0 is replaced by a free one (Ready).
	Address string
	// URL is the public address of the server, which links contain, for example
	// "https://desk.example.com". Empty: the server's own address over HTTP.
	URL string
	// Web configures page and API. Without Identify they serve only this machine.
	Web web.Options
	// SignIn signs in people and programs for every route except links, which need no sign-in. It
	// sets Web.Identify, and removes people who have left from Lifecycle.Directory. It also sets
	// Lifecycle.Authorize, unless the host has one, which should call signin.Store.Authorize
	// first. Nil: no sign-in.
	SignIn *signin.SignIn
	// Probes is the TCP address of /healthz, /readyz and, with Metrics, /metrics. They need no sign-in,
	// so only supervisors and monitoring should reach it. Empty: none.
	Probes  string
	Metrics http.Handler
	// LinkKeys sign links that answer a question. Empty: no links. Link has the other settings;
	// Serve sets its Client, URL, Keys and Brand (that of Web), and Page unless it is set.
	LinkKeys []link.Key
	Link     link.Config
	// Notices configures notices; Serve sets its Client and adds Endpoints. Without a Queue there
	// are none. Endpoints returns the receivers that need the client or the links (nil without
	// LinkKeys).
	Notices   notify.Config
	Endpoints func(client *lifecycle.Client, links *link.Links) ([]notify.Endpoint, error)
	// Telemetry reports traces and metrics, and the load of all nodes if it has a meter; nil: none.
	// It cannot be combined with Lifecycle.Observer.
	Telemetry *otel.Config
	// Routes adds the host's own routes, next to the prefix of Web and /answer/. Nil: none.
	Routes func(mux *http.ServeMux, client *lifecycle.Client)
	// Ready is called once with the host's client and the server's address, before the first
	// request and the first turn. Nil: not called.
	Ready func(client *lifecycle.Client, address net.Addr)
}

const linkPath = "/answer/"

// Serve serves the host until ctx ends, and then ends each part in order: no new request is
// accepted, open requests and turns end within their grace periods, unsent notices stay in the
// queue. It returns nil after that, or the first error: an invalid configuration, an address in
// use, or an error of a part, which ends the others. A *lifecycle.StuckError lists engine calls
// that have not returned.
func Serve(ctx context.Context, h Host) (err error) {
	var telemetry *otel.Telemetry
	if h.SignIn != nil {
		if h.Web.Identify != nil {
			return errors.New("all: SignIn and Web.Identify are both set: leave one of them out")
		}
		h.Web.Identify = h.SignIn.Identify
		if h.Lifecycle.Authorize == nil {
			h.Lifecycle.Authorize = h.SignIn.Store().Authorize
		}
		h.Lifecycle.Directory = h.SignIn.Store().Directory(h.Lifecycle.Directory)
	}
	if h.Telemetry != nil {
		if telemetry, err = h.observe(); err != nil {
			return err
		}
	}
	lc, err := lifecycle.New(h.Lifecycle)
	if err != nil {
		return err
	}
	defer lc.Close()
	if meter, ok := h.Lifecycle.Store.(store.Meter); ok && telemetry != nil {
		stop, err := telemetry.Gauges(lc.Client, meter)
		if err != nil {
			return fmt.Errorf("all: gauges: %w", err)
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", h.Address)
	if err != nil {
		return fmt.Errorf("all: %w", err)
	}
	parts, err := h.parts(ctx, lc, listener)
	if err == nil && h.Probes != "" {
		var probes func(context.Context) error
		probes, err = h.probes(ctx, lc)
		parts = append(parts, probes)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if h.Ready != nil {
		h.Ready(lc.Client, listener.Addr())
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() error { return part(ctx) })
	}
	return group.Wait()
}

func (h *Host) observe() (*otel.Telemetry, error) {
	telemetry, err := otel.New(*h.Telemetry)
	if err != nil {
		return nil, fmt.Errorf("all: telemetry: %w", err)
	}
	if !reflect.ValueOf(h.Lifecycle.Observer).IsZero() {
		return nil, errors.New("all: Telemetry and Lifecycle.Observer are both set; call the functions of " +
			"otel.Telemetry's Observer in yours, and leave Telemetry unset")
	}
	h.Lifecycle.Observer = telemetry.Observer()
	return telemetry, nil
}

func (h *Host) parts(ctx context.Context, lc *lifecycle.Lifecycle, listener net.Listener,
) (parts []func(context.Context) error, err error) {
	base := strings.TrimSuffix(h.URL, "/")
	if base == "" {
		base = "http://" + listener.Addr().String()
	}
	prefix := h.Web.Prefix
	switch prefix {
	case "":
		prefix = "/interlude"
	case "/":
		prefix = ""
	}
	var links *link.Links
	if len(h.LinkKeys) > 0 {
		if links, err = h.links(lc.Client, base, prefix); err != nil {
			return nil, err
		}
	}
	var notices *notify.Notifier
	switch {
	case h.Notices.Queue != nil:
		if notices, err = h.notices(ctx, lc.Client, links); err != nil {
			return nil, err
		}
	case h.Endpoints != nil, len(h.Notices.Endpoints) > 0:
		return nil, errors.New("all: there are endpoints for notices, and no Notices.Queue to store them in")
	}
	cmp.Or(h.Web.Logger, slog.Default()).Info("all: serving", "page", base+prefix+"/")
	options := h.Web
	if options.Notices == nil && notices != nil {
		options.Notices = deadLetters{notices}
	}
	if options.Directory == nil {
		options.Directory, _ = h.Lifecycle.Directory.(people.Directory)
	}
	frontEnd := web.Handler(lc.Client, options)
	mux := http.NewServeMux()
	mux.Handle(prefix+"/", frontEnd)
	if h.Routes != nil {
		h.Routes(mux, lc.Client)
	}
	var handler http.Handler = mux
	if h.SignIn != nil {
		handler = h.SignIn.Wrap(mux)
	}
	if links != nil {
		outer := http.NewServeMux()
		outer.Handle(linkPath, links)
		outer.Handle("/", handler)
		handler = outer
	}
	parts = append(parts, lc.Serve, func(ctx context.Context) error { return frontEnd.Serve(ctx, listener, handler) })
	if notices != nil {
		parts = append(parts, func(ctx context.Context) error {
			notices.Serve(ctx)
			return nil
		})
	}
	return parts, nil
}

// maxProbes limits the connections to the probes, which need no sign-in.
const maxProbes = 64

// probes returns the part that serves the probes. They end with the host's context, so that no new
// requests arrive while the turns end.
func (h *Host) probes(ctx context.Context, lc *lifecycle.Lifecycle) (func(context.Context) error, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", h.Probes)
	if err != nil {
		return nil, fmt.Errorf("all: probes: %w", err)
	}
	cmp.Or(h.Web.Logger, slog.Default()).Info("all: serving", "probes", "http://"+listener.Addr().String())
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		Handler: web.Probes(web.ProbeOptions{Metrics: h.Metrics, Logger: h.Web.Logger,
			Ready: map[string]func(context.Context) error{"lease": lc.Ready}})}
	return func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		if err := server.Serve(netutil.LimitListener(listener, maxProbes)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("all: probes: %w", err)
		}
		return nil
	}, nil
}

func (h *Host) links(client *lifecycle.Client, base, prefix string) (*link.Links, error) {
	cfg := h.Link
	cfg.Client, cfg.URL, cfg.Keys, cfg.Brand = client, base+linkPath, h.LinkKeys, h.Web.Brand
	if cfg.Page == nil {
		cfg.Page = func(runID string, question int) string {
			return fmt.Sprintf("%s%s/#/inbox/%s/%d", base, prefix, url.PathEscape(runID), question)
		}
	}
	links, err := link.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("all: links: %w", err)
	}
	return links, nil
}

// notices creates the feeds of new endpoints, so that the first run that the server accepts has
// notices, too.
func (h *Host) notices(ctx context.Context, client *lifecycle.Client, links *link.Links) (*notify.Notifier, error) {
	cfg := h.Notices
	cfg.Client = client
	if h.Endpoints != nil {
		more, err := h.Endpoints(client, links)
		if err != nil {
			return nil, fmt.Errorf("all: endpoints: %w", err)
		}
		cfg.Endpoints = append(cfg.Endpoints[:len(cfg.Endpoints):len(cfg.Endpoints)], more...)
	}
	notifier, err := notify.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("all: notices: %w", err)
	}
	for _, e := range cfg.Endpoints {
		if _, err := client.CreateFeed(ctx, notify.FeedName(e.Name), lifecycle.DefaultFeedLag); err != nil {
			return nil, fmt.Errorf("all: the feed of endpoint %s: %w", e.Name, err)
		}
	}
	return notifier, nil
}

// deadLetters shows operators the dead letters of a notifier.
type deadLetters struct{ notifier *notify.Notifier }

func (d deadLetters) DeadLetters(ctx context.Context, limit int) (all []web.DeadLetter, _ error) {
	status, err := d.notifier.Status(ctx)
	if err != nil {
		return nil, err
	}
	for i := range status {
		name := status[i].Endpoint
		if status[i].Dead == 0 || len(all) == limit {
			continue
		}
		found, err := d.notifier.DeadLetters(ctx, name, notify.Key{}, limit-len(all))
		if err != nil {
			return nil, err
		}
		for i := range found {
			l := &found[i]
			all = append(all, web.DeadLetter{Endpoint: name, ID: l.ID(), RunID: l.RunID, Attempts: l.Attempts,
				Died: l.Died, Reason: l.Reason})
		}
	}
	return all, nil
}

func (d deadLetters) Resend(ctx context.Context, endpoint, id string) error {
	status, err := d.notifier.Status(ctx)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(status, func(s notify.Status) bool { return s.Endpoint == endpoint })
	if _, err := notify.ParseID(id); err != nil || !known {
		return lifecycle.ErrNotFound
	}
	if err = d.notifier.Resend(ctx, endpoint, id); errors.Is(err, notify.ErrNoDeadLetter) {
		return lifecycle.ErrNotFound
	}
	return err
}
