package exec

import (
	"io/fs"
	"os/exec"
)

// Process groups and signals are Unix's; New says so.
const supported = false

func (p *process) reap() error {
	err := p.cmd.Wait()
	p.retire()
	return err
}

func endGroup(record)      {}
func group(*exec.Cmd)      {}
func terminateGroup(int)   {}
func killGroup(int)        {}
func sweep(string) bool    { return false }
func (p *resident) drain() {}

func private(fs.FileInfo) bool { return false }
