package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
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

// journal appends to a file. A line is one write, so that a note is kept even if the process is
// killed right after it.
type journal struct{ file *os.File }

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{f}, nil
}

// note writes a line. A node that cannot write its journal proves nothing, and panics.
func (j *journal) note(n note) {
	n.At = time.Now()
	line, err := json.Marshal(n)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Errorf("journal: %w", err))
	}
}

// readJournal reads the notes of a process. Its last line may be incomplete if the process was
// killed.
func readJournal(path string, process int) ([]note, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) { // the process was killed before it made the file
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []note
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		n := note{process: process}
		if err := json.Unmarshal(bytes.TrimSpace(line), &n); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all = append(all, n)
	}
}
