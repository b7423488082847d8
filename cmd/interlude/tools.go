package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var mcpVerb = command.Verb{
	Name: "mcp", Does: "serve an agent as a tool to an MCP client, over standard input and output",
	More: "The client starts this program and shows the questions of its runs to you. Without flags the tool is the " +
		"demo agent. Other hosts may serve the same database at the same time. See docs/protocols.md.",
	Prepare: func(f *flag.FlagSet) command.Action {
		s := &serving{db: console.NewDatabase(f), agent: &options{}, listen: defaultListen, stdio: console.NewActor(f)}
		f.StringVar(&s.config, "config", "", "the `file` of serve, with agents and tools")
		s.agent.agentFlags(f)
		s.agent.logFlags(f)
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return misused, err
			}
			f.Visit(func(f *flag.Flag) { s.given = append(s.given, f.Name) })
			s.variables = c.Variables
			return succeeded, s.serve(ctx, c)
		}
	},
}

// toolEntry is an agent that MCP clients may start.
type toolEntry struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Agent is one of Agents; empty: the default.
	Agent string `json:"agent"`
	// Task serves clients that support tasks with a task.
	Task bool `json:"task"`
	// Ask is who may answer the questions, and for how long they wait.
	Ask *lifecycle.AskPolicy `json:"ask"`
}

const promptSchema = `{"type":"object","properties":{"prompt":{"type":"string","minLength":1,` +
	`"description":"The task for the agent"}},"required":["prompt"],"additionalProperties":false}`

func (h *hostFile) tool(t *toolEntry) mcp.Tool {
	tool := mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: json.RawMessage(promptSchema),
		Spec: func(_ context.Context, _ lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error) {
			var given struct{ Prompt string }
			if err := json.Unmarshal(arguments, &given); err != nil {
				return lifecycle.Spec{}, err
			}
			spec := lifecycle.Spec{Prompt: given.Prompt, Engine: t.Agent, Title: t.Title, Ask: t.Ask}
			if h.SignIn != nil {
				return spec, h.SignIn.prepare(nil, &spec)
			}
			return spec, nil
		}}
	if t.Task {
		tool.Serve = mcp.Task
	}
	return tool
}

func (h *hostFile) checkTools() error {
	for i, t := range h.MCP {
		if t == nil {
			return fmt.Errorf("mcp[%d] is null, want an object", i)
		}
		if t.Agent != "" && h.Agents[t.Agent] == nil {
			return fmt.Errorf("mcp[%d].agent is %.80q, which is not in agents", i, t.Agent)
		}
		if err := checkAsk(t.Ask); err != nil {
			return fmt.Errorf("mcp[%d].ask: %w", i, err)
		}
	}
	return nil
}

func checkAsk(ask *lifecycle.AskPolicy) error {
	if ask == nil {
		return nil
	}
	return lifecycle.Spec{Prompt: "-", Submitter: "-", Ask: ask}.Validate()
}

// newTools returns the server for MCP clients; nil without tools. A host without a file has one tool,
// its agent.
func (h *hostFile) newTools(client *lifecycle.Client, log *slog.Logger) (*mcp.Server, error) {
	entries := h.MCP
	if h.name == "" {
		entries = []*toolEntry{{Name: "run", Title: "Run " + h.Agent, Agent: h.Agent, Task: true,
			Description: "Gives a task to the agent " + h.Agent +
				", which may ask the person, and returns its result."}}
	}
	if len(entries) == 0 {
		return nil, nil //nolint:nilnil // no tools, no server
	}
	cfg := mcp.Config{Client: client, Logger: log,
		Identify: func(r *http.Request) (lifecycle.Actor, error) { return h.identifyCaller(r, "mcp") }}
	for _, t := range entries {
		cfg.Tools = append(cfg.Tools, h.tool(t))
	}
	if h.Page != "" {
		cfg.Page = h.pageOf
	}
	server, err := mcp.New(cfg)
	if err != nil {
		return nil, h.explain("mcp", err)
	}
	return server, nil
}

// identifyCaller returns the person or program that sends a request of a protocol. Without a
// sign-in it accepts only requests that this machine sends directly, not through a proxy, like
// the page.
func (h *hostFile) identifyCaller(r *http.Request, via string) (lifecycle.Actor, error) {
	if h.SignIn != nil {
		actor, err := h.SignIn.identify(r)
		actor.Via = via
		return actor, err
	}
	if !web.FromThisMachine(r) {
		return lifecycle.Actor{}, errors.New("without a sign-in only this machine is served: configure sign_in")
	}
	return lifecycle.Actor{ID: "local", Via: via}, nil
}

// withProtocols adds the tools and the chat to the handler of the page. Their streams end with ctx.
func (h *hostFile) withProtocols(ctx context.Context, page http.Handler, client *lifecycle.Client, log *slog.Logger,
) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.Handle("/", page)
	tools, err := h.newTools(client, log)
	if err != nil {
		return nil, err
	}
	if tools != nil {
		calls, err := tools.Handler()
		if err != nil {
			return nil, err
		}
		mux.Handle("/mcp", calls)
		context.AfterFunc(ctx, tools.Close)
	}
	chats, err := h.newChats(client, log)
	if err != nil {
		return nil, err
	}
	if chats != nil {
		mux.Handle("/chat", chats.Chat())
		mux.Handle("/chat/", chats.Chat())
		mux.Handle("/agui", chats.AGUI())
		context.AfterFunc(ctx, chats.Close)
	}
	return mux, nil
}

// overStdio serves the client that has started this process, until it closes the input.
func (s *serving) overStdio(ctx context.Context, c command.Call, h *hostFile, lc *lifecycle.Lifecycle,
	log *slog.Logger) error {
	actor, err := s.stdio()
	if err != nil {
		return err
	}
	actor.Via = "mcp"
	if h.SignIn != nil {
		actor = h.SignIn.person(actor) // one person on every front end
	}
	tools, err := h.newTools(lc.Client, log)
	if err != nil {
		return err
	}
	if tools == nil {
		return misusef("-config: %s has no tools: add \"mcp\" (docs/cli.md)", h.name)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var parts errgroup.Group
	parts.Go(func() error {
		defer end() // without it no run would be executed
		return lc.Serve(ctx)
	})
	parts.Go(func() error {
		defer end()
		return tools.ServeStdio(ctx, actor, c.In, c.Out)
	})
	return parts.Wait()
}
