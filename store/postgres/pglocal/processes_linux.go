package pglocal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// processes reads /proc, since ps may not be installed.
func processes() (map[int]processInfo, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return nil, fmt.Errorf("no processes in /proc: %w", err)
	}
	all := make(map[int]processInfo, len(stats))
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil { // it has ended
			continue
		}
		// "7 (any (name)) S 1 …": the name may hold anything, but the last parenthesis is its end.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err != nil || len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err == nil {
			all[pid] = processInfo{parent: parent, state: fields[0][0]}
		}
	}
	return all, nil
}
