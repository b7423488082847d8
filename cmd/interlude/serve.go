package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

var serveVerb = command.Verb{
	Name: "serve", Does: "serve the page, the HTTP API and an agent",
	More: "Without flags, a demo agent asks a first question, and the runs are in .interlude/runs.db. Only this " +
		"machine is served, without a sign-in, unless the file of -config has a sign-in: see docs/cli.md. A " +
		"host program offers more in 25 lines: see docs/web.md.",
	Prepare: func(f *flag.FlagSet) command.Action { return prepareServing(f, (*serving).serve) },
}

func prepareServing(f *flag.FlagSet, serve func(*serving, context.Context, command.Call) error) command.Action {
	s := &serving{db: console.NewDatabase(f), agent: &options{}}
	f.StringVar(&s.config, "config", "", "the `file` with agents, pools, receivers of notices, and the sign-in")
	f.StringVar(&s.listen, "listen", defaultListen, "the `address` of the page, on this machine unless there is a "+
		"sign-in; port 0 selects a free one")
	f.StringVar(&s.hook, "webhook", "", "the `URL` for signed notices of questions and ends; its secret is "+
		"$"+hookSecret)
	f.StringVar(&s.probes, "probes", "", "the `address` of /healthz, /readyz and /metrics, which need no sign-in; "+
		"default: none")
	f.BoolVar(&s.json, "json", false, "print the page's address as JSON")
	s.agent.agentFlags(f)
	s.agent.logFlags(f)
	return func(ctx context.Context, c command.Call) (int, error) {
		if _, err := c.Want(""); err != nil {
			return misused, err
		}
		f.Visit(func(f *flag.Flag) { s.given = append(s.given, f.Name) })
		s.variables = c.Variables
		err := serve(s, ctx, c)
		if err != nil && s.agent.log == "json" { // readers of a JSON log expect only JSON lines
			s.agent.logger(c.Side, slog.LevelError).Error("the program ends", "err", command.Words(err))
			err = command.Logged(err)
		}
		return succeeded, err
	}
}

const (
	hookSecret    = "INTERLUDE_WEBHOOK_SECRET"
	defaultListen = "127.0.0.1:8080"
)

type serving struct {
	db                   *console.Database
	agent                *options
	config, listen, hook string
	probes               string
	json                 bool
	address              string   // of the page, since a first start; empty: none yet
	given                []string // the flags of the command line and the environment
	variables            []string // set by environment variables
	// stdio returns the person at the MCP client that has started this process; nil: HTTP is served.
	stdio func() (lifecycle.Actor, error)
}

// dir is the default folder for runs, without -db.
const dir = ".interlude"

func (s *serving) host() (*hostFile, error) {
	if s.config != "" {
		for _, name := range s.given {
			if slices.Contains([]string{"config", "db", "schema", "json", "v", "log", "listen", "probes", "as",
				"group", "watch"}, name) {
				continue
			}
			shown := "-" + name
			if slices.Contains(s.variables, name) {
				shown = "$" + command.Variable(command.Prefix, name)
			}
			return nil, misusef("%s conflicts with -config, whose file has this setting: leave one of them out", shown)
		}
		h, err := readHostFile(s.config)
		if err != nil {
			return nil, err
		}
		if slices.Contains(s.given, "listen") {
			h.Listen = s.listen
		}
		if slices.Contains(s.given, "probes") {
			h.Probes = s.probes
		}
		return h, nil
	}
	if s.agent.agent == "" {
		s.agent.agent = demo
	}
	h := &hostFile{Listen: s.listen, Probes: s.probes, Agent: s.agent.engineName()}
	h.Dir = filepath.Join(dir, "serve", h.Agent)
	if s.hook != "" {
		n := &noticeEntry{Name: "webhook", Webhook: s.hook, SecretEnv: hookSecret, where: "-webhook"}
		if err := n.check(); err != nil {
			return nil, misusef("%w", err)
		}
		h.Notify = []*noticeEntry{n}
	}
	return h, nil
}

func (s *serving) jobs(h *hostFile) map[string]*job {
	if h.name == "" {
		return map[string]*job{h.Agent: {options: s.agent, name: h.Agent, dir: h.Dir}}
	}
	all := make(map[string]*job)
	for name, a := range h.Agents {
		all[name] = &job{options: a.options(), name: name, dir: filepath.Join(h.Dir, ".agents", name)}
	}
	return all
}

