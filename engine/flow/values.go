package flow

import (
	crand "crypto/rand"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// value returns the value that the journal has at the next place. If it has none, f makes one,
// which is stored.
func value[T any](c *Ctx, kind string, f func() T) (v T) {
	path, err := c.acquire(kind, "")
	if err != nil {
		return f() // any value will do: the turn is over
	}
	defer c.release()
	found, err := c.lookUp(path, kind, "", &v)
	if err != nil || found {
		return v
	}
	v = f()
	_ = storeLater(c, place{path, kind, ""}, &v, true) // after an error, the next call returns ErrTurnOver
	return v
}

// Now is the time at which the function first came here, by the host's clock, in UTC and
// microseconds.
func (c *Ctx) Now() time.Time {
	return value(c, typeNow, func() time.Time { return c.run.clock.Now().UTC().Truncate(time.Microsecond) })
}

// ID is a random text of 26 letters and digits, the same whenever the function comes here.
func (c *Ctx) ID() string { return value(c, typeID, crand.Text) }

// Rand is a source of random numbers, which are the same whenever the function comes here. It is
// not for secrets.
func (c *Ctx) Rand() *rand.Rand {
	seed := value(c, typeRandom, func() [2]uint64 { return [2]uint64{rand.Uint64(), rand.Uint64()} })
	return rand.New(rand.NewPCG(seed[0], seed[1]))
}

// Say stores a message as an event of the run: once, or twice if the process crashes right after
// it.
func (c *Ctx) Say(text string) error {
	path, err := c.acquire(typeSay, "")
	if err != nil {
		return err
	}
	defer c.release()
	var said bool
	found, err := c.lookUp(path, typeSay, "", &said)
	if err != nil || found {
		return err
	}
	if err := c.run.sink.Message(c.run.ctx, engine.Message{Text: text}); err != nil {
		return c.endWith(err)
	}
	said = true
	return storeLater(c, place{path, typeSay, ""}, &said, false)
}

// Sleep lets the run sleep for d: it is queued until then, and takes no slot, goroutine or memory.
// The error is never one of the sleep itself: it says that the turn is over. If another branch
// waits for an answer, the run goes on when the answer has come, however long that takes.
func (c *Ctx) Sleep(d time.Duration) error {
	path, err := c.acquire(typeSleep, "")
	if err != nil {
		return err
	}
	defer c.release()
	var until time.Time
	found, err := c.lookUp(path, typeSleep, "", &until)
	if err != nil {
		return err
	}
	now := c.run.clock.Now().UTC()
	if !found {
		if until = now.Add(d).Truncate(time.Microsecond); until.Before(now.Add(d)) {
			until = until.Add(time.Microsecond)
		}
		if err := storeLater(c, place{path, typeSleep, ""}, &until, false); err != nil {
			return err
		}
	}
	if !until.After(now) {
		return nil
	}
	r := c.run
	r.mu.Lock()
	if r.wake.IsZero() || until.Before(r.wake) {
		r.wake = until
	}
	r.mu.Unlock()
	return c.wait("the run sleeps until " + until.Format(time.RFC3339))
}

// Version lets a function be changed without a change for the runs that have passed this place. A
// run that comes to it for the first time gets newest, and the same number ever after. A run that
// had passed it before the call was added gets 0.
//
//	if flow.Version(c, "tax", 1) >= 1 { // runs from before go on without
//		tax, err = flow.Step(c, "tax", …)
//	}
func Version(c *Ctx, name string, newest int) (version int) {
	path, err := c.acquire(typeVer, name)
	if err != nil {
		return newest
	}
	defer c.release()
	found, err := c.lookUp(path, typeVer, name, &version)
	if err != nil || found {
		return version
	}
	if c.beyond() {
		newest = 0 // later turns find the same
	} else {
		_ = storeLater(c, place{path, typeVer, name}, &newest, true) // the next call returns its error
	}
	known := engine.JournalEntry{Path: path, Name: name, Type: typeVer, Body: []byte(strconv.Itoa(newest))}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.kept[path] = &kept{JournalEntry: known, seen: true, dropped: true} // for the next time in this turn
	return newest
}

// beyond reports whether an earlier turn has come to the next place of the branch, or to a place
// inside it.
func (c *Ctx) beyond() bool {
	path := c.prefix + strconv.Itoa(c.last+1)
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept[path] != nil || r.answers[path] != nil {
		return true
	}
	for p := range r.kept {
		if strings.HasPrefix(p, path+".") {
			return true
		}
	}
	for p := range r.answers {
		if strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}
