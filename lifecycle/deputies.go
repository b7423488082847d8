package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Directory names the people for whom a deputy may act. Package people has implementations.
type Directory interface {
	// Principals returns the people whose deputy the person is at that time, with their groups. A
	// person's inbox has the questions of the first MaxPrincipals people. Deputyship is not
	// transitive: a deputy's deputy is not named. An unknown person has none.
	//
	// It is called for a person's inbox, for each change that a stream of host/web shows, and for each
	// attempt to commit a deputy's reply or change, so it should answer from memory. An error denies
	// the deputyship. It must be safe for concurrent use.
	Principals(ctx context.Context, id string, at time.Time) ([]Principal, error)
}

// Members is an optional interface of a Directory: Member reports whether a person belongs to the
// organization. Nodes do not use a remembered decision if its person does not belong to it, or if
// Member fails. The ID is passed as stored. It must be safe for concurrent use.
type Members interface {
	Member(ctx context.Context, id string) (bool, error)
}

// isMember returns an error if a remembered decision of the person must not be used. A panic is an
// error, too.
func (d *deputies) isMember(ctx context.Context, id string) (err error) {
	members, ok := d.directory.(Members)
	if !ok {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("the directory panicked", "panic", decide.Shortened(fmt.Sprint(p)), "stack",
				string(debug.Stack()))
			err = errors.New("lifecycle: the directory panicked")
		}
	}()
	is, err := members.Member(ctx, id)
	if err == nil && !is {
		err = errors.New("lifecycle: the person is not in the directory")
	}
	return err
}

// deputies reads deputyships from the host's directory, if any.
type deputies struct {
	directory Directory
	log       *slog.Logger
}

// find replaces the actor's principals by the people whom the directory names now. For an actor
// who acts for one person, it keeps only this person. Without a readable directory there are no
// principals.
func (d *deputies) find(ctx context.Context, a *Actor, now time.Time) error {
	a.Principals = nil
	if d.directory == nil || a.ID == "" {
		return nil
	}
	found, err := d.ask(ctx, a.ID, now)
	if err != nil {
		return err
	}
	names := len(a.Groups)
	for _, p := range found {
		if a.Fold != nil {
			p.ID = a.Fold(p.ID)
		}
		if p.ID == "" || p.ID == a.ID || a.For != "" && p.ID != a.For || !p.Active(now) {
			continue
		}
		// The listing of a store has a limit of names.
		if names += 1 + len(p.Groups); names > store.MaxBatch || len(a.Principals) == interaction.MaxPrincipals {
			break
		}
		a.Principals = append(a.Principals, p)
	}
	return nil
}

// findForList is find for a listing: without a readable directory, people keep their own questions.
func (d *deputies) findForList(ctx context.Context, a *Actor, now time.Time) {
	if err := d.find(ctx, a, now); err != nil {
		d.log.Warn("the directory cannot be read: no questions of absent people are listed", "error", err)
	}
}

// check is find for an actor who may act for another; for others it asks no directory. The error is
// a *NotDeputyError.
func (d *deputies) check(ctx context.Context, a *Actor, now time.Time) error {
	if a.For == "" {
		a.Principals = nil
		return nil
	}
	*a = withFoldedPrincipal(*a)
	if err := d.find(ctx, a, now); err != nil {
		return &NotDeputyError{Actor: *a, Err: err}
	}
	return a.CheckDeputy(now)
}

// withFoldedPrincipal returns the actor with For in the form that Actor.Fold gives it.
func withFoldedPrincipal(a Actor) Actor {
	if a.For != "" && a.Fold != nil {
		a.For = a.Fold(a.For)
	}
	return a
}

// withoutPrincipal returns the actor for a call that no deputy makes. It does not ask the directory,
// so the caller's principals are not trusted.
func withoutPrincipal(a Actor) Actor {
	a.For, a.Principals = "", nil
	return a
}

// ask calls the host's directory on the caller's goroutine. A panic is an error.
func (d *deputies) ask(ctx context.Context, id string, now time.Time) (found []Principal, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("the directory panicked", "panic", decide.Shortened(fmt.Sprint(p)), "stack",
				string(debug.Stack()))
			found, err = nil, errors.New("lifecycle: the directory panicked")
		}
	}()
	return d.directory.Principals(ctx, id, now)
}
