//go:build search

package protocols_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// bob answers in another front end.
func (d *desk) bob(reply lifecycle.Reply) {
	d.Helper()
	_, err := d.client.As(lifecycle.Actor{ID: "bob", Via: "web"}).Reply(d.Context(), d.newest().ID, reply)
	require.NoError(d, err)
}

// until waits until the newest run is in this state.
func (d *desk) until(done func(*lifecycle.Run) bool) {
	d.Helper()
	for run := d.newest(); !done(&run); run = d.newest() {
		require.NoError(d, d.Context().Err())
		cast.Pause(d.Context(), 20*time.Millisecond)
	}
}

func (d *desk) record(question int) lifecycle.Record {
	d.Helper()
	r, err := d.client.Question(d.Context(), d.newest().ID, question)
	require.NoError(d, err)
	return r
}

// idle requires that the page has made exactly this many requests, so no answer makes the page
// send its messages again without end.
func (p *process) idle(requests int) {
	p.Helper()
	p.order("show", nil)
	require.EqualValues(p, requests, p.next()["requests"])
}

// P4: useChat: two rounds of questions in the client's tool.
func TestP4UseChatAnswersRounds(t *testing.T) {
	p := newDesk(t, "ui").chat("c")
	require.Equal(t, "| ask_user:input-available", parts(p.do("send", object{"text": "rounds"})))
	end := p.do("output", object{"question": 1, "output": "red"})
	require.Equal(t, "| ask_user:output-available | ask_user:input-available", parts(end), "%v", end)
	end = p.do("output", object{"question": 2, "output": object{"answer": "yes"}})
	require.Equal(t, "| ask_user:output-available | ask_user:output-available | sure: yes", parts(end), "%v", end)
	require.Equal(t, "ada", p.record(2).Actor)
	p.idle(3)
	end = p.do("send", object{"text": "approve"}) // the chat's next run
	require.Equal(t, "| dynamic-tool:approval-requested", parts(end), "%v", end)
	end = p.do("deny", object{"question": 1, "reason": "too much"})
	require.Equal(t, lifecycle.Reject, p.record(1).Decision)
	require.Equal(t, "too much", p.record(1).Response)
	require.Contains(t, parts(end), "| dynamic-tool:output-denied | ", "%v", end)
	p.idle(5)
}

// P4: useChat: a message answers the only open question.
func TestP4UseChatAnswersByMessage(t *testing.T) {
	p := newDesk(t, "ui").chat("c")
	p.do("send", object{"text": "rounds"})
	end := p.do("send", object{"text": "red"})
	require.Equal(t, "| ask_user:output-available | ask_user:input-available", parts(end), "%v", end)
	require.Equal(t, "red", p.record(1).Response)
	p.order("show", nil)
	shown := p.next()
	require.Len(t, list(shown, "messages"), 4, "%v", shown)
	end = p.do("again", nil) // the same message
	require.Equal(t, "| ask_user:output-available | ask_user:input-available", parts(end), "%v", end)
	require.Empty(t, p.record(2).Resolution)
}

// P4: useChat: two questions at once, answered together, and one by one.
func TestP4UseChatAnswersTwoAtOnce(t *testing.T) {
	p := newDesk(t, "ui").chat("c")
	end := p.do("send", object{"text": "two"})
	require.Equal(t, "| ask_user:input-available dynamic-tool:approval-requested", parts(end), "%v", end)
	p.order("output", object{"question": 1, "output": "blue"}) // no request: the other is open
	end = p.do("approve", object{"question": 2})
	require.Equal(t, "| ask_user:output-available dynamic-tool:output-available | blue, "+approved, parts(end))
	p.idle(2)

	p.do("send", object{"text": "two"})
	p.order("approve", object{"question": 2})
	end = p.do("submit", nil) // a partial answer
	require.Equal(t, "| ask_user:input-available dynamic-tool:output-available", parts(end), "%v", end)
	require.Equal(t, lifecycle.Approve, p.record(2).Decision)
	require.Equal(t, lifecycle.StateWaitingUser, p.newest().State)
	end = p.do("output", object{"question": 1, "output": "red"})
	require.Equal(t, "| ask_user:output-available dynamic-tool:output-available | red, "+approved, parts(end))
	p.idle(5)
}

