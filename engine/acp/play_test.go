package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/enginetest/script"
)

// playing is a turn of the agent. It adds steps to the suite's:
//
//	permit JSON    asks for a permission, see wanted; the result is the final text, and in the file decisions
//	together JSON  asks for several permissions at once, and in the next turn in reverse order
//	later STEP     a step for the next input that has no steps
//	stop REASON    ends the turn with the stop reason
//	thought TEXT   sends a thought
//	plan TEXT      sends a plan
//	elsewhere TEXT sends a message of another session
//	update JSON    sends a session update unchanged
//	client METHOD  calls a method of the client; the final text is the result
type playing struct {
	agent     *agent
	session   sdk.SessionId
	inputs    []string
	artifacts string

	open     string // the beginning of the message under way
	tools    int
	output   json.RawMessage
	failure  string
	late     string
	canceled bool
	stop     sdk.StopReason
}

// wanted is a permission that the agent asks for.
type wanted struct {
	Title     string                 `json:"title"`
	Kind      sdk.ToolKind           `json:"kind"`
	RawInput  json.RawMessage        `json:"raw_input"`
	Path      string                 `json:"path"`
	Content   []sdk.ToolCallContent  `json:"content"`
	Options   []sdk.PermissionOption `json:"options"`
	Announce  bool                   `json:"announce"`  // a tool call has the parts that the request omits
	Then      *wanted                `json:"then"`      // what the agent requests next if refused
	Insistent bool                   `json:"insistent"` // continues if refused
	Late      string                 `json:"late"`      // what it says when it is canceled
}

// used is the usage reported at each prompt's end.
var used = sdk.Usage{InputTokens: 11, OutputTokens: 7, TotalTokens: 18}

func (p *playing) play(ctx context.Context, steps []script.Step) (sdk.PromptResponse, error) {
	for i, s := range steps {
		err := p.step(ctx, s)
		if p.canceled {
			return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled, Usage: &used}, p.plan(steps[i:])
		}
		if ctx.Err() != nil {
			return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled, Usage: &used}, nil
		}
		if err != nil {
			return sdk.PromptResponse{}, fmt.Errorf("%s: %w", s.Word, err)
		}
	}
	if p.failure != "" {
		return sdk.PromptResponse{}, sdk.NewInternalError(p.failure)
	}
	res := sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn, Usage: &used}
	if p.stop != "" {
		res.StopReason = p.stop
	}
	if p.output != nil {
		res.Meta = map[string]any{acp.OutputKey: p.output}
	}
	if p.late != "" {
		go p.chat(p.late)
	}
	return res, nil
}

// plan stores the steps after the permission for the person's answer.
func (p *playing) plan(rest []script.Step) error {
	m, err := recalled(string(p.session))
	if err != nil {
		return err
	}
	for i, s := range rest {
		var w wanted
		if i == 0 && json.Unmarshal([]byte(s.Rest), &w) == nil && w.Then != nil {
			body, err := json.Marshal(w.Then)
			if err != nil {
				return err
			}
			s.Rest = string(body)
		}
		m.Plan = append(m.Plan, s.Word+" "+s.Rest)
	}
	return remember(string(p.session), m)
}

// chat says something after the turn's end, and then makes the file.
func (p *playing) chat(name string) {
	p.agent.mu.Lock() // the turn's answer is on its way
	defer p.agent.mu.Unlock()
	if err := p.update(context.Background(), sdk.UpdateAgentMessageText("pay no attention")); err == nil {
		_ = makeFile(p.artifacts, name, "")
	}
}

func (p *playing) update(ctx context.Context, u sdk.SessionUpdate) error {
	return p.agent.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: p.session, Update: u})
}

// sendMessage sends a message, or a piece of one; a tool call separates two messages.
func (p *playing) sendMessage(ctx context.Context, how, text string) error {
	if p.open != "" && (p.open != "piece" || how != "piece") {
		p.tools++
		id := sdk.ToolCallId("tool-" + strconv.Itoa(p.tools))
		if err := p.update(ctx, sdk.StartToolCall(id, "look", sdk.WithStartKind(sdk.ToolKindRead))); err != nil {
			return err
		}
	}
	p.open = how
	return p.update(ctx, sdk.UpdateAgentMessageText(text))
}

