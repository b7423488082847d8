package exec

// drain does nothing: there are no resident agents here, see process.Supported.
func (p *resident) drain() {}
