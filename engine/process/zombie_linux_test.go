package process_test

import (
	"errors"
	"os"

	"github.com/interlude-go/interlude/internal/procid"
)

func zombie(pid int) bool {
	_, err := procid.Of(pid)
	return errors.Is(err, os.ErrNotExist)
}
