package store

import "errors"

// Errors of calls that have written nothing.
var (
	ErrNotFound    = errors.New("store: not found")
	ErrExists      = errors.New("store: id exists already")
	ErrConflict    = errors.New("store: record changed since it was read")
	ErrStaleEpoch  = errors.New("store: worker's lease or epoch is no longer valid")
	ErrUnknownPool = errors.New("store: unknown pool")
	ErrInvalid     = errors.New("store: invalid")
	ErrClosed      = NewError(ErrUnavailable, "store: closed")
	// ErrCorrupt: the stored data cannot be decoded.
	ErrCorrupt = errors.New("store: corrupt")
	// ErrNewer: a later release wrote the record, with a feature that this one does not know. The
	// record is not changed. Upgrade. It matches ErrCorrupt.
	ErrNewer = NewError(ErrCorrupt, "store: written by a later release")
)

// Classes of errors that callers handle alike for every store. The failed call may have been
// stored: repeat it with the same id or key.
var (
	// ErrUnavailable: the store is closed, unreachable, read-only, or locked by others for too
	// long. The call may succeed later.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrFull: the store has no space left. Calls succeed when there is.
	ErrFull = errors.New("store: no space is left")
)

// NewError returns a store's error with the text that matches kind, for example ErrUnavailable.
func NewError(kind error, text string) error { return &ownError{kind, text} }

type ownError struct {
	kind error
	text string
}

func (e *ownError) Error() string { return e.text }
func (e *ownError) Unwrap() error { return e.kind }
