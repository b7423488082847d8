package stories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// agentStep is one thing that an agent does in a turn: a verb and its words.
type agentStep struct {
	verb  string
	words []string
	named map[string]string
}

// turnScript has an agent's steps in one turn. The last one ends the turn.
type turnScript []agentStep

// verbs lists the instructions for an agent, each with its maximal number of words and its options.
var verbs = map[string]struct {
	words int
	named []string
	ends  bool
}{
	"message": {words: 1, named: []string{"offset"}},
	"warn":    {words: 1},
	"handle":  {},
	"keep":    {words: 1},
	"work":    {words: 1},
	"uses":    {words: 1},
	"dies":    {},
	"ask": {words: 2, named: []string{"options", "policy", "handle", "output", "schema", "also", "tool", "arguments",
		"title", "risk", "wait", "to", "need", "rejects"}, ends: true},
	"asks": {words: 40, named: []string{"answers", "stop", "tools", "policy", "wait1", "wait2", "wait3", "to", "need",
		"rejects"},
		ends: true},
	"say":    {words: 1, named: []string{"handle"}, ends: true},
	"done":   {words: 1, named: []string{"handle", "offset"}, ends: true},
	"output": {words: 1, named: []string{"handle"}, ends: true},
	"fail":   {words: 2, named: []string{"text"}, ends: true},
	"error":  {words: 1, ends: true},
	"starts": {words: 1},
	"awaits": {words: 1, ends: true},
	"later":  {words: 1, named: []string{"after"}, ends: true},
	"killed": {words: 1, ends: true},
}

// readTurn reads a line of steps with semicolons between them.
func readTurn(line string) (turnScript, error) {
	words, err := split(line)
	if err != nil {
		return nil, err
	}
	var turn turnScript
	for len(words) > 0 {
		end := slices.Index(words, ";")
		if end < 0 {
			end = len(words)
		}
		s, err := readStep(words[:end])
		if err != nil {
			return nil, err
		}
		turn = append(turn, s)
		words = words[min(end+1, len(words)):]
	}
	for i, s := range turn {
		if last := i == len(turn)-1; verbs[s.verb].ends != last && (!last || s.verb != "work") {
			return nil, fmt.Errorf("a turn has one end, and nothing after it: %s", line)
		}
	}
	return turn, nil
}

func readStep(words []string) (agentStep, error) {
	if len(words) == 0 {
		return agentStep{}, fmt.Errorf("nothing stands between two semicolons")
	}
	s := agentStep{verb: words[0], named: make(map[string]string)}
	known, ok := verbs[s.verb]
	if !ok {
		return s, fmt.Errorf("no agent can %q", s.verb)
	}
	for _, w := range words[1:] {
		text, quoted := unquoted(w)
		key, value, named := strings.Cut(w, "=")
		switch {
		case quoted:
			s.words = append(s.words, text)
		case named && slices.Contains(known.named, key):
			value, _ = unquoted(value)
			s.named[key] = value
		default:
			s.words = append(s.words, w)
		}
	}
	if len(s.words) > known.words {
		return s, fmt.Errorf("%s takes %d words, and is given %q", s.verb, known.words, s.words)
	}
	return s, nil
}

// split splits a line at spaces outside of quotation marks; a semicolon is a separate word.
func split(line string) (words []string, _ error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		word := ""
		for line != "" && line[0] != ' ' {
			if line[0] != '"' && line[0] != '`' {
				word, line = word+line[:1], line[1:]
				continue
			}
			text, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("a quotation mark is not closed: %s", line)
			}
			word, line = word+text, line[len(text):]
		}
		if last := strings.TrimSuffix(word, ";"); last != word && last != "" {
			words = append(words, last, ";")
			continue
		}
		words = append(words, word)
	}
	return words, nil
}

func unquoted(word string) (string, bool) {
	text, err := strconv.Unquote(word)
	if err != nil {
		return word, false
	}
	return text, true
}

func (s agentStep) word(i int) string {
	if i < len(s.words) {
		return s.words[i]
	}
	return ""
}

