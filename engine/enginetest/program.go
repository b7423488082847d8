package enginetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/interlude-go/interlude/engine/enginetest/script"
	"github.com/interlude-go/interlude/engine/internal/agentmain"
)

const agentName agentmain.Name = "enginetest-agent"

// IsProgram reports whether this process was started as the agent. A test binary asks in TestMain,
// and then calls Main:
//
//	func TestMain(m *testing.M) {
//		if enginetest.IsProgram() {
//			os.Exit(enginetest.Main())
//		}
//		os.Exit(m.Run())
//	}
func IsProgram() bool { return agentName.IsProgram() }

// Args returns the arguments of the agent's program, with placeholders for the input, the artifact
// folder and the session, if any. A resident program reads {"input": …} lines instead.
func Args(input, artifacts, session string, resident bool) []string {
	flags := []string{"-input=" + input, "-artifacts=" + artifacts}
	if session != "" {
		flags = append(flags, "-session="+session)
	}
	return agentName.Args(resident, flags...)
}

type program struct {
	out       *bufio.Writer
	session   string
	artifacts string
	grown     [][]byte
	late      string // created after a late final text
}

// Main is the agent as a program. It prints one JSON object per line, with a type and its members:
// session (id), lost, message, tool, delta, final, failure (text), output (value), usage (input,
// output) and turn_end. Sessions are files in its working folder.
func Main() int {
	flags := flag.NewFlagSet(string(agentName), flag.ContinueOnError)
	input := flags.String("input", "", "the input of the agent")
	artifacts := flags.String("artifacts", ".", "folder for created files")
	session := flags.String("session", "", "session to continue")
	stays := flags.Bool("resident", false, "read one {\"input\": …} a line")
	lingers := flags.String("linger", "", "say nothing, ignore TERM, make this file, and never end")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return 2
	}
	if *lingers != "" {
		return linger(*artifacts, *lingers)
	}
	p := &program{out: bufio.NewWriter(os.Stdout), session: *session, artifacts: *artifacts}
	if p.session == "" {
		p.session = strings.ToLower(rand.Text())
	} else if _, err := os.Stat(p.memory()); err != nil {
		p.print("lost", "text", err.Error())
		fmt.Fprintln(os.Stderr, "agent: no such session")
		return 1
	}
	return agentmain.Serve(*stays, *input, p.turn)
}

func (p *program) memory() string { return ".session-" + filepath.Base(p.session) }

// turn stores the input and performs its steps.
func (p *program) turn(input string) int {
	p.print("session", "id", p.session)
	var inputs []string
	if body, err := os.ReadFile(p.memory()); err == nil {
		_ = json.Unmarshal(body, &inputs) // the program's own file
	}
	inputs = append(inputs, input)
	body, err := json.Marshal(inputs)
	if err == nil {
		err = touch(".", p.memory(), string(body))
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), agentmain.Lifetime)
		defer cancel()
		err = play(ctx, inputs, p.artifacts, p)
	}
	var ends exit
	if errors.As(err, &ends) {
		return int(ends)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	p.print("usage", "input", 11, "output", 7, "cost", 0.25)
	p.print("turn_end")
	if p.late != "" {
		p.print("final", "text", "pay no attention")
		p.print("turn_end")
		if err := touch(p.artifacts, p.late, ""); err != nil {
			return 1
		}
		p.late = ""
	}
	return 0
}

func (p *program) print(kind string, pairs ...any) {
	line := map[string]any{"type": kind}
	for i := 0; i < len(pairs); i += 2 {
		line[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	_ = json.NewEncoder(p.out).Encode(line) // if the reader is gone, the engine ends this process
	_ = p.out.Flush()
}

func (p *program) say(_ context.Context, text string) error {
	p.print("message", "text", text)
	return nil
}
func (p *program) delta(text string)           { p.print("delta", "text", text) }
func (p *program) final(text string)           { p.print("final", "text", text) }
func (p *program) output(body json.RawMessage) { p.print("output", "value", body) }
func (p *program) ask(question string)         { p.final(script.Ask(question)) }
func (p *program) do(ctx context.Context, name string, effect func(context.Context) error) error {
	return directly(ctx, name, effect)
}
func (p *program) fail(text string) error {
	p.print("failure", "text", text)
	return nil
}

type exit int

func (e exit) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// act performs a step that only a process has.
func (p *program) act(s Step) (bool, error) {
	switch s.Word {
	case "ignoreterm":
		signal.Ignore(syscall.SIGTERM)
	case "spawn", "detach":
		return true, p.spawn(s.Rest, s.Word == "detach")
	case "pid":
		return true, touch(p.artifacts, s.Rest, strconv.Itoa(os.Getpid()))
	case "temporary":
		return true, LeaveTemporary(p.artifacts, s.Rest)
	case "exit":
		n, err := strconv.Atoi(s.Rest)
		if err != nil {
			return true, err
		}
		return true, exit(n)
	case "crash":
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err == nil {
			select {} // until the signal arrives
		}
		return true, err
	case "late":
		p.late = s.Rest
	case "stderr":
		fmt.Fprintln(os.Stderr, s.Rest)
	case "tool":
		p.print("tool", "text", s.Rest)
	case "raw":
		_, _ = p.out.WriteString(s.Rest)
		_ = p.out.Flush()
	case "long":
		n, err := strconv.Atoi(s.Rest)
		if err != nil {
			return true, err
		}
		for ; n > 0; n -= 1 << 10 {
			_, _ = p.out.WriteString(strings.Repeat("x", min(n, 1<<10)))
		}
		_, _ = p.out.WriteString("\n")
		_ = p.out.Flush()
	case "grow":
		n, err := strconv.Atoi(s.Rest)
		if err != nil {
			return true, err
		}
		p.grown = append(p.grown, bytes.Repeat([]byte{1}, n))
	case "args":
		body, err := json.Marshal(map[string][]string{"args": os.Args[1:], "env": os.Environ()})
		if err != nil {
			return true, err
		}
		p.final(string(body))
	default:
		return false, nil
	}
	return true, nil
}

// spawn starts this program again as a lingering process.
func (p *program) spawn(name string, leaves bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, string(agentName), "-artifacts="+p.artifacts, "-linger="+name)
	if leaves {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		leave(cmd)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return script.AwaitFile(context.Background(), filepath.Join(p.artifacts, name))
}

// linger never ends; the file that it creates holds its process number.
func linger(dir, name string) int {
	signal.Ignore(syscall.SIGTERM)
	if err := touch(dir, name, strconv.Itoa(os.Getpid())); err != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), agentmain.Lifetime)
	defer cancel()
	_ = script.AwaitFile(ctx, filepath.Join(dir, "a file that nobody makes"))
	return 0
}
