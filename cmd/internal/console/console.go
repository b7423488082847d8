// Package console has the verbs of interlude for people who answer questions and for those
// who look after runs. Each verb is one call of a lifecycle.Client over the database that -db
// names, so the client decides what the verb may do and who wins, as for every front end. A person
// who has the database may do what the host may; only their audience may answer questions that have
// one.
//
// A verb prints for people, or with -json an object a line: those of the HTTP API (package
// host/web). Whatever agents and people have written is made safe for the terminal.
package console

import "github.com/interlude-go/interlude/cmd/internal/command"

// Verbs are the verbs.
func Verbs() []command.Verb {
	return []command.Verb{
		inboxVerb, runsVerb, showVerb, replyVerb, eventsVerb, cancelVerb, resumeVerb, forkVerb,
		statsVerb, poolsVerb, nodesVerb, doctorVerb, migrateVerb, backupVerb, restoreVerb, checkVerb,
	}
}
