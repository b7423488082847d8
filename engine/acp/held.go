package acp

import "time"

// maxHeld is how many permission requests may wait behind the one that a person is asked about.
const maxHeld = 16

// held is a permission request that stays open while its run waits. It is guarded by agent.hear
// until a turn has taken it.
type held struct {
	request   envelope
	behind    []envelope // requests that came later; asked one after another
	prompting *prompting // which the request belongs to
	timer     *time.Timer
	expired   bool
}

// hold keeps the prompt and its request for the next turn, at most for Config.HoldPermission.
func (t *turn) hold(p *prompting) {
	a := t.agent
	a.hear.Lock()
	defer a.hear.Unlock()
	h := a.held
	h.prompting = p
	h.timer = time.AfterFunc(t.cfg.HoldPermission, func() {
		a.hear.Lock()
		defer a.hear.Unlock()
		if a.held == h {
			h.cancel(a)
		}
	})
}

// wait queues a request behind the one that is held.
func (h *held) wait(a *agent, e envelope) {
	if h.expired || len(h.behind) == maxHeld {
		a.decide(e, nil)
		return
	}
	h.behind = append(h.behind, e)
}

// cancel answers everything that is held as canceled.
func (h *held) cancel(a *agent) {
	if h.expired {
		return
	}
	h.expired = true
	_ = a.stop()
	for _, e := range append([]envelope{h.request}, h.behind...) {
		a.decide(e, nil)
	}
	h.behind = nil
}

// takeHeld hands the held request to the turn that goes on.
func (a *agent) takeHeld() *held {
	a.hear.Lock()
	defer a.hear.Unlock()
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
	case <-h.prompting.done:
		return false
	default:
		return !h.expired
	}
}

// dismiss cancels the held requests, and reports whether the agent has stopped.
func (h *held) dismiss(a *agent, grace time.Duration) bool {
	a.hear.Lock()
	h.cancel(a)
	a.hear.Unlock()
	return h.prompting.within(grace)
}

// answerHeld answers the held request with the decision, and continues its prompt. The queued
// requests come next.
func (t *turn) answerHeld(h *held, decided choice) error {
	t.removeOnce(decided)
	if err := t.store(); err != nil {
		return err
	}
	a := t.agent
	a.hear.Lock()
	t.speaking = true
	a.decide(h.request, &decided)
	for _, e := range h.behind {
		a.permission(t, e)
	}
	a.hear.Unlock()
	return t.awaitPrompt(h.prompting)
}

// removeOnce removes a decision that holds once from the state, just before it is applied.
func (t *turn) removeOnce(decided choice) {
	last := len(t.state.Grants) - 1
	if last >= 0 && !decided.lasts() && t.state.Grants[last].Choice == decided {
		t.state.Grants = t.state.Grants[:last]
	}
}
