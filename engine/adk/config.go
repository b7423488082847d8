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
	// Revision says which revision of the agent this is. A run that waits in another one is refused
	// (SESSION_RESUME_FAILED). Empty: no revisions.
	Revision string

	// Dir is a folder where sessions are kept instead, in a folder for each run, which the host
	// removes when it removes the run. All processes that execute runs must share it.
	Dir string
	// Store keeps the sessions instead.
	Store checkpoint.Store
	// Sessions is a session service of the host that holds ADK's sessions; what is kept as said
	// above then only names them. Each turn makes a session and copies into it what the one before
	// holds; one that is two turns old is deleted. The service must take the id that it is given.
	// State of the app ("app:") and the user ("user:") is the service's, and no attempt has a
	// version of its own of it.
	Sessions session.Service

	// App and User are ADK's names of the application and of whom the sessions belong to;
	// "interlude" and "user" when empty.
	App, User string
	// Runner may add to what the agent is run with: artifacts, memory, plugins. It is called for
	// each turn.
	Runner func(*runner.Config)
	// Run is given to each run of the agent.
	Run agent.RunConfig

	// Question makes the question of what the agent waits for. Nil: Ask.
	Question func(Interrupt) interaction.Question
	// Reply makes the function response of an answer. Nil: Respond. An error that is an *Unclear
	// asks again; any other fails the turn.
	Reply func(context.Context, Interrupt, interaction.Answer) (map[string]any, error)

	// Ends says what the end of the agent means for the run.
	Ends Ends
}

// Ends says what it means that an agent came to its end.
type Ends int

// What an end can mean.
const (
	// EndsTurn leaves it to the text and the output whether the run is complete, as with any agent.
	// In an interactive run that is not, the person is asked, and the next turn goes on in the same
	// conversation.
	EndsTurn Ends = iota
	// EndsRun completes the run: the done marker is added. It is for workflows.
	EndsRun
)

// withDefaults fills in what the zero values stand for.
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

// versions returns where the engine stores its sessions.
func (c Config) versions() checkpoint.Sessions {
	return checkpoint.Sessions{Engine: c.Name, Version: "1", Revision: c.Revision, Store: c.Store}
}
