package explore

import (
	"fmt"
	"strings"
)

// what happens in a step.
type what uint8

const (
	submits what = iota
	deadlinePasses
	rivalTakes
	rivalFrees

	replies
	repliesAgain
	cancels
	stores // a command or upkeep: what was decided
	sweeps
	recovers
	findsRefused
	mournsProcess

	claims
	claimsUnheard
	hears
	hearsNever
	hearsLate
	mans
	finishes
	interrupted
	sends
	arrives
	vanishes
	looks
	resends
	letsGo
	drops
	settlesDropped

	lapses
	renews
	expires
	rejoins
	crashes
	restarts
	processDies
)

// texts say a step: %a is who acts, %n the argument.
var texts = [...]string{
	submits:        "ada submits the run once more under its id",
	deadlinePasses: "the deadline of question %n passes",
	rivalTakes:     "another run takes the pool's slot",
	rivalFrees:     "the other run frees the slot",
	replies:        "%a looks at the run, to reply to question %n",
	repliesAgain:   "%a looks at the run, to reply to question %n with the key of question 1",
	cancels:        "%a looks at the run, to cancel it",
	stores:         "%a stores what was decided",
	sweeps:         "%a's sweeper reads what is due: question %n",
	recovers:       "%a's recovery reads the orphans: the session is good",
	findsRefused:   "%a's recovery reads the orphans: the session is refused",
	mournsProcess:  "%a reads the run, whose process ended here",
	claims:         "%a claims the run and begins turn %n",
	claimsUnheard:  "%a claims the run for turn %n; the acknowledgement is on its way",
	hears:          "the acknowledgement comes, and %a begins the turn",
	hearsNever:     "the acknowledgement to %a is lost",
	hearsLate:      "the acknowledgement comes late, and %a begins the turn",
	mans:           "%a finds the run held here without a worker, and begins turn %n",
	finishes:       "%a's turn ends: %v",
	interrupted:    "%a's turn is interrupted by a shutdown",
	sends:          "%a's turn ends: %v, and the connection breaks while it is stored",
	arrives:        "what %a had sent arrives at the store",
	vanishes:       "what %a had sent is lost",
	looks:          "%a looks whether its outcome was stored",
	resends:        "%a stores its outcome once more",
	letsGo:         "%a hears that the turn is not its own any more, and ends it",
	drops:          "%a could not renew its lease for its whole length, and drops its turn",
	settlesDropped: "%a finds the turn that it dropped",
	lapses:         "%a's lease runs out",
	renews:         "%a renews its lease after all",
	expires:        "%n is taken for dead by %a",
	rejoins:        "%a hears that its lease is lost, ends everything and joins again",
	crashes:        "%a crashes",
	restarts:       "%a starts again",
	processDies:    "the process that %a holds for the run dies",
}

// came is how a step came out.
type came uint8

const (
	quietly came = iota
	stored
	conflict
	staleEpoch
	replayed
	keyConflict
	alreadySettled
	notWaiting
	alreadyOver
	alreadyThere
	arrived
	notArrived
	cameOuts // their number
)

var cameNames = [cameOuts]string{
	"", "stored", "refused: the record changed (conflict)", "refused: stale epoch", "the first receipt again",
	"refused: key conflict", "refused: settled already",
	"refused: not waiting", "refused: the run is over", "it is there already", "it was", "it was not",
}

// Action is one step.
type Action struct {
	what what
	who  actor
	arg  uint8
	came came
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

// text says the action; verdicts are those of the model that it was taken in.
func (a Action) text(m *model) string {
	v := ""
	switch a.what {
	case finishes, sends:
		v = m.outcomeText(a.arg)
	}
	n := fmt.Sprint(a.arg)
	if a.what == expires {
		n = worker(int(a.arg)).String()
	}
	s := strings.NewReplacer("%a", a.who.String(), "%n", n, "%v", v).Replace(texts[a.what])
	if a.came != quietly {
		s += ": " + cameNames[a.came]
	}
	return s
}

// outcomeText names a turn's outcome.
func (m *model) outcomeText(arg uint8) string {
	v := m.said[arg]
	s := v.outcome.String()
	if v.code != "" {
		s += ", " + v.code
	}
	return s + " (" + strings.Join(v.rules, ", ") + ")"
}
