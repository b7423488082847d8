package main

import (
	"bytes"
	"fmt"
	"strings"
)

// status is the result of trying a mutant, in the words of gremlins.
type status string

const (
	killed     status = "KILLED"
	lived      status = "LIVED"
	timedOut   status = "TIMED OUT"
	notCovered status = "NOT COVERED"
	notViable  status = "NOT VIABLE"
	runnable   status = "RUNNABLE" // not tried yet
)

// mutant is one change of one token.
type mutant struct {
	file         string // name within the package's folder
	line, column int    // from 1; the column in bytes
	kind         string // the mutator of gremlins
	status       status
	before       string // the line, trimmed
	after        string // the changed line, trimmed
	source       []byte // the whole changed file
}

// entry identifies the mutant in a list, which has no line numbers because they drift.
func (m mutant) entry() entry {
	return entry{file: m.file, kind: m.kind, before: m.before, after: m.after}
}

// swaps maps each mutator to its replacements of tokens. A token comes before its prefixes.
var swaps = map[string][][2]string{
	"ARITHMETIC_BASE":       {{"+", "-"}, {"-", "+"}, {"*", "/"}, {"/", "*"}, {"%", "*"}},
	"CONDITIONALS_BOUNDARY": {{">=", ">"}, {"<=", "<"}, {">", ">="}, {"<", "<="}},
	"CONDITIONALS_NEGATION": {{"==", "!="}, {"!=", "=="}, {">=", "<"}, {"<=", ">"}, {">", "<="}, {"<", ">="}},
	"INCREMENT_DECREMENT":   {{"++", "--"}, {"--", "++"}},
	"INVERT_ASSIGNMENTS":    {{"+=", "-="}, {"-=", "+="}, {"*=", "/="}, {"/=", "*="}, {"%=", "%="}},
	"INVERT_BITWISE":        {{"&^", "&"}, {"&", "|"}, {"|", "&"}, {"^", "&"}, {"<<", ">>"}, {">>", "<<"}},
	"INVERT_BWASSIGN": {{"&^=", "&="}, {"&=", "|="}, {"|=", "&="}, {"^=", "&="}, {"<<=", ">>="},
		{">>=", "<<="}},
	"INVERT_LOGICAL":   {{"&&", "||"}, {"||", "&&"}},
	"INVERT_LOOPCTRL":  {{"break", "continue"}, {"continue", "break"}},
	"INVERT_NEGATIVES": {{"-", "+"}},
	"REMOVE_SELF_ASSIGNMENTS": {{"&^=", "="}, {"<<=", "="}, {">>=", "="}, {"+=", "="}, {"-=", "="}, {"*=", "="},
		{"/=", "="}, {"%=", "="}, {"&=", "="}, {"|=", "="}, {"^=", "="}},
}

// apply applies the mutation to the text of its file, and sets the mutant's before, after and
// source.
func (m *mutant) apply(text []byte) error {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if m.line < 1 || m.line > len(lines) || m.column < 1 || m.column > len(lines[m.line-1]) {
		return fmt.Errorf("%s has no line %d with a column %d", m.file, m.line, m.column)
	}
	line := string(lines[m.line-1])
	head, tail := line[:m.column-1], line[m.column-1:]
	for _, swap := range swaps[m.kind] {
		if rest, ok := strings.CutPrefix(tail, swap[0]); ok {
			changed := head + swap[1] + rest
			m.before, m.after = strings.TrimSpace(line), strings.TrimSpace(changed)
			lines[m.line-1] = []byte(changed)
			m.source = bytes.Join(lines, nil)
			return nil
		}
	}
	return fmt.Errorf("%s:%d:%d: %s does not change %.10q", m.file, m.line, m.column, m.kind, tail)
}
