package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/interlude-go/interlude/lifecycle"
)

// Defaults and limits of a Config.
const (
	// DefaultHold is below the 60 s after which usual clients end a call.
	DefaultHold  = 50 * time.Second
	DefaultPoll  = time.Second
	DefaultCalls = 32
	DefaultWait  = "wait"
	// MaxBody limits a request, in bytes.
	MaxBody = 2 << 20
	// MaxResponses limits the answers in one request.
	MaxResponses = 64
)

// Config configures a Server. Client and Tools are required.
type Config struct {
	Client *lifecycle.Client
	Tools  []Tool
	// Identify returns the caller of an HTTP request. The ID must not be empty. Required for Handler.
	Identify func(*http.Request) (lifecycle.Actor, error)

	// Name, Title and Version describe the server to clients; the name is "interlude" when empty.
	Name, Title, Version string
	// Instructions explain the tools to the client's model. A default explains the tool "wait".
	Instructions string

	// Hold is how long a call waits before it returns the run's state; DefaultHold when 0. While a
	// dialog is open at a client with a session, the call waits for at most an hour.
	Hold time.Duration
	// Poll is the interval at which clients should poll tasks; DefaultPoll when 0.
	Poll time.Duration
	// Calls limits the concurrent calls of each principal; DefaultCalls when 0.
	Calls int
	// WaitTool is the name of the tool that continues to wait for a run; DefaultWait when empty.
	WaitTool string
	// Page returns the address of the host's page for a question, or for the run (question 0). It must
	// require a sign-in: the address is shown to models and must not be a capability. Nil: none.
	Page func(run string, question int) string
	// Decline returns the text that answers a question that the person has declined, or false to keep
	// the question open. Nil: it stays open. Declining an approval always rejects it.
	Decline func(q *lifecycle.Question) (text string, answer bool)
	// Metadata is the address of the host's OAuth protected-resource metadata (RFC 9728), for the
	// header WWW-Authenticate of responses with status 401. Empty: none. See MetadataHandler.
	Metadata string
	// TTL is how long the host keeps ended runs, for clients of tasks; 0: unlimited.
	TTL time.Duration
	// Logger is slog.Default when nil.
	Logger *slog.Logger
}

// Serve says how a tool's calls are served.
type Serve int

// The ways to serve a tool.
const (
	// Hold: the call is held, whatever the client supports.
	Hold Serve = iota
	// Task: a client that supports tasks gets a task; other clients are served as with Hold.
	Task
	// TaskOnly: as Task, and other clients get an error.
	TaskOnly
	// AskFirst: as TaskOnly, but the questions of the first turn are asked in the call.
	AskFirst
)

// Tool is a flow or an agent that clients may start.
type Tool struct {
	// Name identifies the tool: 1 to 128 of [A-Za-z0-9._-]. Title and Description are for people and
	// models; the Description is required.
	Name, Title, Description string
	// InputSchema is the JSON Schema of the arguments, with "type": "object". Nil: no arguments.
	InputSchema json.RawMessage
	// Annotations are hints for clients; nil: none.
	Annotations *sdk.ToolAnnotations
	// Spec returns the run for a call. The arguments fit InputSchema. The Server sets Spec.ID, and
	// Spec.Submitter to the caller if it is empty. Return a front.Fault to explain an error to the
	// client; the text of any other error is only logged. It may be called several times at once.
	Spec  func(ctx context.Context, caller lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error)
	Serve Serve
	// Key names the request for a question, unique within the run. Nil: its number.
	Key func(q *lifecycle.Question) string

	schema *jsonschema.Schema
}

func errConfig(field, want string) error {
	return &lifecycle.ArgumentError{Argument: "Config." + field, Want: want}
}

// complete checks the configuration and fills in the defaults.
func (c *Config) complete() error {
	if c.Client == nil {
		return errConfig("Client", "a client")
	}
	if c.Hold < 0 || c.Poll < 0 || c.Calls < 0 || c.TTL < 0 {
		return errConfig("Hold, Poll, Calls, TTL", "no negative number")
	}
	c.Name = cmp.Or(c.Name, "interlude")
	c.Hold = cmp.Or(c.Hold, DefaultHold)
	c.Poll = cmp.Or(c.Poll, DefaultPoll)
	c.Calls = cmp.Or(c.Calls, DefaultCalls)
	c.WaitTool = cmp.Or(c.WaitTool, DefaultWait)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Instructions == "" {
		c.Instructions = "A tool may need a person's answer. If a result says that its run still works or waits, " +
			"call " + c.WaitTool + " with its run_id. Only a person can answer its questions; you cannot."
	}
	names := map[string]bool{c.WaitTool: true}
	for i := range c.Tools {
		if err := c.Tools[i].complete(names); err != nil {
			return fmt.Errorf("mcp: tool %q: %w", c.Tools[i].Name, err)
		}
	}
	return nil
}

func (t *Tool) complete(names map[string]bool) error {
	switch {
	case names[t.Name]:
		return errors.New("the name is taken")
	case t.Name == "" || len(t.Name) > 128 || strings.Trim(t.Name, nameCharacters) != "":
		return errors.New("the name is not 1 to 128 of [A-Za-z0-9._-]")
	case t.Description == "":
		return errors.New("the description is missing")
	case t.Spec == nil:
		return errors.New("a Spec is missing")
	}
	names[t.Name] = true
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	var top struct{ Type string }
	if err := json.Unmarshal(t.InputSchema, &top); err != nil || top.Type != "object" {
		return errors.New(`the input schema is not JSON with "type": "object"`)
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft, compiler.AssertFormat = jsonschema.Draft2020, true
	if err := compiler.AddResource("input.json", bytes.NewReader(t.InputSchema)); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	var err error
	if t.schema, err = compiler.Compile("input.json"); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	return nil
}

const nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

const toolLabel = "mcp.tool"
