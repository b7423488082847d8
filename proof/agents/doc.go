// Package agents proves that runs of real agents survive: the programs that people install, driven
// by a host on SQLite, with a scripted model on this machine in place of a real one. Hosts and
// agents are killed with SIGKILL while runs are parked and while they are executed, and the model's
// own log says what each session sent it.
//
// It is tests only. They need the agents: see .ci/agents.sh and package agentstest.
package agents
