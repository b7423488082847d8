// Package agent is the quickstart's agent: a small command-line program that plans a garden party
// and asks its host five questions, one a turn and one of each kind. It prints JSON lines and keeps
// its session in a file of its working folder, so that a new process can go on with it by its id;
// with -resident it stays and reads one JSON line a turn.
//
// It stands for any agent that is a command line; nothing of it knows the library.
package agent

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// session is what the agent remembers between turns.
type session struct {
	ID      string   `json:"id"`
	Answers []string `json:"answers"`
	Alone   []bool   `json:"alone"` // which of them nobody gave
}

// program is one process of the agent.
type program struct {
	out       *json.Encoder
	session   session
	file      string
	artifacts string
	alone     bool // auto mode: decide everything
}

// Main runs the agent and returns its exit status.
func Main(args []string, in io.Reader, out io.Writer) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	artifacts := flags.String("artifacts", ".", "folder for what is made")
	input := flags.String("input", "", "the task, or the answer to a question; - reads it from standard input")
	answers := flags.Int("answers", 0, "number of the question that the input answers; 0: it is the task")
	id := flags.String("session", "", "session to go on with")
	mode := flags.String("mode", "interactive", "auto decides everything alone")
	stays := flags.Bool("resident", false, "stay, and read {\"input\": …, \"answers\": …} lines")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	p := &program{out: json.NewEncoder(out), file: "session.json", artifacts: *artifacts, alone: *mode == "auto"}
	if err := p.open(*id); err != nil {
		p.print("lost", "text", err.Error())
		return 1
	}
	p.print("session", "session_id", p.session.ID)
	if *input == "-" { // an argument is too short for a long answer
		text, err := io.ReadAll(in)
		if err != nil {
			fmt.Fprintln(os.Stderr, "agent: input:", err)
			return 1
		}
		*input = string(text)
	}
	if !*stays {
		return p.turn(*input, *answers)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var line struct {
			Input   string `json:"input"`
			Answers int    `json:"answers"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			fmt.Fprintln(os.Stderr, "agent: input:", err)
			return 1
		}
		if status := p.turn(line.Input, line.Answers); status != 0 {
			return status
		}
		p.print("turn_end", "text", "")
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "agent: input:", err)
		return 1
	}
	return 0
}

// maxLine is the longest line that is read: JSON makes a long answer up to six times longer.
const maxLine = 8 << 20

// open begins a session, or goes on with the one of the id.
func (p *program) open(id string) error {
	if id == "" {
		p.session = session{ID: "party-" + strings.ToLower(rand.Text()[:8])}
		return nil
	}
	body, err := os.ReadFile(p.file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &p.session); err != nil {
		return err
	}
	if p.session.ID != id {
		return errors.New("no session " + id)
	}
	if n := len(p.session.Answers); n > len(questions) || n != len(p.session.Alone) {
		return errors.New("session " + id + " is damaged")
	}
	return nil
}

// turn takes the input and ends with a question or the result. A turn may come again when its end
// was not noticed, so an answer goes to the question that it names, and takes back what came after.
func (p *program) turn(input string, answers int) int {
	if answers < 0 || answers > len(p.session.Answers)+1 || answers > len(questions) {
		fmt.Fprintln(os.Stderr, "agent: nobody asked question", answers)
		return 1
	}
	known := max(answers-1, 0)
	p.session.Answers, p.session.Alone = p.session.Answers[:known], p.session.Alone[:known]
	if answers > 0 {
		p.take(input)
	}
	for p.alone && len(p.session.Answers) < len(questions) {
		p.take(alone)
	}
	n := len(p.session.Answers)
	if n < len(questions) {
		p.print("message", "text", fmt.Sprintf("Planning the party: question %d of %d.", n+1, len(questions)))
		p.print("final", "text", questions[n].text)
	} else if err := p.finish(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	body, err := json.Marshal(p.session)
	if err == nil {
		err = os.WriteFile(p.file+".new", body, 0o600)
	}
	if err == nil {
		err = os.Rename(p.file+".new", p.file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return 0
}

// alone begins what the agent is told when nobody answers.
const alone = "The user did not respond"

// take notes an answer; where nobody gave one, the agent's own choice.
func (p *program) take(input string) {
	q := questions[len(p.session.Answers)]
	answer := strings.TrimSpace(input)
	nobody := answer == "" || strings.HasPrefix(answer, alone)
	if nobody {
		answer = q.own
	}
	p.session.Answers, p.session.Alone = append(p.session.Answers, answer), append(p.session.Alone, nobody)
}

// result is the output, as the skill's schema wants it.
type result struct {
	Place        string `json:"place"`
	Music        bool   `json:"music"`
	Details      string `json:"details"`
	Wish         string `json:"wish"`
	Risk         string `json:"risk"`
	DecidedAlone int    `json:"decided_alone"`
	Artifact     string `json:"artifact"`
}

// finish writes the plan and hands the result over.
func (p *program) finish() error {
	a := p.session.Answers
	r := result{
		Place: a[0], Music: yes(a[1]), Details: a[2], Wish: a[3], Risk: "tent",
		Artifact: filepath.Join(p.artifacts, "plan.md"),
	}
	for _, nobody := range p.session.Alone {
		if nobody {
			r.DecidedAlone++
		}
	}
	if yes(a[4]) {
		r.Risk = "accepted"
	}
	plan := fmt.Sprintf("# Garden party\n\n- Place: %s\n- Live music: %t\n- %s\n- Not to be missed: %s\n- Rain: %s\n",
		r.Place, r.Music, r.Details, r.Wish, r.Risk)
	if err := os.WriteFile(r.Artifact, []byte(plan), 0o600); err != nil {
		return err
	}
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	p.print("final", "text", "The plan stands.\n\n```json\n"+string(body)+"\n```\n\n__SKILL_DONE__\n")
	return nil
}

func (p *program) print(kind, field, text string) {
	_ = p.out.Encode(map[string]string{"type": kind, field: text}) // whoever reads is gone: the next write tells
}
