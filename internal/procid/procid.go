// Package procid tells processes apart for good. A process number is reused; a process number
// together with the process's start time and the machine's boot is not. What is recorded can
// therefore be checked later, by another process, after a restart: only a process that is certainly
// the recorded one is ever called alive, only one that certainly ended is called dead.
//
// Neighbours: lifecycle asks whether a node of this machine is dead, engine/process whether a child
// process is still the one it started.
package procid

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// Liveness is what is known of a recorded process.
type Liveness int

// What is known of a recorded process. Unknown: it is of another machine or boot, or this system
// cannot tell.
const (
	Unknown Liveness = iota
	Living
	Dead
)

// Self is the identity of this process, "" where the system cannot tell.
func Self() string {
	id, err := Of(os.Getpid())
	if err != nil {
		return ""
	}
	return id
}

// Of returns the identity of a living process. The error is os.ErrNotExist (wrapped) when there is
// none with the number.
func Of(pid int) (string, error) {
	started, err := startTime(pid)
	if err != nil {
		return "", err
	}
	boot, err := bootID()
	if err != nil {
		return "", err
	}
	return strings.Join([]string{"v1", boot, strconv.Itoa(pid), started}, " "), nil
}

// PID is the process number of an identity of this boot; ok is false for any other.
func PID(identity string) (pid int, ok bool) {
	boot, pid, _, ok := parse(identity)
	here, err := bootID()
	return pid, ok && err == nil && boot == here
}

// OfEarlierBoot reports whether the identity is of a boot of another time, or of another machine:
// on this machine the process is gone.
func OfEarlierBoot(identity string) bool {
	boot, _, _, ok := parse(identity)
	here, err := bootID()
	kernel := func(id string) string { id, _, _ = strings.Cut(id, "/"); return id }
	return ok && err == nil && kernel(boot) != kernel(here)
}

// Alive says what is known of the process with the identity.
func Alive(identity string) Liveness {
	boot, pid, started, ok := parse(identity)
	here, err := bootID()
	if !ok || err != nil {
		return Unknown
	}
	if boot != here {
		return Unknown // another machine, or this one before it was started anew; its lease tells
	}
	now, err := startTime(pid)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Dead
	case err != nil:
		return Unknown
	case now != started:
		return Dead // the number belongs to another process now
	}
	return Living
}

func parse(identity string) (boot string, pid int, started string, ok bool) {
	parts := strings.Fields(identity)
	if len(parts) != 4 || parts[0] != "v1" {
		return "", 0, "", false
	}
	pid, err := strconv.Atoi(parts[2])
	return parts[1], pid, parts[3], err == nil && pid > 0
}
