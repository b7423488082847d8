package adk

import (
	"context"
	"fmt"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/interlude-go/interlude/engine/checkpoint"
	"github.com/interlude-go/interlude/interaction"
)

// Config configures an engine. Its zero value keeps sessions in each run's own folder below
// lifecycle.Config.Dir.
type Config struct {
	// Name is the engine's name in its session handles; "adk" when empty. Runs that wait can only
	// be resumed under the same name.
	Name string
	// Revision is the agent's revision. A run that waits in another one is refused
	// (SESSION_RESUME_FAILED). Empty: no revisions.
	Revision string

	// Dir is used instead of the run's folder, with one subfolder per run. The host removes the
	// subfolder when it removes the run. All processes that execute runs must share Dir.
	Dir string
	// Store keeps the sessions instead.
	Store checkpoint.Store
	// Sessions is the host's session service for ADK's sessions; stored versions then only name
	// them. Each turn creates a session and copies the previous one into it; sessions two turns old
	// are deleted. The service must accept the given id. State of the app ("app:") and the user
	// ("user:") is shared between attempts.
	Sessions session.Service

	// App and User are ADK's names of the application and the sessions' owner; "interlude" and
	// "user" when empty.
	App, User string
	// Runner may add artifacts, memory and plugins. It is called for each turn.
	Runner func(*runner.Config)
	// Run is passed to each run of the agent.
	Run agent.RunConfig

	// Question creates the question for an interrupt. Nil: Ask.
	Question func(Interrupt) interaction.Question
	// Reply makes the function response of an answer. Nil: Respond. An error that is an *Unclear
	// asks again; any other fails the turn.
	Reply func(context.Context, Interrupt, interaction.Answer) (map[string]any, error)

	// Ends selects the meaning of the agent's end.
	Ends Ends
}

// Ends is the meaning of an agent's end.
type Ends int

// Meanings of an end.
const (
	// EndsTurn lets text and output decide whether the run is complete, as for any agent.
	// Otherwise, in an interactive run, the person is asked and the next turn continues the
	// conversation.
	EndsTurn Ends = iota
	// EndsRun completes the run: the done marker is added. It is for workflows.
	EndsRun
)

func (c Config) withDefaults() (Config, error) {
	if c.Ends != EndsTurn && c.Ends != EndsRun {
		return c, fmt.Errorf("adk: Config.Ends is %d, want EndsTurn or EndsRun", c.Ends)
	}
	for field, fallback := range map[*string]string{&c.Name: "adk", &c.App: "interlude", &c.User: "user"} {
		if *field == "" {
			*field = fallback
		}
	}
	if c.Question == nil {
		c.Question = Ask
	}
	if c.Reply == nil {
		c.Reply = func(_ context.Context, i Interrupt, a interaction.Answer) (map[string]any, error) {
			return Respond(i, a)
		}
	}
	if c.Store == nil && c.Dir != "" {
		c.Store = checkpoint.Files{Dir: c.Dir}
	}
	return c, nil
}

func (c Config) versions() checkpoint.Sessions {
	return checkpoint.Sessions{Engine: c.Name, Version: "1", Revision: c.Revision, Store: c.Store}
}
