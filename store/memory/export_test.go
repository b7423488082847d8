package memory

import "github.com/interlude-go/interlude/store/storetest"

// Lose loses the first or the last of what the store keeps of the run in a table.
func (s *Store) Lose(table storetest.Table, id string, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.runs[id]
	switch table {
	case storetest.Journal:
		e.journal = without(e.journal, last)
	case storetest.Settled:
		e.settled = without(e.settled, last)
	case storetest.Events:
		e.events = without(e.events, last)
	case storetest.Votes: // part of the questions
	}
}

func without[T any](rows []T, last bool) []T {
	if last {
		return rows[:len(rows)-1]
	}
	return rows[1:]
}
