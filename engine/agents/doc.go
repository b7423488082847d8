// Package agents are the agents that people use, each as an engine with one line:
//
//	eng, err := agents.Codex(agents.Options{})
//
// An adapter is what this package knows of one agent's command line, as data over engine/exec: how
// a session begins and goes on, what of the environment it may see, what its lines of output mean,
// how it says that a session is gone. The agent itself is installed by the host; the adapter says
// which versions it was tried with, and warns in the run of another one.
//
// Each run has a home of its own, so that runs share nothing and the user's own settings, logins
// and sessions are neither seen nor changed; see Options.Home for the other ways. An agent's
// full-auto flags are used in auto mode only. An agent that cannot resume a session, by its
// own help, is used as a resident process, if it can be one.
//
// Neighbours: engine/exec runs the command lines; the folder docs/engines has a page for each
// agent.
package agents
