package protocols_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
)

// chat starts a page with useChat, and thread a page with HttpAgent. Both with the same id show the
// same chat.
func (d *desk) chat(id string) *process {
	d.Helper()
	return d.execute("chat.mjs", "http://"+d.node.Address+"/chat", id)
}

func (d *desk) thread(id string) *process {
	d.Helper()
	return d.execute("agui.mjs", "http://"+d.node.Address+"/agui", id)
}

// do makes a call of the page, and returns the end of the stream that follows.
func (p *process) do(what string, members object) object {
	p.Helper()
	p.order(what, members)
	return p.next()
}

// order makes a call that makes no request.
func (p *process) order(what string, members object) {
	p.Helper()
	command := object{"do": what}
	for k, v := range members {
		command[k] = v
	}
	p.write(command)
}

// list returns the objects in a member.
func list(o object, name string) (all []object) {
	items, _ := o[name].([]any)
	for _, item := range items {
		one, _ := item.(object)
		all = append(all, one)
	}
	return all
}

// parts returns the type and state of each part of the last message, and the texts.
func parts(end object) string {
	var all []string
	for _, p := range list(end, "last") {
		kind, _ := p["type"].(string)
		switch kind {
		case "step-start":
			kind = "|"
		case "text":
			kind, _ = p["text"].(string)
		default:
			state, _ := p["state"].(string)
			kind = strings.TrimPrefix(kind, "tool-") + ":" + state
		}
		all = append(all, kind)
	}
	return strings.Join(all, " ")
}

// texts returns the texts of AG-UI's messages of the assistant.
func texts(end object) string {
	var all []string
	for _, m := range list(end, "messages") {
		if text, _ := m["content"].(string); m["role"] == "assistant" && text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

// approved is the agent's text for an approval, with which it ends.
const approved = "Approved: go on with exactly what was proposed."

// P4: useChat of the AI SDK: an approval.
func TestP4UseChatApproves(t *testing.T) {
	d := newDesk(t, "ui")
	p := d.chat("c1")
	end := p.do("send", object{"text": "approve"})
	require.Equal(t, "| dynamic-tool:approval-requested", parts(end), "%v", end)
	end = p.do("approve", object{"question": 1})
	require.Equal(t, "| dynamic-tool:output-available | "+approved, parts(end), "%v", end)
	require.Equal(t, "stop", end["reason"])
	record, err := d.client.Question(t.Context(), d.newest().ID, 1)
	require.NoError(t, err)
	require.Equal(t, lifecycle.Approve, record.Decision)
	require.Equal(t, "ada by aisdk", record.Actor+" by "+record.Via)
	p.order("show", nil)
	require.EqualValues(t, 2, p.next()["requests"], "the page makes no further request")
}

// P4: HttpAgent of AG-UI: an approval.
func TestP4HttpAgentApproves(t *testing.T) {
	d := newDesk(t, "ui")
	p := d.thread("c1")
	end := p.do("send", object{"text": "approve"})
	require.Equal(t, "interrupt", end["outcome"], "%v", end)
	interrupt := list(end, "interrupts")[0]
	require.Equal(t, "tool_call", interrupt["reason"])
	end = p.do("resume", object{"answers": object{"1": object{"approved": true}}})
	require.Equal(t, "success", end["outcome"], "%v", end)
	require.Contains(t, texts(end), "Approved", "%v", end)
	record, err := d.client.Question(t.Context(), d.newest().ID, 1)
	require.NoError(t, err)
	require.Equal(t, lifecycle.Approve, record.Decision)
	require.Equal(t, "ada by agui", record.Actor+" by "+record.Via)
}
