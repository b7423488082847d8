// Package agents proves that runs of real agents survive crashes. The agents are the programs that
// people install; a host on SQLite drives them, with a local scripted model instead of a real one.
// Hosts and agents are killed with SIGKILL while runs are parked and while turns execute, and the
// model's log shows what each session sent to it.
//
// The package has only tests. They need the agents: see .ci/agents.sh and package agentstest.
package agents