// P4: useChat: an approval with edits, and an invalid answer, which is asked again.
func TestP4UseChatEditsAndCorrects(t *testing.T) {
	p := newDesk(t, "ui").chat("c")
	p.do("send", object{"text": "approve"})
	end := p.do("output", object{"question": 1, "output": object{"decision": "yes"}})
	require.Equal(t, "| dynamic-tool:approval-requested", parts(end), "%v", end)
	require.Contains(t, end["error"], "The answer is invalid")
	end = p.do("output", object{"question": 1, "output": object{"approved": true, "editedArgs": object{"cents": 1}}})
	require.Contains(t, parts(end), "| dynamic-tool:output-available | ", "%v", end)
	require.Equal(t, lifecycle.Edit, p.record(1).Decision)
	require.JSONEq(t, `{"cents":1}`, string(p.record(1).Value))
	p.idle(3)
}

// P4: useChat: the host is killed while the person is asked, and while the agent works.
func TestP4UseChatOutlivesTheHost(t *testing.T) {
	d := newDesk(t, "ui")
	p := d.chat("c")
	p.do("send", object{"text": "approve"})
	d.kill()
	p.order("reload", nil)
	require.Equal(t, "| dynamic-tool:output-available | "+approved, parts(p.do("approve", object{"question": 1})))
	p.idle(2)

	p.order("send", object{"text": "work"})
	d.until(func(r *lifecycle.Run) bool { return r.State == lifecycle.StateRunning })
	d.kill()
	require.NotEmpty(t, p.next()["error"])
	end := p.do("resume", nil)
	require.Equal(t, "| working dynamic-tool:approval-requested", parts(end), "%v", end)
	p.order("forget", nil)
	end = p.do("resume", nil) // a page without its messages
	require.Equal(t, "| working dynamic-tool:approval-requested", parts(end), "%v", end)
	require.Contains(t, parts(p.do("approve", object{"question": 1})), approved)
}

// P2, P4: useChat: a stale second page, whose person decides otherwise.
func TestP4UseChatWithAStalePage(t *testing.T) {
	d := newDesk(t, "ui")
	first, second := d.chat("c"), d.chat("c")
	first.do("send", object{"text": "approve"})
	second.do("resume", nil)
	first.do("deny", object{"question": 1, "reason": "no"})
	end := second.do("approve", object{"question": 1})
	require.Contains(t, parts(end), "| dynamic-tool:output-denied | ", "%v", end)
	require.Equal(t, lifecycle.Reject, d.record(1).Decision)
	second.idle(2)
}

// P4: useChat: another front end answers.
func TestP4UseChatLearnsTheAnswerFromElsewhere(t *testing.T) {
	d := newDesk(t, "ui")
	p := d.chat("c")
	p.do("send", object{"text": "rounds"})
	d.bob(lifecycle.Reply{ID: 1, Text: "green"})
	d.until(func(r *lifecycle.Run) bool { return len(r.Open) > 0 && r.Open[0].ID == 2 })
	end := p.do("output", object{"question": 1, "output": "red"}) // too late
	require.Equal(t, "| ask_user:output-available | ask_user:input-available", parts(end), "%v", end)
	require.Equal(t, "green", list(end, "last")[1]["output"], "%v", end)
	require.Equal(t, "bob", d.record(1).Actor)
	require.Empty(t, d.record(2).Resolution)
	p.idle(2)
}

// P3, P4: useChat: the person has answered, and another person has not. The page waits, and does not
// send its messages again.
func TestP3UseChatWaitsForOthers(t *testing.T) {
	p := newDesk(t, "ui").chat("c")
	require.Equal(t, "| ask_user:input-available", parts(p.do("send", object{"text": "mixed"})))
	end := p.do("output", object{"question": 1, "output": "blue"})
	require.Equal(t, "other", end["reason"], "%v", end)
	state, _ := end["state"].(object)
	require.Contains(t, state["status"], "waits for bob")
	p.idle(2)
	p.bob(lifecycle.Reply{ID: 2, Decision: lifecycle.Approve})
	end = p.do("resume", nil)
	require.Equal(t, "| ask_user:output-available dynamic-tool:output-available | blue, "+approved, parts(end))
	p.idle(3)
}

