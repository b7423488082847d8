package acp

import "time"

const maxQueued = 16

// waitingRequest is a permission request that stays open while its run waits. It is guarded by
// agent.handling until a turn has detached it.
type waitingRequest struct {
	request envelope
	queued  []envelope  // later requests; a person is asked about one at a time
	prompt  *promptCall // to which the request belongs
	timer   *time.Timer
	expired bool
}

// keepWaiting keeps the prompt and its permission request open for the next turn, at most for
// Config.PermissionWait.
func (t *turn) keepWaiting(p *promptCall) {
	a := t.agent
	a.handling.Lock()
	defer a.handling.Unlock()
	h := a.waiting
	h.prompt = p
	h.timer = time.AfterFunc(t.cfg.PermissionWait, func() {
		a.handling.Lock()
		defer a.handling.Unlock()
		if a.waiting == h {
			h.cancel(a)
		}
	})
}

func (h *waitingRequest) enqueue(a *agent, e envelope) {
	if h.expired || len(h.queued) == maxQueued {
		a.answerPermission(e, nil)
		return
	}
	h.queued = append(h.queued, e)
}

func (h *waitingRequest) cancel(a *agent) {
	if h.expired {
		return
	}
	h.expired = true
	_ = a.stop()
	for _, e := range append([]envelope{h.request}, h.queued...) {
		a.answerPermission(e, nil)
	}
	h.queued = nil
}

func (a *agent) detachWaiting() *waitingRequest {
	a.handling.Lock()
	defer a.handling.Unlock()
	h := a.waiting
	a.waiting = nil
	if h != nil {
		h.timer.Stop()
	}
	return h
}

func (h *waitingRequest) open() bool {
	select {
	case <-h.prompt.done:
		return false
	default:
		return !h.expired
	}
}

// dismiss answers the waiting requests as canceled, and reports whether the agent then ended its
// prompt within the grace.
func (h *waitingRequest) dismiss(a *agent, grace time.Duration) bool {
	a.handling.Lock()
	h.cancel(a)
	a.handling.Unlock()
	return h.prompt.endsWithin(grace)
}

// answerWaiting answers the waiting request with the decision, and continues its prompt. The queued
// requests come next.
func (t *turn) answerWaiting(h *waitingRequest, decided choice) error {
	t.removeOnce(decided)
	if err := t.store(); err != nil {
		return err
	}
	a := t.agent
	a.handling.Lock()
	t.live = true
	a.answerPermission(h.request, &decided)
	for _, e := range h.queued {
		a.handlePermission(t, e)
	}
	a.handling.Unlock()
	return t.awaitPrompt(h.prompt)
}

// removeOnce removes a decision that holds once from the state, just before it is applied.
func (t *turn) removeOnce(decided choice) {
	last := len(t.state.Grants) - 1
	if last >= 0 && !decided.isAlways() && t.state.Grants[last].Choice == decided {
		t.state.Grants = t.state.Grants[:last]
	}
}
