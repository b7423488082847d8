// Package console has the verbs of interlude for people who answer questions, and for operators.
// Each verb is one call of a lifecycle.Client over the database of -db, which decides about
// permissions and conflicts. A person with access to the database has the host's rights, except
// that only its audience can answer a question.
//
// A verb prints text for people, or with -json one object per line in the JSON of the HTTP API
// (package host/web). Texts of agents and people are made safe for the terminal.
package console

import "github.com/interlude-go/interlude/cmd/internal/command"

// Verbs returns the verbs.
func Verbs() []command.Verb {
	return []command.Verb{
		inboxVerb, runsVerb, showVerb, replyVerb, eventsVerb, noteVerb, forgetVerb, cancelVerb, resumeVerb,
		forkVerb, statsVerb, poolsVerb, nodesVerb, doctorVerb, migrateVerb, backupVerb, restoreVerb,
		restoredVerb, checkVerb,
	}
}