// P4: HttpAgent: two rounds, two questions at once, partly answered, and a denial.
func TestP4HttpAgentAnswers(t *testing.T) {
	d := newDesk(t, "ui")
	p := d.thread("c")
	end := p.do("send", object{"text": "rounds"})
	require.Equal(t, "input_required", list(end, "interrupts")[0]["reason"], "%v", end)
	end = p.do("resume", object{"answers": object{"1": "red"}})
	require.Contains(t, list(end, "interrupts")[0]["message"], "Really red?")
	end = p.do("resume", object{"answers": object{"2": object{"answer": "yes"}}})
	require.Equal(t, "sure: yes", texts(end), "%v", end)
	require.Equal(t, "sure: yes", end["result"])

	end = p.do("send", object{"text": "two"})
	require.Len(t, list(end, "interrupts"), 2, "%v", end)
	end = p.do("resume", object{"answers": object{"2": object{"approved": true, "editedArgs": object{"cents": 1}}}})
	require.Len(t, list(end, "interrupts"), 1, "%v", end)
	require.Equal(t, lifecycle.Edit, d.record(2).Decision)
	end = p.do("resume", object{"answers": object{"1": "blue"}})
	require.Equal(t, "success", end["outcome"], "%v", end)

	p.do("send", object{"text": "approve"})
	end = p.do("resume", object{"answers": object{"1": object{"approved": false, "reason": "no"}}})
	require.Equal(t, "success", end["outcome"], "%v", end)
	require.Equal(t, lifecycle.Reject, d.record(1).Decision)
}

// P4: HttpAgent: the host is killed while the person is asked, and while the agent works.
func TestP4HttpAgentOutlivesTheHost(t *testing.T) {
	d := newDesk(t, "ui")
	p := d.thread("c")
	p.do("send", object{"text": "approve"})
	d.kill()
	end := p.do("resume", object{"answers": object{"1": object{"approved": true}}})
	require.Equal(t, approved, texts(end), "%v", end)
	p.order("send", object{"text": "work"})
	d.until(func(r *lifecycle.Run) bool { return r.State == lifecycle.StateRunning })
	d.kill()
	require.NotEmpty(t, p.next()["error"])
	end = p.do("reload", nil)
	require.Equal(t, "interrupt", end["outcome"], "%v", end)
	require.Equal(t, approved+" working", texts(end), "%v", end)
	end = p.do("forget", nil) // a page without messages and state gets the thread's messages
	require.Equal(t, "interrupt", end["outcome"], "%v", end)
	require.Equal(t, approved+" working", texts(end), "%v", end)
	var roles []any
	for _, m := range list(end, "messages") {
		roles = append(roles, m["role"])
	}
	require.Equal(t, []any{"assistant", "tool", "assistant", "assistant", "assistant"}, roles, "%v", end)
	end = p.do("resume", object{"answers": object{"1": object{"approved": true}}})
	require.Equal(t, approved+" working "+approved, texts(end), "%v", end)
}

// P2, P4: HttpAgent: a stale second page, an answer from elsewhere, and the same answer again.
func TestP4HttpAgentLearnsTheAnswerFromElsewhere(t *testing.T) {
	d := newDesk(t, "ui")
	first, second := d.thread("c"), d.thread("c")
	end := first.do("send", object{"text": "rounds"})
	id := list(end, "interrupts")[0]["id"]
	second.do("look", nil)
	end = first.do("resume", object{"answers": object{"1": "red"}})
	next := list(end, "interrupts")[0]["id"]
	end = second.do("resume", object{"answers": object{"1": "green"}})
	require.Equal(t, "RUN_ERROR SETTLED", end["end"].(string)+" "+end["code"].(string), "%v", end)
	end = second.do("resume", nil) // canceled: lists the questions that are still open
	require.Equal(t, next, list(end, "interrupts")[0]["id"], "%v", end)
	end = first.do("repeat", object{"id": id, "payload": "red"})
	require.NotEmpty(t, end["error"], "the client itself wants all interrupts to be addressed")
	d.bob(lifecycle.Reply{ID: 2, Text: "no"})
	end = second.do("resume", nil)
	require.Equal(t, "sure: no", texts(end), "%v", end)
	end = second.do("repeat", object{"id": id, "payload": "red"}) // by another page of ada: the same answer
	require.Equal(t, "success", end["outcome"], "%v", end)
	require.Equal(t, "red", d.record(1).Response)
}

// P5: both show one chat, and another person with its id gets another chat.
func TestP4BothShowOneChat(t *testing.T) {
	d := newDesk(t, "ui")
	d.chat("c").do("send", object{"text": "approve"})
	p := d.thread("c")
	p.do("look", nil)
	end := p.do("resume", object{"answers": object{"1": object{"approved": true}}})
	require.Equal(t, approved, texts(end), "%v", end)
	require.Equal(t, "agui", d.record(1).Via)
	q := d.execute("agui.mjs", "http://"+d.node.Address+"/agui", "c", "eve")
	require.Equal(t, "NOT_FOUND", q.do("look", nil)["code"])
}
