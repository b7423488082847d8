package signin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// ErrLeft matches the refusal of a call by a person who has left (Store.Leave).
var ErrLeft = errors.New("signin: the person has left")

// forever is the expiry of rows that only an explicit call removes.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Leave revokes the access of a person to this host until Return. The person is given by the ID
// in Actor.ID, in any spelling (FoldID). Leave ends sessions and tokens, and refuses new
// sign-ins. With Store.Authorize every other call is refused too, for example by a link or
// through a proxy. With Store.Directory all deputyships of and for the person end. Release the
// person's claims, and forget their decisions (Run.Remembered), afterwards. Leave may be repeated.
func (s *Store) Leave(ctx context.Context, person string, now time.Time) error {
	if !validID(person) {
		return fmt.Errorf("signin: the person is %.80q, want at most %d bytes without hidden characters", person,
			lifecycle.MaxReplyActor)
	}
	_, err := s.exec(ctx, `INSERT INTO interlude_signin_ended (what, at, until) VALUES ($1, $2, $3)
	ON CONFLICT (what) DO NOTHING`, "left:"+FoldID(person), now.UnixMicro(), forever.UnixMicro())
	return errors.Join(err, s.EndSessions(ctx, person, now))
}

// Return ends Leave: the person may sign in again. False if the person had not left. Ended sessions
// and tokens stay ended.
func (s *Store) Return(ctx context.Context, person string) (bool, error) {
	n, err := s.exec(ctx, `DELETE FROM interlude_signin_ended WHERE what = $1`, "left:"+FoldID(person))
	s.forget()
	return n > 0, err
}

// present returns nil unless the person has left or the tables cannot be read.
func (s *Store) present(ctx context.Context, person string, now time.Time) error {
	left := false
	err := s.view(ctx, now, fresh, func() { left = len(s.left) > 0 && s.left[FoldID(person)] })
	if err == nil && left {
		err = fmt.Errorf("%w: %.80q", ErrLeft, person)
	}
	return err
}

// Authorize has the checks of the function Authorize, and also refuses calls by people who have
// left, however they are identified. If the tables cannot be read, it refuses all calls by
// people.
func (s *Store) Authorize(ctx context.Context, access lifecycle.Access) error {
	if access.Actor.ID != "" {
		if err := s.present(ctx, access.Actor.ID, time.Now()); err != nil {
			return err
		}
	}
	return Authorize(ctx, access)
}

// Directory returns d without the deputyships of and for people who have left. If d is a
// people.Directory, so is the result, and it does not list people who have left. If d is nil, no
// one has a deputy.
func (s *Store) Directory(d lifecycle.Directory) lifecycle.Directory {
	if d == nil {
		d = noDeputies{}
	}
	if all, ok := d.(people.Directory); ok {
		return present{directory{s, d}, all}
	}
	return directory{s, d}
}

// noDeputies is a directory without deputies.
type noDeputies struct{}

func (noDeputies) Principals(context.Context, string, time.Time) ([]lifecycle.Principal, error) {
	return nil, nil
}

type directory struct {
	store *Store
	inner lifecycle.Directory
}

func (d directory) Principals(ctx context.Context, id string, at time.Time) ([]lifecycle.Principal, error) {
	all, err := d.inner.Principals(ctx, id, at)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var here []lifecycle.Principal
	for i := range all {
		err := errors.Join(d.store.present(ctx, id, at), d.store.present(ctx, all[i].ID, at))
		switch {
		case err == nil:
			here = append(here, all[i])
		case !errors.Is(err, ErrLeft):
			return nil, err
		}
	}
	return here, nil
}

// Member returns false for people who have left, and whom d does not list (lifecycle.Members).
func (d directory) Member(ctx context.Context, id string) (bool, error) {
	switch err := d.store.present(ctx, id, time.Now()); {
	case errors.Is(err, ErrLeft):
		return false, nil
	case err != nil:
		return false, err
	}
	if members, ok := d.inner.(lifecycle.Members); ok {
		return members.Member(ctx, id)
	}
	return true, nil
}

// present is a people.Directory without the people who have left.
type present struct {
	directory
	all people.Directory
}

func (p present) Person(ctx context.Context, id string) (people.Person, error) {
	switch err := p.store.present(ctx, id, time.Now()); {
	case errors.Is(err, ErrLeft):
		return people.Person{}, people.ErrUnknown
	case err != nil:
		return people.Person{}, err
	}
	return p.all.Person(ctx, id)
}

func (p present) Deputies(ctx context.Context, id string, at time.Time) ([]string, error) {
	all, err := p.all.Deputies(ctx, id, at)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var here []string
	for _, deputy := range all {
		switch err := errors.Join(p.store.present(ctx, id, at), p.store.present(ctx, deputy, at)); {
		case err == nil:
			here = append(here, deputy)
		case !errors.Is(err, ErrLeft):
			return nil, err
		}
	}
	return here, nil
}

// Groups implements people.Grouped, if the directory does.
func (p present) Groups(ctx context.Context, prefix string, limit int) ([]string, error) {
	if grouped, ok := p.all.(people.Grouped); ok {
		return grouped.Groups(ctx, prefix, limit)
	}
	return nil, nil
}

func (p present) People(ctx context.Context, prefix, after string, limit int) (here []people.Person, _ error) {
	for {
		page, err := p.all.People(ctx, prefix, after, limit)
		if err != nil {
			return nil, err
		}
		for i := range page {
			after = page[i].ID
			switch err := p.store.present(ctx, after, time.Now()); {
			case err == nil:
				here = append(here, page[i])
			case !errors.Is(err, ErrLeft):
				return nil, err
			}
			if len(here) == limit {
				return here, nil
			}
		}
		if len(page) < limit {
			return here, nil
		}
	}
}
