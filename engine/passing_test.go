package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
)

// J2: transient failures of models and networks are distinguished from those that a person must
// repair.
func TestPassingTextKnowsTheUsualWords(t *testing.T) {
	examples, err := os.ReadFile("testdata/passing.txt")
	require.NoError(t, err)
	passing, staying := 0, 0
	for line := range strings.Lines(string(examples)) {
		kind, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case !ok || kind == "#":
			continue
		case kind == "passes":
			passing++
		default:
			require.Equal(t, "stays", kind, line)
			staying++
		}
		require.Equal(t, kind == "passes", engine.PassingText(text), text)
		require.Equal(t, kind == "passes", engine.PassingError(errors.New(text)), text)
	}
	require.Greater(t, passing, 20)
	require.Greater(t, staying, 10)
}

// J2: errors of Go's network are transient, also when wrapped.
func TestPassingErrorKnowsTheNetwork(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		syscall.ECONNRESET, syscall.EPIPE, io.ErrUnexpectedEOF, context.DeadlineExceeded,
		&net.DNSError{Err: "no answer", Name: "api.example.com", IsTimeout: true},
	} {
		require.True(t, engine.PassingError(fmt.Errorf("ask the model: %w", err)), err)
	}
	for _, err := range []error{nil, io.EOF, context.Canceled, os.ErrNotExist, errors.New("no")} {
		require.False(t, engine.PassingError(err), err)
	}
}

// J2: so are shortages of the process or machine, and read errors that do not last.
func TestPassingErrorKnowsTheSystem(t *testing.T) {
	for _, errno := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ESTALE, syscall.ENOMEM, syscall.EAGAIN,
	} {
		err := fmt.Errorf("workspace: %w", &os.PathError{Op: "open", Path: "run.json", Err: errno})
		require.True(t, engine.PassingError(err), err)
	}
	for _, errno := range []syscall.Errno{syscall.ENOENT, syscall.EACCES, syscall.EROFS, syscall.ENOTDIR} {
		require.False(t, engine.PassingError(&os.PathError{Op: "open", Path: "run.json", Err: errno}), errno)
	}
}

// J2: Later is a transient failure.
func TestLaterIsAPassingFailure(t *testing.T) {
	var f *engine.Failure
	require.ErrorAs(t, engine.Later(5, "the model sleeps"), &f)
	require.Equal(t, &engine.Failure{
		Code: engine.CodeEngineFailed, Detail: "the model sleeps", Transient: true, After: 5,
	}, f)
}
