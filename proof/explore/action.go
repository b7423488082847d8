package explore

import (
	"fmt"
	"strings"
)

// actionKind is the kind of a step.
type actionKind uint8

const (
	submits actionKind = iota
	deadlinePasses
	claimPasses
	rivalClaims
	rivalReleases

	readsToReply
	readsToReuseKey
	readsToReject
	readsToCancel
	commits // a command or upkeep commits its decision
	readsDeadline
	readsOrphan
	readsRefusedOrphan
	readsOrphanToHold
	readsToResume
	readsToGiveUp
	readsToExtend
	readsToClaim
	readsToRelease
	readsToReassign
	readsToNote
	noticesLostProcess

	claims
	claimsUnacknowledged
	acknowledged
	acknowledgementLost
	acknowledgedLate
	startsOwned
	finishes
	interrupted
	putsOff
	holds
	handsBack
	finishesDisconnected
	delivered
	undelivered
	checksOutcome
	resendsOutcome
	abandonsTurn
	dropsTurn
	settlesDroppedTurn

	lapses
	renews
	expires
	rejoins
	crashes
	restarts
	processDies
)

// actionTexts describe each kind of step for people. %a is the actor, %n the argument, and %v the
// outcome of a turn.
var actionTexts = [...]string{
	submits:              "ada submits the run once more under its id",
	deadlinePasses:       "the deadline of question %n passes",
	claimPasses:          "the time of the claim of question %n is over",
	rivalClaims:          "another run acquires the pool's slot",
	rivalReleases:        "the other run releases the slot",
	readsToReply:         "%a reads the run, to reply to question %n",
	readsToReuseKey:      "%a reads the run, to reply to question %n with the key of question 1",
	readsToReject:        "%a reads the run, to reject question %n",
	readsToCancel:        "%a reads the run, to cancel it",
	commits:              "%a stores what was decided",
	readsDeadline:        "%a reads which deadlines have passed: that of question %n",
	readsOrphan:          "%a reads the orphans: the run's session is intact",
	readsRefusedOrphan:   "%a reads the orphans: the engine refuses the run's session",
	readsOrphanToHold:    "%a reads the orphans: the run is to be held",
	readsToResume:        "%a reads the run, to resume it",
	readsToGiveUp:        "%a reads the run, to end it because it is held",
	readsToExtend:        "%a reads the run, to move the end of question %n",
	readsToClaim:         "%a reads the run, to claim question %n",
	readsToRelease:       "%a reads the run, to give question %n back",
	readsToReassign:      "%a reads the run, to put question %n to the other one alone",
	readsToNote:          "%a reads the run, to write a note on question %n",
	noticesLostProcess:   "%a reads the run, whose resident process ended on this node",
	claims:               "%a claims the run and starts turn %n",
	claimsUnacknowledged: "%a claims the run for turn %n; the acknowledgement is on its way",
	acknowledged:         "the acknowledgement comes, and %a starts the turn",
	acknowledgementLost:  "the acknowledgement to %a is lost",
	acknowledgedLate:     "the acknowledgement comes late, and %a starts the turn",
	startsOwned:          "%a owns the run and has no worker for it: it starts turn %n",
	finishes:             "%a's turn ends: %v",
	interrupted:          "%a's turn is interrupted by a shutdown",
	putsOff:              "%a's turn fails for a passing reason, and is put off",
	holds:                "%a's turn fails for a reason that somebody can repair, and is held",
	handsBack:            "%a shuts down before the turn's engine is called, and hands the turn back",
	finishesDisconnected: "%a's turn ends: %v, and the connection breaks while it is stored",
	delivered:            "the commit that %a sent arrives at the store",
	undelivered:          "the commit that %a sent is lost",
	checksOutcome:        "%a checks whether its outcome was stored",
	resendsOutcome:       "%a sends its outcome once more",
	abandonsTurn:         "%a learns that it does not own the turn any more, and ends it",
	dropsTurn:            "%a could not renew its lease for its whole length, and drops its turn",
	settlesDroppedTurn:   "%a finds the turn that it dropped, and settles it",
	lapses:               "%a's lease runs out",
	renews:               "%a renews its lease after all",
	expires:              "%a expires the lease of %n",
	rejoins:              "%a learns that its lease was lost, ends everything and registers again",
	crashes:              "%a crashes",
	restarts:             "%a starts again",
	processDies:          "the process that %a holds for the run dies",
}

// result is the result of a step for its actor.
type result uint8

const (
	noResult result = iota
	stored
	conflict
	staleEpoch
	replayed
	keyConflict
	alreadySettled
	notWaiting
	claimedByOther
	notAsked
	notClaimed
	votedBefore
	alreadyOver
	alreadySubmitted
	outcomeStored
	outcomeMissing
	results // the number of results
)

var resultNames = [results]string{
	"", "stored", "refused: the record changed (conflict)", "refused: stale epoch", "answered with the first receipt",
	"refused: key conflict", "refused: settled already",
	"refused: not waiting", "refused: the question is claimed",
	"refused: others are asked",
	"refused: nobody has claimed the question", "refused: has voted before", "refused: the run is over",
	"the run exists already", "it was stored", "it was not stored",
}

// Action is one step.
type Action struct {
	kind   actionKind
	who    actor
	arg    uint8 // the number of a question, a turn or an outcome
	result result
}

func (a actor) String() string {
	switch {
	case a == 1:
		return "ada"
	case a == 2:
		return "ben"
	case a >= 10:
		return fmt.Sprintf("node %d", a%10+1)
	}
	return "time"
}

// text describes the action. It needs the model in which the action was taken to name the outcomes
// of turns.
func (a Action) text(m *model) string {
	v := ""
	switch a.kind {
	case finishes, finishesDisconnected:
		v = m.outcomeText(a.arg)
	}
	n := fmt.Sprint(a.arg)
	if a.kind == expires {
		n = worker(int(a.arg)).String()
	}
	s := strings.NewReplacer("%a", a.who.String(), "%n", n, "%v", v).Replace(actionTexts[a.kind])
	if a.result != noResult {
		s += ": " + resultNames[a.result]
	}
	return s
}

// outcomeText names a turn's outcome.
func (m *model) outcomeText(arg uint8) string {
	v := m.outcomes[arg]
	s := v.outcome.String()
	if v.code != "" {
		s += ", " + v.code
	}
	return s + " (" + strings.Join(v.rules, ", ") + ")"
}
