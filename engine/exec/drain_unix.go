//go:build unix

package exec

import "syscall"

// drainBatch bounds how many bytes drain reads: an agent may write without end.
const drainBatch = 16 << 20

// drain discards what the agent wrote after its last turn: it does not belong to the next one.
func (p *resident) drain() {
	p.lines.Skip(nil)
	out, err := p.Stdout.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	_ = out.Read(func(fd uintptr) bool { // an end of the output is found by the turn
		for drained := 0; drained < drainBatch; {
			n, err := syscall.Read(int(fd), buf)
			if n <= 0 || err != nil {
				break
			}
			p.lines.Skip(buf[:n])
			drained += n
		}
		return true
	})
}
