package acp

import "time"

// maxQueued is the number of permission requests that may wait behind the one being asked.
const maxQueued = 16

// held is a permission request that stays open while its run waits. It is guarded by agent.handling
// until a turn has detached it.
type held struct {
	request envelope
	queued  []envelope  // requests that came later; a person is asked about one at a time
	prompt  *promptCall // to which the request belongs
	timer   *time.Timer
	expired bool
}

// hold keeps the prompt and its permission request open for the next turn, at most for
// Config.HoldPermission.
func (t *turn) hold(p *promptCall) {
	a := t.agent
	a.handling.Lock()
	defer a.handling.Unlock()
	h := a.held
	h.prompt = p
	h.timer = time.AfterFunc(t.cfg.HoldPermission, func() {
		a.handling.Lock()
		defer a.handling.Unlock()
		if a.held == h {
			h.cancel(a)
		}
	})
}

// enqueue queues a request behind the held one.
func (h *held) enqueue(a *agent, e envelope) {
	if h.expired || len(h.queued) == maxQueued {
		a.answerPermission(e, nil)
		return
	}
	h.queued = append(h.queued, e)
}

// cancel answers everything that is held as canceled.
func (h *held) cancel(a *agent) {
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

// detachHeld passes the held request to the continuing turn; nil if there is none.
func (a *agent) detachHeld() *held {
	a.handling.Lock()
	defer a.handling.Unlock()
	h := a.held
	a.held = nil
	if h != nil {
		h.timer.Stop()
	}
	return h
}

// open reports whether the request still waits for its answer.
func (h *held) open() bool {
	select {
	case <-h.prompt.done:
		return false
	default:
		return !h.expired
	}
}

// dismiss answers the held permission requests as canceled. It reports whether the agent then ended
// its prompt within the grace.
func (h *held) dismiss(a *agent, grace time.Duration) bool {
	a.handling.Lock()
	h.cancel(a)
	a.handling.Unlock()
	return h.prompt.endsWithin(grace)
}

// answerHeld answers the held request with the decision, and continues its prompt. The queued
// requests come next.
func (t *turn) answerHeld(h *held, decided choice) error {
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
