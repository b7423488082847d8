package modelagent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlude-go/interlude/engine/internal/agentmain"
	"github.com/interlude-go/interlude/engine/modeltest"
)

const agentName agentmain.Name = "modelagent"

// IsProgram reports whether this process was started as the agent.
func IsProgram() bool { return agentName.IsProgram() }

func Args(api modeltest.API, url, input, session string, resident bool) []string {
	return agentName.Args(resident, "-api="+string(api), "-url="+url, "-input="+input, "-session="+session)
}

type program struct {
	api     modeltest.API
	url     string
	id      string
	session []Entry
}

// Main is the agent as a program. It prints one JSON object per line, with a type and its members:
// session (id), lost, message, tool, final, failure (text) and turn_end. Sessions are files in its
// working folder.
func Main() int {
	flags := flag.NewFlagSet(string(agentName), flag.ContinueOnError)
	api := flags.String("api", "", "protocol of the model")
	url := flags.String("url", "", "where the model is")
	input := flags.String("input", "", "what the agent is told")
	session := flags.String("session", "", "session to go on with")
	stays := flags.Bool("resident", false, "read one {\"input\": …} a line")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), agentmain.Lifetime)
	defer cancel()
	p := &program{api: modeltest.API(*api), url: *url, id: *session}
	if p.id == "" {
		p.id = strings.ToLower(rand.Text())
	} else if err := p.resume(); err != nil {
		p.print("lost", err.Error())
		return 1
	}
	return agentmain.Serve(*stays, *input, func(input string) int { return p.turn(ctx, input) })
}

func (p *program) file() string { return ".session-" + filepath.Base(p.id) }

func (p *program) resume() error {
	body, err := os.ReadFile(p.file())
	if err != nil {
		return err
	}
	return json.Unmarshal(body, &p.session)
}

func (p *program) remember(e Entry) error {
	p.session = append(p.session, e)
	body, err := json.Marshal(p.session)
	if err == nil {
		err = os.WriteFile(p.file()+".new", body, 0o600)
	}
	if err == nil {
		err = os.Rename(p.file()+".new", p.file())
	}
	return err
}

// turn takes the input and asks the model until it calls no tool.
func (p *program) turn(ctx context.Context, input string) int {
	err := p.remember(Entry{Role: modeltest.User, Text: input})
	p.print("session", p.id)
	for err == nil {
		var a Answer
		if a, err = Ask(ctx, Question{API: p.api, URL: p.url, Session: p.session, Stream: true}); err != nil {
			break
		}
		if a.Text != "" {
			err = p.remember(Entry{Role: modeltest.Assistant, Text: a.Text})
		}
		if a.Call == nil {
			p.print("final", a.Text)
			p.print("turn_end", "")
			break
		}
		if a.Text != "" {
			p.print("message", a.Text)
		}
		said, _ := strings.CutPrefix(a.Call.Text, "echo ")
		p.print("tool", said)
		if err == nil {
			err = p.remember(*a.Call)
		}
		if err == nil {
			err = p.remember(Entry{Role: modeltest.ToolResult, Text: said, ID: a.Call.ID})
		}
	}
	if err != nil {
		p.print("failure", err.Error())
		p.print("turn_end", "")
	}
	return 0
}

func (*program) print(kind, text string) {
	line, err := json.Marshal(map[string]string{"type": kind, "text": text})
	if err == nil {
		_, _ = os.Stdout.Write(append(line, '\n')) // no reader: the engine ends this process
	}
}
