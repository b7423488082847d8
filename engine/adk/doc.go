// Package adk runs agents and workflows built with google.golang.org/adk/v2 as engines, in the
// host's own process.
//
//	e, err := adk.New(newAgent, adk.Config{}) // newAgent func(context.Context) (agent.Agent, error)
//
// A tool that wants confirmation, a long-running tool or a workflow node that requests input
// becomes a question, and the answer its function response. Several are asked together, and each
// call gets its own answer. A run resumes each question once: the store claims the reply, and every
// turn uses a new session, created from the previous one (see package checkpoint).
//
// ADK's own rules apply: tools and nodes must return soon after their context ended, a workflow may
// run nodes again on resume, and a turn repeated after a crash repeats its tools' effects.
//
// Neighbours: engine is the interface, engine/checkpoint stores the sessions, lifecycle runs the
// turns.
package adk
