package main

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
)

// The kinds of notes of a node. Notes are evidence that does not come from the store: the checks
// compare the two.
const (
	noteJoin     = "join"     // the process is Node from now on
	noteLost     = "lost"     // the store said that the node's lease is lost
	noteLate     = "late"     // the lease was renewed, for the first time Since then
	noteClaim    = "claim"    // the node is about to start the Attempt of Run under Epoch
	noteBegin    = "begin"    // its agent began the Attempt, with the answer
	noteEnd      = "end"      // its agent ended it, with the Outcome
	noteRefused  = "refused"  // a stale write was tried again, and refused
	noteAccepted = "accepted" // a stale write was accepted, which must never happen
	noteOdd      = "odd"      // a stale write was refused, but not because it was stale
)

// note is a line of a node's journal.
type note struct {
	At      time.Time `json:"at"`
	What    string    `json:"what"`
	Node    string    `json:"node,omitempty"`
	Run     string    `json:"run,omitempty"`
	Epoch   uint64    `json:"epoch,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Answer  int       `json:"answer,omitempty"` // the interaction that it answers
	Text    string    `json:"text,omitempty"`   // the text of the answer, or of an error
	Outcome string    `json:"outcome,omitempty"`

	Since *time.Time `json:"since,omitempty"`

	process int // the process whose journal has the note; not written
}

// The outcomes of a turn, from the agent's point of view.
const (
	asked       = "asked"
	finished    = "finished"
	failed      = "failed"
	interrupted = "interrupted" // the library canceled it
)

// journal is the journal of a node.
type journal struct{ *cast.Journal[note] }

func openJournal(path string) (*journal, error) {
	j, err := cast.OpenJournal[note](path)
	return &journal{j}, err
}

// note adds a note. A node that cannot write its journal proves nothing, and panics.
func (j *journal) note(n note) {
	n.At = time.Now()
	if err := j.Add(n); err != nil {
		panic(fmt.Errorf("journal: %w", err))
	}
}

// readJournal reads the notes of a process.
func readJournal(path string, process int) ([]note, error) {
	all, err := cast.ReadJournal[note](path)
	for i := range all {
		all[i].process = process
	}
	return all, err
}