func (s agentStep) question() interaction.Question {
	q := interaction.Question{Kind: interaction.OpenText, Prompt: s.word(0),
		DefaultPolicy: interaction.DecisionPolicy(s.named["policy"])}
	if len(s.words) == 2 {
		q.Kind, q.Prompt = interaction.Kind(s.words[0]), s.words[1]
	}
	if s.named["schema"] != "" && len(s.words) < 2 {
		q.Kind = "" // as the schema makes it
	}
	q.Wait, _ = readWait(s.named["wait"])
	q.To = audience(s.named["to"])
	q.Schema, q.AlsoText = raw(s.named["schema"]), s.named["also"] == "text"
	if tool := s.named["tool"]; tool != "" {
		q.Kind = interaction.Approval
		q.Subject = &interaction.Subject{Tool: tool, Arguments: raw(s.named["arguments"]), Title: s.named["title"],
			Risk: s.named["risk"]}
		s.needPeople(&q)
	}
	if all := s.named["options"]; all != "" {
		for _, o := range strings.Split(all, ",") {
			q.Options = append(q.Options, interaction.Option{Label: o, Value: o})
		}
	}
	return q
}

func (s agentStep) needPeople(q *interaction.Question) {
	for name, into := range map[string]*int8{"need": &q.Need, "rejects": &q.Rejects} {
		n, _ := strconv.ParseInt(s.named[name], 10, 8) // missing: one
		*into = int8(n)
	}
}

// audience parses an audience: people and groups as "NAME+NAME+@GROUP", everybody except one as
// "*-NAME", or just everybody.
func audience(text string) *interaction.Audience {
	if text == "" || text == "*" {
		return nil
	}
	if except, ok := strings.CutPrefix(text, "*-"); ok {
		return &interaction.Audience{Everybody: true, Except: []string{except}}
	}
	to := &interaction.Audience{}
	for name := range strings.SplitSeq(text, "+") {
		if group, ok := strings.CutPrefix(name, "@"); ok {
			to.Groups = append(to.Groups, group)
		} else {
			to.Users = append(to.Users, name)
		}
	}
	return to
}

// questions returns the questions of "asks PROMPT PROMPT", and their rule. Tools names in turn the
// tools of the approvals among them, "-" for other questions. To names likewise the audience of
// each.
func (s agentStep) questions() (all []interaction.Question, rule interaction.Rule) {
	tools, to := strings.Split(s.named["tools"], ","), strings.Split(s.named["to"], ",")
	for i, prompt := range s.words {
		q := interaction.Question{Kind: interaction.OpenText, Prompt: prompt,
			DefaultPolicy: interaction.DecisionPolicy(s.named["policy"])}
		if i < len(tools) && tools[i] != "" && tools[i] != "-" {
			q.Kind, q.Subject = interaction.Approval, &interaction.Subject{Tool: tools[i], Arguments: raw(`{}`)}
			s.needPeople(&q)
		}
		q.Wait, _ = readWait(s.named["wait"+strconv.Itoa(i+1)])
		if i < len(to) {
			q.To = audience(to[i])
		}
		all = append(all, q)
	}
	rule.Answers, _ = strconv.Atoi(s.named["answers"]) // missing: all
	rule.StopOnReject = s.named["stop"] == "reject"
	return all, rule
}

func (s agentStep) outcome() (engine.Outcome, error) {
	o := engine.Outcome{Process: engine.Process{Status: engine.OK}}
	switch s.verb {
	case "ask":
		o.Questions = []interaction.Question{s.question()}
		o.Output = raw(s.named["output"])
	case "asks":
		o.Questions, o.Rule = s.questions()
	case "say":
		o.FinalText = s.word(0)
	case "done":
		o.FinalText = s.word(0) + "\n" + interaction.DoneMarker + "\n"
		o.FinalRef = s.rawRef()
	case "output":
		o.Output = raw(s.word(0))
	case "fail":
		o.Process = engine.Process{Status: engine.Failed, Code: fsm.Code(s.word(0)), Detail: s.word(1)}
		o.FinalText = s.named["text"]
	case "killed":
		o.Process = engine.Process{Status: engine.Interrupted, Detail: s.word(0)}
	case "later":
		after, _ := time.ParseDuration(s.named["after"]) // missing: none
		return o, engine.Later(after, s.word(0))
	case "error":
		return o, fmt.Errorf("%s", s.word(0))
	}
	return o, nil
}

func (s agentStep) rawRef() *engine.RawRef {
	offset, err := strconv.ParseInt(s.named["offset"], 10, 64)
	if err != nil {
		return nil
	}
	return &engine.RawRef{File: "transcript", Offset: offset, Length: 1}
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