func (s *serving) serve(ctx context.Context, c command.Call) (err error) {
	h, err := s.host()
	if err != nil {
		return err
	}
	if s.stdio != nil {
		h.Probes = "" // of the host that serves HTTP
	} else if h.SignIn == nil {
		if err := local(h.Listen); err != nil {
			return err
		}
	}
	if h.Dir == "" {
		h.Dir = filepath.Join(dir, "serve", "runs")
	}
	if h.Dir, err = filepath.Abs(h.Dir); err != nil {
		return err
	}
	st, fresh, err := s.db.OpenHost(ctx, filepath.Join(dir, "runs.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	engines := make(map[string]engine.Engine)
	for name, j := range s.jobs(h) {
		eng, err := j.engine(newDeath(""))
		if err != nil {
			return h.explain("agents."+name, err)
		}
		defer j.close()
		if closer, ok := eng.(io.Closer); ok {
			defer func() { err = errors.Join(err, closer.Close()) }()
		}
		engines[name] = eng
	}
	log := s.agent.logger(c.Side, slog.LevelWarn)
	people, tables, err := h.openPeople(ctx, s.db, log)
	if err != nil {
		return h.explain("sign_in", err)
	}
	if people != nil {
		defer tables.Close()
	}
	directory, err := h.directory(log)
	if err != nil {
		return h.explain("directory", err)
	}
	var authorize lifecycle.Authorize
	members := directory // they know who has left, also without a directory
	if people != nil {
		authorize, members = people.Authorize, people.Directory(directory)
		if directory != nil {
			directory = members
		}
	}
	rules, err := h.loadPolicy()
	if err != nil {
		return h.explain("policy", err)
	}
	remember, err := h.remember()
	if err != nil {
		return h.explain("remember", err)
	}
	probes, err := newProbes(ctx, h.Probes)
	if err != nil {
		return err
	}
	defer probes.close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engines[h.Agent], Engines: engines, Pools: h.Pools,
		Dir: h.Dir, Forgiving: true, Logger: log, Observer: probes.observer(),
		Authorize: authorize, Policy: rules, Remember: remember, Directory: members})
	if err != nil {
		return h.explain("invalid configuration", err)
	}
	defer lc.Close()
	if fresh && h.name == "" && h.Agent == demo && s.stdio == nil {
		if _, err := lc.Submit(ctx, lifecycle.Spec{ID: "hello", Prompt: "Say hello.", Engine: demo}); err != nil {
			return err
		}
	}
	if s.stdio != nil {
		return s.overStdio(ctx, c, h, lc, log)
	}
	if err := probes.start(ctx, lc, s.db, st, log); err != nil {
		return err
	}
	return s.frontEnds(ctx, c, h, lc, directory, log, probes.address())
}

func (h *hostFile) remember() (time.Duration, error) {
	if h.Remember == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(h.Remember)
	if err == nil && d <= 0 {
		err = fmt.Errorf("it is %s, want a time like 8h", d)
	}
	return d, err
}

func (h *hostFile) explain(where string, err error) error {
	if h.name == "" {
		return err
	}
	return fmt.Errorf("-config: %s: %s: %w", h.name, where, err)
}

// local refuses an address that other machines can reach, because there is no sign-in.
func local(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return misusef("-listen is %.80q, want an address of this machine like 127.0.0.1:8080; to serve others, "+
			"configure a sign-in with -config (docs/cli.md)", listen)
	}
	return nil
}

func (s *serving) frontEnds(ctx context.Context, c command.Call, h *hostFile, lc *lifecycle.Lifecycle,
	directory lifecycle.Directory, log *slog.Logger, probes string) error {
	notices, err := h.newNotices(ctx, s.db, lc.Client, directory, log)
	if err != nil {
		return err
	}
	if notices != nil {
		defer notices.close()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(s.address, h.Listen))
	if err != nil {
		return misusef("%w: choose another address with -listen, for example 127.0.0.1:0", err)
	}
	s.address = listener.Addr().String()
	// The warning about a missing sign-in is not repeated in the log.
	o := web.Options{Logger: s.agent.logger(c.Side, slog.LevelError)}
	if h.SignIn != nil {
		o.Identify, o.Prepare = h.SignIn.identify, h.SignIn.prepare
		if h.SignIn.OpenID != nil {
			o.SignOut = "/signin/out"
		}
	}
	if h.Brand != nil {
		o.Brand, o.SignOut = h.Brand.brand, cmp.Or(h.Brand.SignOut, o.SignOut)
	}
	o.Directory, _ = directory.(people.Directory)
	frontEnd := web.Handler(lc.Client, o)
	handler, err := h.withProtocols(ctx, frontEnd, lc.Client, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if h.SignIn != nil {
		handler = h.SignIn.ask(handler)
	}
	handler = notices.withSlack(handler)
	s.announce(c.Out, "http://"+s.address+"/interlude/", probes, h)
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return lc.Serve(ctx) })
	parts.Go(func() error { return frontEnd.Serve(ctx, listener, handler) })
	if notices != nil {
		parts.Go(func() error {
			notices.Serve(ctx)
			return nil
		})
		parts.Go(func() error { return notices.serveSocket(ctx, h) })
	}
	return parts.Wait()
}

func (s *serving) announce(out *os.File, page, probes string, h *hostFile) {
	agent := s.agent.agent
	if h.name != "" {
		agent = strings.Join(slices.Sorted(maps.Keys(h.Agents)), ", ")
	}
	if s.json {
		said := map[string]string{"page": page, "db": s.db.String(), "agent": agent}
		if probes != "" {
			said["probes"] = probes
		}
		line, _ := json.Marshal(said)
		fmt.Fprintln(out, string(line))
		return
	}
	if terminal.Styled(out) {
		page = bold.On(page)
	}
	if probes != "" {
		fmt.Fprintf(out, "probes: %s/readyz\n", probes)
	}
	fmt.Fprintf(out, "page:   %s\nruns:   %s\nagent:  %s\nCtrl-C ends it; the same command continues the runs\n",
		page, s.db, agent)
}
