package web

import (
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// This file is for programs that show runs in the JSON of the API without HTTP, such as the command
// line.

// ShowRun is the run as the API shows it to the actor at this time, which should be
// the client's (Client.Now).
func ShowRun(r *lifecycle.Run, actor lifecycle.Actor, now time.Time) Run {
	return showRun(r, actor, now)
}

// ShowQuestion is the open question as the API shows it to the actor at this time, which should be
// the client's (Client.Now).
func ShowQuestion(q *lifecycle.InboxQuestion, actor lifecycle.Actor, now time.Time) OpenQuestion {
	return showInbox([]lifecycle.InboxQuestion{*q}, actor, now)[0]
}

// ShowRecord is the entry of a run's history as the API shows it to the actor at this time, which should be
// the client's (Client.Now).
func ShowRecord(r *lifecycle.Record, actor lifecycle.Actor, now time.Time) Record {
	return showRecord(r, actor, now)
}
