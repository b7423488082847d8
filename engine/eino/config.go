package eino

import (
	"context"

	"github.com/interlude-go/interlude/engine/checkpoint"
	"github.com/interlude-go/interlude/interaction"
)

// Config configures graphs and agents. Its zero value keeps checkpoints in each run's folder below
// lifecycle.Config.Dir.
type Config struct {
	// Name is the engine's name in its session handles; "eino" when empty. Runs that wait can only
	// be resumed under the same name.
	Name string
	// Revision is the revision of the graph or agent. A run that waits in a different one is
	// refused (SESSION_RESUME_FAILED), because its checkpoint may not fit the graph. Empty: no
	// revisions.
	Revision string

	// Dir is used instead of the run's folder, with one subfolder per run. The host removes the
	// subfolder when it removes the run. All processes that execute runs must share Dir.
	Dir string
	// Store stores the checkpoints instead: a compose.CheckPointStore of the host that keeps them
	// across restarts. Each key is written once.
	Store checkpoint.Store

	// Question makes the question of an interrupt. Nil: Ask.
	Question func(Interrupt) interaction.Question
	// Reply creates the resume data of an interrupt's answer, read by the node, tool or agent with
	// GetResumeContext. Nil: the text of the answer, a string; the interaction.Answer itself if the
	// question has a schema or is an approval. For a Gate it returns the graph's new state, or nil
	// to keep it. Its error fails the turn.
	Reply func(context.Context, Interrupt, interaction.Answer) (any, error)

	// Ends selects the meaning of the end of a graph or agent.
	Ends Ends
}

// Ends is the meaning of the end of a graph or agent.
type Ends int

// Meanings of an end.
const (
	// EndsRun completes the run: the done marker is added. An agent whose last message asks the
	// person, in the form that its prompt describes, or says that it is not done, does not end the
	// run.
	EndsRun Ends = iota
	// EndsTurn lets text and output decide whether the run is complete, as for any agent.
	// Otherwise, in an interactive run, the person is asked, and the next turn starts the graph or
	// agent again with the conversation so far.
	EndsTurn
)

func (c Config) sessions() checkpoint.Sessions {
	s := checkpoint.Sessions{Engine: c.Name, Version: "1", Revision: c.Revision, Store: c.Store}
	if s.Engine == "" {
		s.Engine = "eino"
	}
	if s.Store == nil && c.Dir != "" {
		s.Store = checkpoint.Files{Dir: c.Dir}
	}
	return s
}
