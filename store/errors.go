package store

import "errors"

// What a store answers when it wrote nothing.
var (
	ErrNotFound    = errors.New("store: not found")
	ErrExists      = errors.New("store: id exists already")
	ErrConflict    = errors.New("store: record changed since it was read")
	ErrStaleEpoch  = errors.New("store: worker's lease or epoch is no longer valid")
	ErrUnknownPool = errors.New("store: unknown pool")
	ErrInvalid     = errors.New("store: invalid")
	ErrClosed      = errors.New("store: closed")
	// ErrCorrupt: what is stored cannot be read as what was written.
	ErrCorrupt = errors.New("store: corrupt")
)
