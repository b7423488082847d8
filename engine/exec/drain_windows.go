package exec

// drain does nothing: this system has no resident agents, see process.Supported.
func (p *resident) drain() {}
