//go:build !linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

func fillVolume(context.Context, string, int, time.Duration, time.Duration) (*fullOutcome, error) {
	return nil, fmt.Errorf("disk: a volume of one's own is for Linux: %w", errors.ErrUnsupported)
}

func lockOut(context.Context, int, time.Duration, time.Duration) (*fullOutcome, error) {
	return nil, fmt.Errorf("disk: a file that another process locks is for Linux: %w", errors.ErrUnsupported)
}

func lock(context.Context, string) error { return errors.ErrUnsupported }
