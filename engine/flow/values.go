package flow

import (
	crand "crypto/rand"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// value returns the value in the journal at the next place. Without one, f makes the value, which
// is stored.
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

// Now is the time at which the function first reached this place, by the host's clock, in UTC and
// microseconds.
func (c *Ctx) Now() time.Time {
	return value(c, typeNow, func() time.Time { return c.run.clock.Now().UTC().Truncate(time.Microsecond) })
}

// ID is a random text of 26 letters and digits, the same in every turn.
func (c *Ctx) ID() string { return value(c, typeID, crand.Text) }

// Rand is a source of random numbers, the same in every turn. Do not use it for secrets.
func (c *Ctx) Rand() *rand.Rand {
	seed := value(c, typeRandom, func() [2]uint64 { return [2]uint64{rand.Uint64(), rand.Uint64()} })
	return rand.New(rand.NewPCG(seed[0], seed[1]))
}

// Say stores a message as an event of the run, once, or twice if the process crashes immediately
// afterwards.
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

// Sleep pauses the run for d: it is queued, and takes no slot, goroutine or memory. An error always
// means that the turn is over. If another branch waits for an answer, the run continues only after
// the answer.
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

// Version lets a function be changed without affecting runs that have passed this place. A run that
// reaches it for the first time gets newest, and from then on the same number. A run that passed
// the place before the call was added gets 0.
//
//	if flow.Version(c, "tax", 1) >= 1 { // older runs continue without
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
		newest = 0 // later turns compute the same
	} else {
		_ = storeLater(c, place{path, typeVer, name}, &newest, true) // the next call returns its error
	}
	known := engine.JournalEntry{Path: path, Name: name, Type: typeVer, Body: []byte(strconv.Itoa(newest))}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.kept[path] = &kept{JournalEntry: known, seen: true, dropped: true} // for the next time in this turn
	return newest
}

// beyond reports whether an earlier turn has reached the next place of the branch, or a place
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
