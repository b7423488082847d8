package web

import "github.com/interlude-go/interlude/lifecycle"

// This file is for programs that show runs in the JSON of the API without HTTP, such as the command
// line.

// ShowRun is the run as the API shows it to the actor now.
func ShowRun(r *lifecycle.Run, actor lifecycle.Actor) Run { return showRun(r, actor, now()) }

// ShowQuestion is the open question as the API shows it to the actor now.
func ShowQuestion(q *lifecycle.InboxQuestion, actor lifecycle.Actor) OpenQuestion {
	return showInbox([]lifecycle.InboxQuestion{*q}, actor, now())[0]
}

// ShowRecord is the entry of a run's history as the API shows it to the actor now.
func ShowRecord(r *lifecycle.Record, actor lifecycle.Actor) Record {
	return showRecord(r, actor, now())
}
