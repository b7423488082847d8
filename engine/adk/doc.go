// Package adk runs agents and workflows built with google.golang.org/adk/v2 as engines, in the
// host's own process.
//
//	e, err := adk.New(newAgent, adk.Config{}) // newAgent func(context.Context) (agent.Agent, error)
//
// What an agent waits for becomes a question, and the answer its function response: a tool that
// wants confirmation, a long-running tool, a workflow node that requests input. Several are asked
// about together, and each call gets the answer to its own question. A run resumes each
// of its questions once: the reply is claimed by the store of the runs, and every turn works on a
// session of its own, made from the one that it goes on from (see package checkpoint).
//
// What ADK leaves to the parts of an agent stays with them: tools and nodes must return soon after
// their context ended, a workflow may run nodes again when it is resumed, and a turn that is
// repeated after a crash does again what its tools did outside.
//
// Neighbours: engine is the interface, engine/checkpoint keeps the sessions, lifecycle runs the
// turns.
package adk
