package sqlite

// Queued is how many calls wait for the writer.
func (s *Store) Queued() int { return len(s.writer.jobs) }

// Hold keeps the writer at work until free is called.
func (s *Store) Hold() (free func()) {
	begun, freed := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.look(func(*writer) error {
			close(begun)
			<-freed
			return nil
		})
	}()
	<-begun
	return func() { close(freed) }
}

// Deny has every write fail as on a read-only file, until allow is called.
func (s *Store) Deny() (allow func() error, _ error) {
	set := func(text string) error {
		return s.look(func(w *writer) error { return w.exec(text) })
	}
	return func() error { return set("PRAGMA query_only = 0") }, set("PRAGMA query_only = 1")
}
