package web

import (
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// For programs that print runs as the API's JSON without HTTP, such as the command line.

// ShowRun returns the run as the API shows it to the actor. Pass the client's time (Client.Now).
func ShowRun(r *lifecycle.Run, actor lifecycle.Actor, now time.Time) Run {
	return showRun(r, actor, now)
}

// ShowQuestion returns the open question as the API shows it to the actor. Pass the client's time
// (Client.Now).
func ShowQuestion(q *lifecycle.InboxQuestion, actor lifecycle.Actor, now time.Time) OpenQuestion {
	return showInbox([]lifecycle.InboxQuestion{*q}, actor, now)[0]
}

// ShowRecord returns the entry of a run's history as the API shows it to the actor. Pass the
// client's time (Client.Now).
func ShowRecord(r *lifecycle.Record, actor lifecycle.Actor, now time.Time) Record {
	return showRecord(r, actor, now)
}
