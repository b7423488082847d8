package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/desk"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var serveVerb = command.Verb{
	Name: "serve", Does: "serve the page, the HTTP API and an agent, on this machine",
	More: "Without a flag, a demo agent asks a first question, and the runs are in .interlude/runs.db. Only this " +
		"machine is served, without a sign-in; a host of your own does more in 25 lines: see web.md.",
	Prepare: func(f *flag.FlagSet) command.Action {
		s := &serving{db: desk.NewDatabase(f), agent: &options{}}
		f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "the `address` of the page, of this machine; port 0 is any")
		f.StringVar(&s.hook, "webhook", "", "the `URL` that gets signed notices of questions and ends; its secret is "+
			"$"+hookSecret)
		f.BoolVar(&s.json, "json", false, "print where the page is as JSON")
		s.agent.agentFlags(f)
		f.BoolVar(&s.agent.verbose, "v", false, "log what the library does")
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return misused, err
			}
			return succeeded, s.serve(ctx, c)
		}
	},
}

// hookSecret is the variable with the secret of -webhook.
const hookSecret = "INTERLUDE_WEBHOOK_SECRET"

// serving is a call of interlude serve.
type serving struct {
	db           *desk.Database
	agent        *options
	listen, hook string
	json         bool
}

// dir keeps the runs where -db says nothing.
const dir = ".interlude"

func (s *serving) serve(ctx context.Context, c command.Call) (err error) {
	if err := s.local(); err != nil {
		return err
	}
	st, fresh, err := s.db.OpenHost(ctx, filepath.Join(dir, "runs.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if s.agent.agent == "" {
		s.agent.agent = demo
	}
	name := s.agent.engineName()
	folder, err := filepath.Abs(filepath.Join(dir, "serve", name))
	if err != nil {
		return err
	}
	j := &job{options: s.agent, name: name, dir: folder}
	eng, err := j.engine(newDeath(""))
	if err != nil {
		return err
	}
	defer j.close()
	if closer, ok := eng.(io.Closer); ok {
		defer func() { err = errors.Join(err, closer.Close()) }()
	}
	log := s.logger(c.Side, slog.LevelWarn)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: eng, Engines: map[string]engine.Engine{name: eng},
		Dir: j.dir, Forgiving: true, Logger: log})
	if err != nil {
		return err
	}
	defer lc.Close()
	if fresh && name == demo {
		if _, err := lc.Submit(ctx, lifecycle.Spec{ID: "hello", Prompt: "Say hello.", Engine: demo}); err != nil {
			return err
		}
	}
	return s.doors(ctx, c, lc, log)
}

// local refuses an address that others could reach: nobody is asked who they are.
func (s *serving) local() error {
	host, _, err := net.SplitHostPort(s.listen)
	ip := net.ParseIP(host)
	if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return misusef("-listen is %.80q: want an address of this machine, such as 127.0.0.1:8080; to serve others, "+
			"write a host with a sign-in (docs/web.md)", s.listen)
	}
	return nil
}

// doors serves the page, the agent and the notices until the context ends.
func (s *serving) doors(ctx context.Context, c command.Call, lc *lifecycle.Lifecycle, log *slog.Logger) error {
	notices, err := s.notices(ctx, lc.Client, log)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return misusef("%w: choose another address with -listen, such as 127.0.0.1:0", err)
	}
	// that only this machine is served is said below, and not again in the log
	door := web.Handler(lc.Client, web.Options{Logger: s.logger(c.Side, slog.LevelError)})
	s.announce(c.Out, "http://"+listener.Addr().String()+"/interlude/")
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return lc.Serve(ctx) })
	parts.Go(func() error { return door.Serve(ctx, listener, nil) })
	if notices != nil {
		defer notices.close()
		parts.Go(func() error {
			notices.Serve(ctx)
			return nil
		})
	}
	return parts.Wait()
}

// announce says where the page is.
func (s *serving) announce(out *os.File, page string) {
	if s.json {
		line, _ := json.Marshal(map[string]string{"page": page, "db": s.db.String(), "agent": s.agent.agent})
		fmt.Fprintln(out, string(line))
		return
	}
	if terminal.Styled(out) {
		page = bold.On(page)
	}
	fmt.Fprintf(out, "page:   %s\nruns:   %s\nagent:  %s\nCtrl-C ends it; the same command goes on with the runs\n",
		page, s.db, s.agent.agent)
}

// logger logs from this level on, and everything with -v.
func (s *serving) logger(to io.Writer, level slog.Level) *slog.Logger {
	if s.agent.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level}))
}
