package process

import "time"

// TurnTimer calls a function when a turn takes too long, or when its agent is idle for too long. A
// nil TurnTimer has no limits.
type TurnTimer struct {
	turn, idle *time.Timer // nil: no limit
	idleLimit  time.Duration
}

// StartTurnTimer starts to measure a turn and its idle time. A limit of zero is none. exceeded gets
// what happened; idleness says what an idle agent is, "no output" for instance.
func StartTurnTimer(turn, idle time.Duration, idleness string, exceeded func(what string)) *TurnTimer {
	t := &TurnTimer{idleLimit: idle}
	if turn > 0 {
		t.turn = time.AfterFunc(turn, func() { exceeded("the turn exceeded its limit of " + turn.String()) })
	}
	if idle > 0 {
		t.idle = time.AfterFunc(idle, func() { exceeded(idleness + " for " + idle.String()) })
	}
	return t
}

// PauseIdle stops to measure the idle time: a slow store is not an idle agent.
func (t *TurnTimer) PauseIdle() {
	if t != nil && t.idle != nil {
		t.idle.Stop()
	}
}

// RestartIdle measures the idle time from now on.
func (t *TurnTimer) RestartIdle() {
	if t != nil && t.idle != nil {
		t.idle.Reset(t.idleLimit)
	}
}

// Stop ends all measuring.
func (t *TurnTimer) Stop() {
	t.PauseIdle()
	if t != nil && t.turn != nil {
		t.turn.Stop()
	}
}
