package process_test

import (
	"errors"
	"os"

	"github.com/interlude-go/interlude/internal/procid"
)

// zombie reports whether the process has ended and waits for its parent.
func zombie(pid int) bool {
	_, err := procid.Of(pid)
	return errors.Is(err, os.ErrNotExist)
}
