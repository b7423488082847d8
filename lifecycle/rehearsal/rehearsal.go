// Package rehearsal tests a host: it plays runs with people who answer as a function says, lets
// weeks pass in milliseconds, and crashes the host at every commit.
//
//	func TestOrders(t *testing.T) {
//		rehearsal.EveryCrash(t, func(t *testing.T) rehearsal.Case {
//			bank := newBank() // a new one for each play
//			file := filepath.Join(t.TempDir(), "runs.db")
//			return rehearsal.Case{
//				Config: lifecycle.Config{Engine: orders(bank), Forgiving: true, OnInterrupt: lifecycle.Repeat},
//				Open: func(ctx context.Context) (lifecycle.Store, error) {
//					return sqlite.Open(ctx, file, sqlite.Options{WatchInterval: -1})
//				},
//				Spec:  lifecycle.Spec{Input: []byte(`{"order": 7}`)},
//				Reply: func(q lifecycle.Question) lifecycle.Reply { return lifecycle.Reply{Text: "yes"} },
//				Check: func(t *testing.T, run lifecycle.Run) { … the bank was charged once … },
//			}
//		})
//	}
//
// [Play] plays a [Case] once, [EveryCrash] once for each commit with a crash before or after it,
// and [Seeds] a number of random courses with crashes and slow people.
//
// A play takes place in a bubble of testing/synctest: time advances when all its goroutines wait
// for each other or for time, but not while a file is written or a server responds. A goroutine
// that always waits for something outside, such as a connection that listens for notifications,
// would stop time permanently.
//
// docs/testing.md shows complete tests of a host. Package lifecycletest is for authors of stores.
package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Case is one run, played to its end.
type Case struct {
	// Config is the host. The play sets its Store, and Clock, Poll, Lease and Logger if they are
	// zero.
	Config lifecycle.Config
	// Open opens the host's store; nil: in memory. It is called in the bubble, once per host: after
	// a crash, the next host opens the same data. The play closes the store. The data must be new
	// for each play, and the store must neither poll nor listen for other processes:
	// sqlite.Options.WatchInterval, postgres.Options.NoListen and ClockInterval.
	Open func(ctx context.Context) (lifecycle.Store, error)
	Spec lifecycle.Spec
	// Reply answers a question of the run or of a child, a minute after it was asked; the play sets
	// ID and Key. A nil Reply, or one without Text, Value and Decision, leaves the question open,
	// and is asked again each hour. An approval by several people stays open after the first reply:
	// at the next look, Question.Votes names the voters so far, and Reply returns another person's
	// reply, with its Actor.
	Reply func(q lifecycle.Question) lifecycle.Reply
	// People are people by name. At each look each of them, in this order, may claim each question,
	// vote, reply, or leave it open, unless the person is not asked, has voted, or is excluded by
	// another person's claim. With a Reply, its author comes last.
	People []Person
	// Crash is the commit right after which the host crashes; 0: no crash. For Play.
	Crash int
	// Story is what must happen to the run: on each line the time since its creation, in seconds or
	// longer, and the type of an event ("24h user.input.reminder"). All events of the named types
	// must be there in this order and at these times. After a crash, they may come up to five
	// minutes later: the turn that it interrupts is repeated.
	Story string
	// Check, unless nil, is called with the ended run.
	Check func(t *testing.T, run lifecycle.Run)
}

// longest bounds a play's fake time, mostTurns its steps.
const (
	longest   = 1000 * 24 * time.Hour
	mostTurns = 100_000
)

// Play plays the case in a separate bubble, and returns the ended run.
func Play(t *testing.T, c Case) (run lifecycle.Run) {
	t.Helper()
	run, _ = playInBubble(t, c, course{crashes: []point{{commit: c.Crash, stored: true}}})
	return run
}

// EveryCrash plays the case without a crash, and then twice per commit: with a crash of the host
// right before it, and right after it. Another host then continues with the store. Each play must
// reach the same state, output, final text and error code as the first. Each play gets a new case,
// created outside its bubble, so that it may create files and databases.
func EveryCrash(t *testing.T, newCase func(t *testing.T) Case) {
	t.Helper()
	want, commits := withoutCrash(t, newCase)
	for n := 1; n <= commits; n++ {
		for _, stored := range []bool{false, true} {
			p := point{commit: n, stored: stored}
			t.Run(p.String(), func(t *testing.T) { comeToSameEnd(t, newCase(t), course{crashes: []point{p}}, want) })
		}
	}
}

// Seeds is a faster EveryCrash: it plays the case once without a crash, and then n times with
// random crashes, by the seeds from first on. Up to three hosts crash in sequence, each at one of
// its commits, and people take up to an hour to look at a question.
func Seeds(t *testing.T, first uint64, n int, newCase func(t *testing.T) Case) {
	t.Helper()
	want, commits := withoutCrash(t, newCase)
	if commits == 0 {
		return
	}
	for i := range uint64(n) {
		t.Run(fmt.Sprintf("seed %d", first+i), func(t *testing.T) {
			comeToSameEnd(t, newCase(t), courseOf(first+i, commits), want)
		})
	}
}

// withoutCrash plays the case without a crash, and returns how it ended, and after how many
// commits: 0 if it failed.
func withoutCrash(t *testing.T, newCase func(t *testing.T) Case) (end string, commits int) {
	t.Helper()
	t.Run("no crash", func(t *testing.T) {
		run, counted := playInBubble(t, newCase(t), course{})
		end, commits = endOf(run), counted
	})
	if t.Failed() {
		return "", 0
	}
	return end, commits
}

func comeToSameEnd(t *testing.T, c Case, how course, want string) {
	t.Helper()
	run, _ := playInBubble(t, c, how)
	if got := endOf(run); got != want && !t.Failed() {
		t.Errorf("the run ended with\n\t%s\nand without a crash with\n\t%s", got, want)
	}
}

func playInBubble(t *testing.T, c Case, how course) (run lifecycle.Run, commits int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run, commits = newPlay(t, c, how).toEnd() })
	return run, commits
}

func endOf(run lifecycle.Run) string {
	end := map[string]any{"state": run.State, "final_text": run.FinalText, "output": run.Output}
	if run.Error != nil {
		end["code"] = run.Error.Code
	}
	body, err := json.Marshal(end)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

type course struct {
	crashes []point    // of the hosts, in their order; those after them do not crash
	people  *rand.Rand // how long people take; nil: a minute
}

type point struct {
	commit int
	stored bool // the commit is stored, but the host does not learn of it
}

func (p point) String() string {
	if p.stored {
		return fmt.Sprintf("after commit %d", p.commit)
	}
	return fmt.Sprintf("before commit %d", p.commit)
}

func courseOf(seed uint64, commits int) course {
	random := rand.New(rand.NewPCG(seed, 0))
	how := course{people: random}
	hosts := 1 + random.IntN(min(3, commits))
	for range hosts {
		how.crashes = append(how.crashes, point{1 + random.IntN(commits/hosts), random.IntN(2) == 0})
	}
	return how
}

func (c *course) nextCrash() (p point) {
	if len(c.crashes) > 0 {
		p, c.crashes = c.crashes[0], c.crashes[1:]
	}
	return p
}

func (c *course) firstLook() time.Duration {
	if c.people == nil {
		return time.Minute
	}
	return time.Second + time.Duration(c.people.Int64N(int64(time.Hour)))
}
