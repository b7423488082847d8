package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

// person returns the replies one by one: those on the command line, then the lines of standard
// input.
type person struct {
	lines chan string // closed after the last one
	err   error       // the read error; set before lines is closed
	shown bool        // on a terminal, which shows typed text
	ready int         // remaining replies of the command line; counted by the conversation
}

func newPerson(replies []string, in *os.File) *person {
	p := &person{lines: make(chan string), shown: terminal.Is(in), ready: len(replies)}
	go func() { // lives as long as the program, because a read from a terminal cannot be interrupted
		defer close(p.lines)
		for _, text := range replies {
			p.lines <- text
		}
		s := bufio.NewScanner(in)
		s.Buffer(nil, 2*lifecycle.MaxReplyText)
		for s.Scan() {
			p.lines <- s.Text()
		}
		if p.err = s.Err(); errors.Is(p.err, bufio.ErrTooLong) {
			p.err = fmt.Errorf("a line is longer than %d bytes, want a shorter reply", 2*lifecycle.MaxReplyText)
		}
	}()
	return p
}

func (p *person) types() bool { return p.shown && p.ready == 0 }

// consumeLine counts a used line, and reports whether the terminal already shows it.
func (p *person) consumeLine() bool {
	types := p.types()
	p.ready = max(0, p.ready-1)
	return types
}
