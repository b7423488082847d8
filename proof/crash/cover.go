package crash

import (
	"context"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// Find returns the scenario with the name.
func Find(name string) (*Scenario, error) {
	all := Scenarios()
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("crash: no scenario %q", name)
}

// Versions returns the versions of the runs of a case, by their names.
func Versions(ctx context.Context, s store.Store, id string) (map[string]uint64, error) {
	page, err := s.Runs(ctx, store.Query{Newest: true})
	all := make(map[string]uint64)
	for _, r := range page.Runs {
		if name, ok := strings.CutPrefix(r.ID, id+"."); ok {
			all[name] = r.Version
		}
	}
	return all, err
}

// Covers checks that every version that the runs of the case have reached since was written at a
// point of this host. It returns an error if there is a way to the store around the points.
func (s *Store) Covers(ctx context.Context, id string, since map[string]uint64) error {
	now, err := Versions(ctx, s.Store, id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, last := range now {
		for v := since[name] + 1; v <= last; v++ {
			if !s.stored[Record{name, v}] {
				return fmt.Errorf("version %d of run %s was written at no point", v, name)
			}
		}
	}
	return nil
}
