//go:build unix && !linux

package pglocal

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

func processes() (map[int]processInfo, error) {
	out, err := exec.CommandContext(context.Background(), "ps", "-A", "-o", "pid=,ppid=,stat=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	all := map[int]processInfo{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, pidErr := strconv.Atoi(fields[0])
		parent, parentErr := strconv.Atoi(fields[1])
		if pidErr == nil && parentErr == nil {
			all[pid] = processInfo{parent: parent, state: fields[2][0]}
		}
	}
	return all, nil
}
