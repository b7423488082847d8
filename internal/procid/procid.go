// Package procid identifies a process for good. A process number is reused, but a process number
// together with the start time of the process and the machine's boot is not. A recorded identity
// can therefore be checked later, by another process, after a restart: a process is Alive only if
// it is certainly the recorded one, and Dead only if that has certainly ended.
package procid

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// Liveness is what is known of a recorded process.
type Liveness int

// The values of Liveness. A process is Unknown if it belongs to another machine or boot, or if this
// system cannot identify processes.
const (
	Unknown Liveness = iota
	Living
	Dead
)

// Self returns this process's identity, or "" if the system cannot identify processes.
func Self() string {
	id, err := Of(os.Getpid())
	if err != nil {
		return ""
	}
	return id
}

// Of returns a living process's identity. The error wraps os.ErrNotExist if no process has the
// number.
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

// PID returns an identity's process number; ok is false if it is not of this boot.
func PID(identity string) (pid int, ok bool) {
	boot, pid, _, ok := parse(identity)
	here, err := bootID()
	return pid, ok && err == nil && boot == here
}

// OfEarlierBoot reports whether the identity belongs to another boot or machine. On this machine,
// its process is gone.
func OfEarlierBoot(identity string) bool {
	boot, _, _, ok := parse(identity)
	here, err := bootID()
	kernel := func(id string) string { id, _, _ = strings.Cut(id, "/"); return id }
	return ok && err == nil && kernel(boot) != kernel(here)
}

// Alive returns what is known of the process with the identity.
func Alive(identity string) Liveness {
	boot, pid, started, ok := parse(identity)
	here, err := bootID()
	if !ok || err != nil {
		return Unknown
	}
	if boot != here {
		return Unknown // from another machine or boot: only its lease says whether the node lives
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