func (p *playing) step(ctx context.Context, s script.Step) error {
	switch s.Word {
	case "say":
		return p.sendMessage(ctx, "message", s.Rest)
	case "delta":
		return p.sendMessage(ctx, "piece", s.Rest)
	case "final":
		return p.sendMessage(ctx, "message", s.Rest)
	case "done":
		return p.sendMessage(ctx, "message", s.Rest+"\n"+script.DoneMarker+"\n")
	case "ask":
		return p.sendMessage(ctx, "message", script.Ask(s.Rest))
	case "recall":
		return p.sendMessage(ctx, "message", script.Recall(p.inputs))
	case "output":
		p.output = json.RawMessage(s.Rest)
	case "note":
	case "in":
		p.artifacts = s.Rest
	case "fail":
		p.failure = s.Rest
	case "stop":
		p.stop = sdk.StopReason(s.Rest)
	case "touch":
		return makeFile(p.artifacts, s.Rest, "")
	case "await":
		return p.await(ctx, s.Rest)
	case "hang":
		return p.await(ctx, "a file that nobody makes")
	case "flood":
		n, err := strconv.Atoi(s.Rest)
		for i := range n {
			if err := p.sendMessage(ctx, "message", "wave "+strconv.Itoa(i)+" "+strings.Repeat("~", 80)); err != nil {
				return err
			}
		}
		return err
	case "tool":
		p.tools++
		id, said := sdk.ToolCallId("tool-"+strconv.Itoa(p.tools)), sdk.ToolContent(sdk.TextBlock(s.Rest))
		err := p.update(ctx, sdk.StartToolCall(id, s.Rest))
		return errors.Join(err, p.update(ctx, sdk.UpdateToolCall(id, sdk.WithUpdateContent([]sdk.ToolCallContent{said}),
			sdk.WithUpdateRawOutput(s.Rest))))
	case "thought":
		return p.update(ctx, sdk.UpdateAgentThoughtText(s.Rest))
	case "plan":
		return p.update(ctx, sdk.UpdatePlan(sdk.PlanEntry{Content: s.Rest, Priority: sdk.PlanEntryPriorityLow,
			Status: sdk.PlanEntryStatusPending}))
	case "elsewhere":
		return p.agent.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: "another",
			Update: sdk.UpdateAgentMessageText(s.Rest)})
	case "client":
		_, err := p.agent.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: p.session, Path: s.Rest})
		return p.sendMessage(ctx, "message", fmt.Sprint(err))
	case "update":
		_, err := fmt.Fprintf(p.agent.out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`+
			"\n", p.session, s.Rest)
		return err
	case "later":
		m, err := recalled(string(p.session))
		m.Plan = append(m.Plan, s.Rest)
		return errors.Join(err, remember(string(p.session), m))
	case "together":
		return p.together(ctx, s.Rest)
	case "permit":
		return p.permit(ctx, s.Rest)
	default:
		return p.act(s)
	}
	return nil
}

func (p *playing) together(ctx context.Context, text string) error {
	var all []wanted
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return err
	}
	if len(p.inputs) > 1 {
		slices.Reverse(all)
	}
	decisions, failures := make([]string, len(all)), make([]error, len(all))
	var asking sync.WaitGroup
	for i, w := range all {
		p.tools++
		call := p.newCall()
		asking.Go(func() { decisions[i], failures[i] = p.request(ctx, w, call) })
	}
	asking.Wait()
	err := errors.Join(failures...)
	for i, w := range all {
		said := w.Title + ": " + decisions[i]
		err = errors.Join(err, noted(filepath.Join(p.artifacts, "decisions"), said))
		if p.canceled = p.canceled || decisions[i] == "canceled"; !p.canceled {
			err = errors.Join(err, p.sendMessage(ctx, "message", said))
		}
	}
	return err
}

func (p *playing) newCall() sdk.ToolCallUpdate {
	return sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId("tool-" + strconv.Itoa(p.tools) + "-" +
		strconv.Itoa(len(p.inputs)))}
}

func (p *playing) permit(ctx context.Context, text string) error {
	var w wanted
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	p.tools++
	decision, err := p.request(ctx, w, p.newCall())
	if err != nil {
		return err
	}
	if err := noted(filepath.Join(p.artifacts, "decisions"), w.Title+": "+decision); err != nil {
		return err
	}
	if decision == "canceled" && !w.Insistent {
		p.canceled = true
		if w.Late != "" {
			return p.update(context.WithoutCancel(ctx), sdk.UpdateAgentMessageText(w.Late))
		}
		return nil
	}
	return p.sendMessage(ctx, "message", w.Title+": "+decision)
}

// request requests a permission for the call, and returns the decision.
func (p *playing) request(ctx context.Context, w wanted, call sdk.ToolCallUpdate) (string, error) {
	var input any
	if w.RawInput != nil {
		input = w.RawInput
	}
	if w.Announce {
		start := sdk.StartToolCall(call.ToolCallId, w.Title, sdk.WithStartKind(w.Kind), sdk.WithStartRawInput(input))
		if err := p.update(ctx, start); err != nil {
			return "", err
		}
	} else {
		call.Title, call.Kind, call.RawInput = &w.Title, &w.Kind, input
	}
	if w.Path != "" {
		call.Locations = []sdk.ToolCallLocation{{Path: w.Path}}
	}
	call.Content = w.Content
	res, err := p.agent.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{SessionId: p.session, ToolCall: call,
		Options: w.Options})
	if err == nil && res.Outcome.Selected != nil {
		return string(res.Outcome.Selected.OptionId), nil
	}
	return "canceled", nil
}

func noted(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// await waits until the file exists. It polls, since not every system reports new files.
func (p *playing) await(ctx context.Context, name string) error {
	look := time.NewTicker(pause)
	defer look.Stop()
	for {
		if _, err := os.Stat(filepath.Join(p.artifacts, name)); err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// The suite writes raw lines in its own program's format; these are the same in this protocol.
const suiteFinal = `{"type":"final","text":"`

func (p *playing) raw(text string) error {
	if rest, ok := strings.CutPrefix(text, suiteFinal); ok {
		text = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + string(p.session) +
			`","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + rest
	}
	if rest, ok := strings.CutSuffix(text, "\"}\n"); ok {
		text = rest + "\"}}}}\n"
	}
	_, err := p.agent.out.Write([]byte(text))
	return err
}

// act performs a step that only a process has.
func (p *playing) act(s script.Step) error {
	switch s.Word {
	case "ignoreterm":
		signal.Ignore(syscall.SIGTERM)
	case "pid":
		return makeFile(p.artifacts, s.Rest, strconv.Itoa(os.Getpid()))
	case "temporary":
		return enginetest.LeaveTemporary(p.artifacts, s.Rest)
	case "spawn", "detach":
		return p.spawn(s.Rest, s.Word == "detach")
	case "exit":
		n, err := strconv.Atoi(s.Rest)
		if err != nil {
			return err
		}
		os.Exit(n)
	case "crash":
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err == nil {
			select {} // until the signal arrives
		}
		return err
	case "late":
		p.late = s.Rest
	case "stderr":
		fmt.Fprintln(os.Stderr, s.Rest)
	case "raw":
		return p.raw(s.Rest)
	case "long":
		n, err := strconv.Atoi(s.Rest)
		if err == nil {
			_, err = p.agent.out.Write([]byte(strings.Repeat("x", n) + "\n"))
		}
		return err
	case "args":
		body, err := json.Marshal(map[string][]string{"args": os.Args[1:], "env": os.Environ()})
		if err != nil {
			return err
		}
		return p.sendMessage(context.Background(), "message", string(body))
	default:
		return errors.New("the agent does not know this step")
	}
	return nil
}

func (p *playing) spawn(name string, leaves bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append(enginetest.Args("", p.artifacts, "", false), "-linger="+name)...)
	if leaves {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		leave(cmd)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return p.await(context.Background(), name)
}
