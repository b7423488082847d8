package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MeasuresMemory says that this system can limit the memory of processes.
const MeasuresMemory = true

// meter measures the memory of processes. Measurements at about the same time share one scan of the
// machine. The zero value is ready.
type meter struct {
	mu       sync.Mutex // guards the fields below
	scanned  time.Time  // time of the last scan
	all      []sample
	children map[int][]int     // positions in all, by the parent's number
	tokens   map[living]string // read once in the life of a process
}

type living struct {
	pid     int
	started string
}

type sample struct {
	living
	parent, group int
	bytes         int64 // of resident memory
}

// used is the memory in bytes of the process, its group, its descendants, and other processes with
// the token. Shared memory counts for each.
func (m *meter) used(pid int, token string) (sum int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.scanned) > memoryInterval/2 {
		m.scan()
	}
	seen := make(map[int]bool)
	var count func(i int)
	count = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		sum += m.all[i].bytes
		for _, child := range m.children[m.all[i].pid] {
			count(child)
		}
	}
	for i, s := range m.all {
		if s.pid == pid || s.group == pid || m.tokens[s.living] == token {
			count(i)
		}
	}
	return sum
}

func (m *meter) scan() {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return // keep the last samples
	}
	before := m.tokens
	m.all, m.children, m.tokens = m.all[:0], make(map[int][]int), make(map[living]string, len(before))
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		s, ok := sampleOf(pid)
		if !ok {
			continue
		}
		token, cached := before[s.living]
		if !cached {
			token = tokenOf(pid)
		}
		m.tokens[s.living] = token
		m.children[s.parent] = append(m.children[s.parent], len(m.all))
		m.all = append(m.all, s)
	}
	m.scanned = time.Now()
}

// sampleOf reads /proc/PID/stat: field 4 is the parent, 5 the group, 22 the start time, 24 the
// resident pages.
func sampleOf(pid int) (sample, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return sample{}, false
	}
	// The second field is the program's name in parentheses, with arbitrary characters.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return sample{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	pages, _ := strconv.ParseInt(fields[21], 10, 64) // the kernel writes numbers
	return sample{living: living{pid, fields[19]}, parent: parent, group: group,
		bytes: pages * int64(os.Getpagesize())}, true
}

// tokenOf is the token in a process's environment; "" if it has none or cannot be read.
func tokenOf(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if token, ok := bytes.CutPrefix(v, []byte(EnvToken+"=")); ok {
			return string(token)
		}
	}
	return ""
}
