// Package agents has common agents, each as an engine in one line:
//
//	eng, err := agents.Codex(agents.Options{})
//
// An adapter describes one agent's command line, as data over engine/exec: how a session begins and
// continues, the permitted environment, the meaning of output lines, and how a lost session is
// reported. The host installs the agent; the adapter names the tested versions, and runs of another
// version get a warning.
//
// Each run has a separate home, so that runs share nothing, and neither see nor change the user's
// settings, logins and sessions (Options.Home). An agent's full-auto flags (Options.AutoArgs) are
// used only in auto mode. It gets its input on standard input, invisible to other users of the
// machine, and without a length limit unless its constructor states one. An agent that, according
// to its help, cannot resume a session is used as a resident process, if it supports that.
//
// Related packages: engine/exec runs the command lines; the folder docs/engines has a page for each
// agent.
package agents
