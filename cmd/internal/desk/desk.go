// Package desk has the verbs of the program interlude for people who answer questions and for those
// who look after runs. Each verb is one call of a lifecycle.Client over the database that -db
// names, so what it may do, and who wins, is decided where it is decided for every other door. A
// person who has the database may do what the host may; questions that are for certain people are
// still theirs alone.
//
// A verb prints for people, or with -json an object a line: those of the HTTP API (package
// host/web). Whatever agents and people have written is made safe for the terminal.
package desk

import "github.com/interlude-go/interlude/cmd/internal/command"

// Verbs are the verbs.
func Verbs() []command.Verb {
	return []command.Verb{
		inboxVerb, runsVerb, showVerb, replyVerb, eventsVerb, cancelVerb, resumeVerb, forkVerb,
		statsVerb, poolsVerb, nodesVerb, doctorVerb, migrateVerb, backupVerb, restoreVerb, checkVerb,
	}
}
